// From numbers to colours. Each mode gives one number per body; a scale turns numbers into colours.

const hex = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

export const linearOf = (text) => hex(text).map(linear);
export const toLinear = (rgb) => rgb.map(linear);

function ramp(stops) {
  const colours = stops.map(hex);
  return (x) => {
    const place = Math.max(0, Math.min(1, x)) * (colours.length - 1);
    const k = Math.min(colours.length - 2, Math.floor(place));
    return colours[k].map((c, i) => c + (place - k) * (colours[k + 1][i] - c));
  };
}

const HEAT = ramp(["#e2dccf", "#f2c078", "#e07a3f", "#b02a45", "#4a1158"]);
const DEPTH = ramp(["#e4e6e3", "#a9cbd6", "#5b9ec0", "#2c64a3", "#1c2f6e"]);
const SIGNED = ramp(["#1f4e8c", "#7fa9cf", "#e8e4da", "#e08a5c", "#9a2234"]);
const LAYERS = ["#e9c46a", "#2a6f97", "#e76f51", "#7fb069", "#6d597a", "#f4a6a0", "#468189", "#bc6c25"];
const GREYS = ["#f2f2f2", "#c4c4c4", "#8e8e8e", "#585858", "#141414"];
export const MOBILISED = ramp(["#2d6cb5", "#5f62b4", "#98509b", "#c23d6c", "#d8352a"]);
export const STICKING = "#2d6cb5";
export const SLIDING = "#d0392b";
export const OPEN = "#9a9a96";
const FIXED = "#b9b4a8";

const norm = (array, body) => Math.hypot(array[3 * body], array[3 * body + 1], array[3 * body + 2]);
const stepped = (colours) => (x) => hex(colours[Math.max(0, Math.min(colours.length - 1, Math.floor(x)))]);

// value: number of each body; unit: of that number; levels, thresholds: for scales in steps
export const MODES = {
  speed: { title: "Speed", unit: "m/s", value: (v) => (b) => norm(v.frame.arrays.velocity, b), ramp: HEAT },
  greys: {
    title: "Speed, five greys (Moreau)",
    unit: "m/s",
    value: (v) => (b) => norm(v.frame.arrays.velocity, b),
    // thresholds are powers of 0.18 of the largest speed (Moreau 2003)
    ramp: (x) => hex(GREYS[4 - Math.max(0, Math.min(4, Math.floor(Math.log(x) / Math.log(0.18))))]),
    thresholds: [0.18 ** 4, 0.18 ** 3, 0.18 ** 2, 0.18],
  },
  spin: { title: "Angular speed", unit: "rad/s", value: (v) => (b) => norm(v.frame.arrays.spin, b), ramp: HEAT },
  pressure: {
    title: "Mean pressure",
    unit: "Pa",
    value: (v) => (b) => v.frame.arrays.pressure[b],
    ramp: DEPTH,
  },
  contacts: {
    title: "Number of contacts",
    value: (v) => (b) => v.frame.touching[b],
    levels: () => ["0", "1", "2", "3", "4", "5", "6", "7", "8 or more"],
    pick: (x) => DEPTH(Math.min(8, x) / 8),
  },
  birth: {
    title: "Birth time",
    unit: "s",
    value: (v) => (b) => v.model.arrays.birth[b],
    range: (v) => v.birthRange,
    ramp: (x) => hex(LAYERS[Math.min(LAYERS.length - 1, Math.max(0, Math.floor(LAYERS.length * x)))]),
    thresholds: LAYERS.slice(1).map((_, k) => (k + 1) / LAYERS.length),
  },
  material: {
    title: "Material",
    value: (v) => (b) => v.model.arrays.material[b],
    levels: (v) => v.model.header.materials,
    pick: stepped(LAYERS),
  },
  plain: { title: "None", value: () => () => 0, levels: () => [], pick: () => hex("#d8d0c0") },
};

// A mode for each field on skins; bodies, which do not have it, are grey in it.
export function addFields(skins) {
  for (const name of Object.keys(MODES)) if (MODES[name].field) delete MODES[name];
  for (const { fields } of skins) {
    for (const { name, unit } of fields) {
      const title = name[0].toUpperCase() + name.slice(1);
      MODES[`field ${name}`] = { title, unit, field: name, value: () => () => NaN, ramp: HEAT };
    }
  }
}

// A scale for values that change from frame to frame: as large as the largest seen, without outliers,
// so that the same colour means the same number throughout.
export class Scale {
  constructor() {
    this.top = {};
    this.bottom = {}; // of fields with negative values
    this.fixed = {};
  }

  // A field that takes both signs has its zero in the middle, pale; the others start at 0.
  seeField(mode, arrays) {
    for (const values of arrays) {
      this.see(mode, values);
      this.bottom[mode] = values.reduce((least, x) => (x < least ? x : least), this.bottom[mode] || 0);
    }
    const [low, high] = this.range(mode);
    MODES[mode].ramp = low < -1e-3 * high ? SIGNED : HEAT;
  }

  see(mode, values) {
    const finite = Float32Array.from(values).filter(Number.isFinite).sort();
    if (finite.length === 0) return;
    const high = finite[Math.min(finite.length - 1, Math.floor(0.985 * finite.length))] || finite.at(-1);
    this.top[mode] = Math.max(this.top[mode] || 0, high);
  }

  range(mode, view) {
    if (MODES[mode].range) return MODES[mode].range(view);
    const top = this.fixed[mode] || this.top[mode];
    const bottom = this.bottom[mode] || 0;
    if (bottom < -1e-3 * Math.abs(top)) {
      const most = this.fixed[mode] || Math.max(-bottom, top);
      return [-most, most];
    }
    return [0, top > 0 ? top : 1];
  }
}

// Colours of all bodies, as linear rgb for the graphics card.
export function bodyColours(view, mode, scale) {
  const chosen = MODES[mode];
  const value = chosen.value(view);
  const { movable } = view.model.arrays;
  const alive = view.frame.alive;
  const values = [];
  for (let body = 0; body < alive; body += 1) if (movable[body]) values.push(value(body));
  if (chosen.ramp && !chosen.range) scale.see(mode === "greys" ? "speed" : mode, values);
  if (mode === "greys") scale.top.greys = scale.top.speed;
  const [low, high] = chosen.ramp ? scale.range(mode, view) : [0, 1];
  const colourOf = chosen.ramp
    ? table((x) => toLinear(chosen.ramp(x)), chosen.thresholds ? 4096 : 256)
    : remembered((x) => toLinear(chosen.pick(x)));
  const colours = new Float32Array(3 * alive);
  const rest = linearOf(FIXED);
  for (let body = 0; body < alive; body += 1) {
    const x = value(body);
    const colour = movable[body] && Number.isFinite(x) ? colourOf((x - low) / (high - low || 1)) : rest;
    for (let i = 0; i < 3; i += 1) colours[3 * body + i] = colour[i];
  }
  return colours;
}

// A function of [0, 1] looked up instead of computed.
export function table(f, size = 256) {
  const values = Array.from({ length: size + 1 }, (_, k) => f(k / size));
  return (x) => values[Math.max(0, Math.min(size, Math.round(size * x)))];
}

function remembered(f) {
  const known = new Map();
  return (x) => known.get(x) ?? (known.set(x, f(x)), known.get(x));
}

export const css = (rgb) => `rgb(${rgb.map((c) => Math.round(255 * c)).join(" ")})`;
