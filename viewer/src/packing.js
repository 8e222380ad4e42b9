// Reads what src/clapas/viewer/packing.py writes: a JSON header, then arrays where they lie.

const TYPES = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };

export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const base = 4 + length;
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, [kind, shape, start]] of Object.entries(header.arrays)) {
    arrays[name] = new TYPES[kind](buffer, base + start, shape.reduce((a, b) => a * b, 1));
  }
  delete header.arrays;
  return { header, arrays };
}
