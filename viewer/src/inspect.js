// The numbers of a body or a contact that was picked, as rows of a table.

import { measured } from "./contacts.js";
import { number, perDepth, vector } from "./format.js";

const MODE = ["carries nothing", "sticks", "slides"];

export function nameOf(model, body) {
  return model.header.names[body] || `body ${body}`;
}

export function bodyRows(view, body) {
  const { model, frame } = view;
  const { d, origin, materials } = model.header;
  const { position, velocity, spin, pressure } = frame.arrays;
  const norm = (array) => Math.hypot(array[3 * body], array[3 * body + 1], array[3 * body + 2]);
  const isMovable = model.arrays.movable[body];
  const rows = [["number", String(body)]];
  rows.push(["position", `${vector(position, body, d, origin)} m`]);
  rows.push(["velocity", `${vector(velocity, body, d)} m/s`]);
  rows.push(["speed", `${number(norm(velocity))} m/s`]);
  rows.push(["angular speed", `${number(norm(spin))} rad/s`]);
  if (isMovable) rows.push(["mass", `${number(model.arrays.mass[body])} ${perDepth("kg", d)}`]);
  if (isMovable) rows.push(["mean pressure", `${number(pressure[body])} Pa`]);
  rows.push(["contacts", `${frame.touching[body]}, ${frame.slidingOn[body]} sliding`]);
  rows.push(["material", materials[model.arrays.material[body]]]);
  if (model.arrays.birth[body] > -Infinity) rows.push(["birth", `${number(model.arrays.birth[body])} s`]);
  return rows;
}

export function contactRows(view, contact) {
  const { model, frame } = view;
  const { d, origin } = model.header;
  const { a, b, point, gap, mu, mode } = frame.arrays;
  const { normal, tangent, mobilised } = measured(frame);
  return [
    ["between", `${nameOf(model, a[contact])}, ${nameOf(model, b[contact])}`],
    ["state", MODE[mode[contact]]],
    ["normal force", `${number(normal[contact])} ${perDepth("N", d)}`],
    ["tangential force", `${number(tangent[contact])} ${perDepth("N", d)}`],
    ["friction used", `${number(100 * mobilised[contact], 3)} %`],
    ["coefficient mu", number(mu[contact])],
    ["gap", `${number(gap[contact])} m`],
    ["point", `${vector(point, contact, d, origin)} m`],
  ];
}

export function fill(table, rows) {
  table.replaceChildren(
    ...rows.map(([name, value]) => {
      const row = document.createElement("tr");
      for (const content of [name, value]) {
        const cell = document.createElement("td");
        cell.append(content);
        row.append(cell);
      }
      row.dataset.name = typeof name === "string" ? name : name.textContent;
      return row;
    }),
  );
}
