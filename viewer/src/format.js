// Numbers for people: four digits, no noise.

const short = (text) => text.replace(/\.?0*e/, "e"); // 5.00e-4 is 5e-4

export function number(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text =
    size >= 1e5 || size < 1e-3 ? short(x.toExponential(digits - 1)) : String(Number(x.toPrecision(digits)));
  return text.replace("e+", "e").replace(/-/g, "−");
}

export const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// In the plane masses, forces and energies are those of one metre of depth.
export const perDepth = (unit, d) => (d === 2 ? `${unit}/m` : unit);

export const vector = (array, k, d, origin = [0, 0, 0]) =>
  `(${Array.from({ length: d }, (_, i) => number(array[3 * k + i] + origin[i])).join(", ")})`;
