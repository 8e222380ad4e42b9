// What a person chose, kept by the browser from one run to the next.

const KEPT = ["colour", "points", "thickness", "walls", "marks"]; // elements of the panel
const at = (id) => document.getElementById(id);
const forces = () => [...document.querySelectorAll('input[name="forces"]')];

export function stored(name) {
  try {
    return localStorage.getItem(`clapas-${name}`);
  } catch {
    return null; // pages opened as files may not keep anything
  }
}

export function store(name, value) {
  try {
    localStorage.setItem(`clapas-${name}`, value);
  } catch {
    // see above
  }
}

// Puts the panel as it was left.
export function recall() {
  for (const id of KEPT) {
    const value = stored(id);
    if (value === null) continue;
    if (at(id).type === "checkbox") at(id).checked = value === "true";
    else if (id !== "colour") at(id).value = value; // the ways to colour depend on the run
  }
  const chosen = forces().find((choice) => choice.value === stored("forces"));
  if (chosen) chosen.checked = true;
}

// Keeps what is chosen from now on.
export function remember() {
  for (const id of KEPT) at(id).addEventListener("input", () => store(id, at(id).type === "checkbox" ? at(id).checked : at(id).value));
}
