// Curves over time with a cursor on the frame that is shown; a click goes to that time.

import { count, number, perDepth } from "./format.js";

export const CURVES = [
  { title: "Energy", unit: "J", lines: [["kinetic", "kinetic", "--curve-1"], ["potential", "fall", "--curve-2"], ["work", "work", "--curve-3"]], note: "kinetic energy, potential energy since the start, work of the contacts" },
  { title: "Contacts", unit: "", lines: [["contacts", "contacts", "--curve-1"]] },
  { title: "Residual", unit: "", log: true, lines: [["residual", "residual", "--curve-1"]] },
  { title: "Iterations", unit: "", lines: [["iterations", "iterations", "--curve-1"]] },
];

const LEFT = 6, RIGHT = 6, TOP = 8, BOTTOM = 6;

export class Plot {
  constructor(curve, parent, seek) {
    this.curve = curve;
    this.d = 3; // of the run, once it is known
    this.element = document.createElement("figure");
    this.element.className = "plot";
    this.caption = document.createElement("figcaption");
    this.canvas = document.createElement("canvas");
    this.element.append(this.caption, this.canvas);
    parent.append(this.element);
    const go = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
      seek(Math.max(0, Math.min(1, share)));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons && go(event));
  }

  draw(columns, index) {
    const { canvas } = this;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (width === 0) return; // folded away
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(canvas);
    const time = columns.time;
    const lines = this.curve.lines.map(([title, name, colour]) => ({ title, values: columns[name] || [], colour: style.getPropertyValue(colour) }));
    const { low, high, f } = this.#range(lines);
    const x = (t) => LEFT + ((t - time[0]) / (time.at(-1) - time[0] || 1)) * (width - LEFT - RIGHT);
    const y = (v) => height - BOTTOM - ((f(v) - low) / (high - low || 1)) * (height - TOP - BOTTOM);
    if (!this.curve.log && low < 0 && high > 0) rule(pen, LEFT, y(0), width - RIGHT, y(0), style.getPropertyValue("--faint"));
    for (const { values, colour } of lines) trace(pen, time, values, x, y, colour);
    if (index >= 0) {
      rule(pen, x(time[index]), 2, x(time[index]), height - 2, style.getPropertyValue("--accent"));
      for (const { values, colour } of lines) {
        pen.fillStyle = colour;
        pen.beginPath();
        pen.arc(x(time[index]), y(values[index]), 2.4, 0, 7);
        pen.fill();
      }
    }
    this.#label(lines, index);
  }

  #range(lines) {
    const isLog = this.curve.log;
    const all = lines.flatMap(({ values }) => values).filter((v) => v !== null && (!isLog || v > 0));
    let low = Infinity, high = -Infinity;
    for (const v of all) (low = Math.min(low, v)), (high = Math.max(high, v));
    if (all.length === 0) [low, high] = isLog ? [1e-9, 1] : [0, 1];
    if (!isLog && low > 0) low = 0;
    const f = isLog ? (v) => Math.log10(Math.max(v, low)) : (v) => v;
    return { low: f(low), high: f(high), f };
  }

  #label(lines, index) {
    const name = document.createElement("span");
    name.textContent = this.curve.title + (this.curve.log ? " (log)" : "");
    const unit = this.curve.unit ? ` ${perDepth(this.curve.unit, this.d)}` : "";
    const values = lines.map(({ title, values: series, colour }) => {
      const value = document.createElement("b");
      const label = lines.length > 1 ? `${title} ` : "";
      value.textContent = `${label}${Number.isInteger(series[index]) ? count(series[index]) : number(series[index], 3)}${unit}`;
      value.style.color = colour;
      return value;
    });
    this.caption.title = this.curve.note || "";
    this.caption.replaceChildren(name, ...values);
  }
}

function trace(pen, time, values, x, y, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.3;
  pen.beginPath();
  let isDown = false;
  const stride = Math.max(1, Math.floor(time.length / 4000));
  for (let k = 0; k < time.length; k += stride) {
    if (values[k] === null || values[k] === undefined) {
      isDown = false;
      continue;
    }
    pen[isDown ? "lineTo" : "moveTo"](x(time[k]), y(values[k]));
    isDown = true;
  }
  pen.stroke();
}

function rule(pen, x0, y0, x1, y1, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}
