// The contacts: force chains, forces, contact points, and the friction cone of the one that was picked.

import * as THREE from "three";
import { writeMatrix } from "./bodies.js";
import { MOBILISED, OPEN, SLIDING, STICKING, linearOf, table, toLinear } from "./colours.js";

const FAINT = 0.01; // forces under this share of the scale are not drawn
// Places for numbers on their way: nothing is made anew for each of many thousand contacts.
const ENDS = new Float64Array(6);
const MIDDLE = [0, 0, 0];
const SIZE = [1, 1, 1];
const TURN = [0, 0, 0, 1];
const UNTURNED = [0, 0, 0, 1];
const BY_MODE = [OPEN, STICKING, SLIDING].map(linearOf);

// Of each contact: normal and tangential force, and the share of friction used; computed once a frame.
export function measured(frame) {
  if (frame.measured) return frame.measured;
  const { force, normal: n, mu } = frame.arrays;
  const count = mu.length;
  const [normal, tangent, mobilised] = [0, 0, 0].map(() => new Float32Array(count));
  for (let k = 0, at = 0; k < count; k += 1, at += 3) {
    const along = force[at] * n[at] + force[at + 1] * n[at + 1] + force[at + 2] * n[at + 2];
    const x = force[at] - along * n[at], y = force[at + 1] - along * n[at + 1], z = force[at + 2] - along * n[at + 2];
    normal[k] = along;
    tangent[k] = Math.sqrt(x * x + y * y + z * z);
    const limit = mu[k] * along;
    mobilised[k] = limit > 0 ? Math.min(1, tangent[k] / limit) : tangent[k] > 0 ? 1 : 0;
  }
  frame.measured = { normal, tangent, mobilised };
  return frame.measured;
}

const BY_SHARE = table((x) => toLinear(MOBILISED(x)));

export class Contacts {
  constructor(model, group) {
    this.model = model;
    this.group = group;
    this.d = model.header.d;
    this.size = typicalReach(model.arrays);
    this.dot = Math.min(0.16 * this.size, 0.01 * sizeOf(model.header));
    this.top = 0;
    this.thickness = 1;
    this.bars = new Bars(group);
    this.points = new Points(group);
    this.cone = new Cone(group, this.d);
  }

  // kind: "none", "chains" or "arrows"
  update(frame, kind, showPoints, isShown) {
    const n = frame.contacts;
    const { normal, mobilised } = measured(frame);
    const forces = normal.slice().sort();
    this.top = Math.max(this.top, n ? forces[Math.min(n - 1, Math.floor(0.98 * n))] : 0);
    this.bars.start(kind === "none" ? 0 : 2 * n);
    this.points.start(showPoints ? n : 0);
    for (let k = 0; k < n; k += 1) {
      if (!isShown(k)) continue;
      if (showPoints) this.points.add(frame.arrays.point, 3 * k, this.dot, BY_MODE[frame.arrays.mode[k]], k);
      if (kind === "none" || !(normal[k] > FAINT * this.top)) continue;
      const colour = BY_SHARE(mobilised[k]);
      if (kind === "chains") this.#chain(frame, k, normal[k], colour);
      else this.#arrow(frame, k, colour);
    }
    this.bars.finish();
    this.points.finish();
  }

  // From the contact to the centre of each body that is not a wall, as thick as the force is large.
  #chain(frame, k, force, colour) {
    const { a, b, point, position } = frame.arrays;
    const { movable, reach } = this.model.arrays;
    const width = this.thickness * 0.55 * this.size * Math.min(1.6, force / this.top);
    for (let side = 0; side < 2; side += 1) {
      const body = side ? b[k] : a[k];
      if (!movable[body] && !(reach[body] < 4 * this.size)) continue;
      // a body that is far touches by its periodic image
      this.bars.add(point, 3 * k, position, 3 * body, width, colour, k, 1.5 * reach[body]);
    }
  }

  // The force itself, through the contact point, as long as it is large.
  #arrow(frame, k, colour) {
    const { force, point } = frame.arrays;
    const size = (this.thickness * 0.8 * this.size) / this.top;
    for (let i = 0; i < 3; i += 1) {
      ENDS[i] = point[3 * k + i] - size * force[3 * k + i];
      ENDS[3 + i] = point[3 * k + i] + size * force[3 * k + i];
    }
    this.bars.add(ENDS, 0, ENDS, 3, 0.07 * this.size, colour, k, Infinity);
  }

  pick(frame, k, ink) {
    this.cone.show(frame, k, this.size, ink);
  }

  unpick() {
    this.cone.hide();
  }

  get targets() {
    return [this.points.mesh, this.bars.mesh].filter((mesh) => mesh && mesh.count > 0);
  }
}

const sizeOf = ({ low, high }) => Math.hypot(...low.map((x, i) => high[i] - x));

export function typicalReach({ movable, reach }) {
  const sizes = reach.filter((r, body) => movable[body] && Number.isFinite(r) && r > 0).sort();
  return sizes.length ? sizes[Math.floor(sizes.length / 2)] : 1;
}

// Instanced meshes that grow as needed.
class Growing {
  constructor(group, geometry, flat) {
    Object.assign(this, { group, geometry, flat, capacity: 0, mesh: null, ids: [] });
  }

  start(capacity) {
    this.count = 0;
    if (capacity <= this.capacity) return;
    if (this.mesh) this.group.remove(this.mesh), this.mesh.dispose();
    this.capacity = Math.ceil(1.5 * capacity);
    const material = new THREE.MeshLambertMaterial({ emissive: "#303030" });
    this.mesh = new THREE.InstancedMesh(this.geometry, material, this.capacity);
    this.mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * this.capacity), 3);
    this.mesh.frustumCulled = false;
    this.mesh.userData.contactOf = (hit) => this.ids[hit.instanceId];
    this.group.add(this.mesh);
  }

  put(p, q, s, colour, id) {
    writeMatrix(this.mesh.instanceMatrix.array, 16 * this.count, p, q, s);
    this.mesh.instanceColor.array.set(colour, 3 * this.count);
    this.ids[this.count] = id;
    this.count += 1;
  }

  finish() {
    if (!this.mesh) return;
    this.mesh.count = this.count;
    this.mesh.instanceMatrix.needsUpdate = true;
    this.mesh.instanceColor.needsUpdate = true;
    this.mesh.boundingSphere = null;
  }
}

class Bars extends Growing {
  constructor(group) {
    super(group, new THREE.CylinderGeometry(1, 1, 1, 10));
  }

  // A bar between two points of arrays, unless it were longer than the limit.
  add(from, f, to, t, width, colour, id, limit) {
    const x = to[t] - from[f], y = to[t + 1] - from[f + 1], z = to[t + 2] - from[f + 2];
    const length = Math.sqrt(x * x + y * y + z * z);
    if (!(length > 0 && length <= limit)) return;
    for (let i = 0; i < 3; i += 1) MIDDLE[i] = (from[f + i] + to[t + i]) / 2;
    SIZE[0] = SIZE[2] = width;
    SIZE[1] = length;
    this.put(MIDDLE, turnFromY(x / length, y / length, z / length), SIZE, colour, id);
  }
}

class Points extends Growing {
  constructor(group) {
    super(group, new THREE.IcosahedronGeometry(1, 2));
  }

  add(points, at, size, colour, id) {
    for (let i = 0; i < 3; i += 1) MIDDLE[i] = points[at + i];
    this.put(MIDDLE, UNTURNED, SIZE.fill(size), colour, id);
  }
}

// The cone |r_T| ≤ mu r_N at a contact, and the reaction in it.
class Cone {
  constructor(group, d) {
    this.group = group;
    this.d = d;
    this.items = [];
  }

  show(frame, k, size, ink) {
    this.hide();
    const { point, normal, force, mu } = frame.arrays;
    const [p, n, f] = [point, normal, force].map((array) => Array.from(array.subarray(3 * k, 3 * k + 3)));
    const height = 2.4 * size;
    const along = measured(frame).normal[k];
    const cone = new THREE.Mesh(
      new THREE.ConeGeometry(height * Math.min(mu[k], 20), height, 48, 1, true).rotateX(Math.PI).translate(0, height / 2, 0),
      new THREE.MeshBasicMaterial({ color: "#00a3a3", transparent: true, opacity: 0.4, side: THREE.DoubleSide, depthWrite: false, depthTest: false }),
    );
    cone.position.set(...p);
    cone.quaternion.set(...turnFromY(...n));
    cone.renderOrder = 5;
    this.items.push(cone);
    if (along > 0) {
      const shaft = f.map((x) => (0.85 * height * x) / along);
      const arrow = new THREE.ArrowHelper(
        new THREE.Vector3(...shaft).normalize(), new THREE.Vector3(...p), Math.hypot(...shaft), ink, 0.4 * size, 0.24 * size,
      );
      for (const item of [arrow.line, arrow.cone]) {
        Object.assign(item, { renderOrder: 6 });
        item.material.depthTest = false;
      }
      this.items.push(arrow);
    }
    const dot = new THREE.Mesh(new THREE.IcosahedronGeometry(0.1 * size, 2), new THREE.MeshBasicMaterial({ color: "#00a3a3", depthTest: false }));
    dot.position.set(...p);
    dot.renderOrder = 6;
    this.items.push(dot);
    this.group.add(...this.items);
  }

  hide() {
    this.group.remove(...this.items);
    for (const item of this.items) item.geometry?.dispose();
    this.items = [];
  }
}

// Quaternion (x y z w) that turns y to a unit vector; overwritten by the next call.
function turnFromY(x, y, z) {
  if (y < -0.999999) [TURN[0], TURN[1], TURN[2], TURN[3]] = [1, 0, 0, 0];
  else {
    const w = 1 + y;
    const size = Math.sqrt(z * z + x * x + w * w);
    TURN[0] = z / size;
    TURN[1] = 0;
    TURN[2] = -x / size;
    TURN[3] = w / size;
  }
  return TURN;
}
