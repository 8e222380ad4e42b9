// What the colours mean, in the panel.

import { MODES, css } from "./colours.js";
import { number } from "./format.js";

export function drawLegend(element, mode, view, scale) {
  const chosen = MODES[mode];
  if (!chosen.ramp) {
    const swatches = chosen.levels(view).map((name, k) => {
      const swatch = document.createElement("span");
      swatch.textContent = name;
      swatch.style.setProperty("--swatch", css(chosen.pick(k)));
      return swatch;
    });
    element.replaceChildren(box("swatches", swatches));
    return;
  }
  const [low, high] = scale.range(mode, view);
  const unit = unitOf(mode);
  const bar = box("bar");
  bar.style.background = gradient(chosen);
  const inner = chosen.thresholds || [0.5];
  const values = chosen.thresholds?.length > 4 ? [0, 0.5, 1] : [0, ...inner, 1];
  const ticks = values.map((x, k) => {
    const tick = document.createElement("span");
    tick.textContent = number(low + x * (high - low), 2) + (k === values.length - 1 ? ` ${unit}` : "");
    return tick;
  });
  element.replaceChildren(bar, box("ticks", ticks));
}

export function unitOf(mode) {
  return MODES[mode].unit || "";
}

// Steps are drawn equally wide, whatever their thresholds.
function gradient({ ramp, thresholds }) {
  if (!thresholds) {
    return `linear-gradient(90deg, ${Array.from({ length: 17 }, (_, k) => css(ramp(k / 16))).join(", ")})`;
  }
  const edges = [0, ...thresholds, 1];
  const share = 100 / (edges.length - 1);
  const stops = edges.slice(1).map((edge, k) => {
    const colour = css(ramp((edges[k] + edge) / 2));
    return `${colour} ${k * share}% ${(k + 1) * share}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

function box(name, children = []) {
  const element = document.createElement("div");
  element.className = name;
  element.append(...children);
  return element;
}
