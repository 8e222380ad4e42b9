// The bodies: one draw call per kind of shape, whatever their number.

import * as THREE from "three";
import { mergeVertices } from "three/addons/utils/BufferGeometryUtils.js";
import { bodyMaterial, cube, faceted, faded } from "./shading.js";
import { linearOf } from "./colours.js";

// Triangles of all balls together, about: what a laptop draws at ease, with and without a graphics card.
const TRIANGLES = 3e6;
const TRIANGLES_IN_SOFTWARE = 2e5;

// Position, quaternion (x y z w) and scale written as a 4x4 matrix, column by column.
export function writeMatrix(out, at, p, q, s) {
  const x = q[0], y = q[1], z = q[2], w = q[3];
  out[at] = (1 - 2 * (y * y + z * z)) * s[0];
  out[at + 1] = 2 * (x * y + w * z) * s[0];
  out[at + 2] = 2 * (x * z - w * y) * s[0];
  out[at + 3] = 0;
  out[at + 4] = 2 * (x * y - w * z) * s[1];
  out[at + 5] = (1 - 2 * (x * x + z * z)) * s[1];
  out[at + 6] = 2 * (y * z + w * x) * s[1];
  out[at + 7] = 0;
  out[at + 8] = 2 * (x * z + w * y) * s[2];
  out[at + 9] = 2 * (y * z - w * x) * s[2];
  out[at + 10] = (1 - 2 * (x * x + y * y)) * s[2];
  out[at + 11] = 0;
  out[at + 12] = p[0];
  out[at + 13] = p[1];
  out[at + 14] = p[2];
  out[at + 15] = 1;
}

// Where copy k of a drawable is: its body's place composed with its own in the body.
function place(frame, drawable, k, p, q) {
  const body = drawable.body[k];
  const { position, orientation } = frame.arrays;
  const t = 4 * body, w = orientation[t], x = orientation[t + 1], y = orientation[t + 2], z = orientation[t + 3];
  const l = 4 * k, own = drawable.orientation, lw = own[l], lx = own[l + 1], ly = own[l + 2], lz = own[l + 3];
  const px = drawable.position[3 * k], py = drawable.position[3 * k + 1], pz = drawable.position[3 * k + 2];
  const tx = 2 * (y * pz - z * py), ty = 2 * (z * px - x * pz), tz = 2 * (x * py - y * px);
  p[0] = position[3 * body] + px + w * tx + y * tz - z * ty;
  p[1] = position[3 * body + 1] + py + w * ty + z * tx - x * tz;
  p[2] = position[3 * body + 2] + pz + w * tz + x * ty - y * tx;
  q[0] = w * lx + x * lw + y * lz - z * ly;
  q[1] = w * ly - x * lz + y * lw + z * lx;
  q[2] = w * lz + x * ly - y * lx + z * lw;
  q[3] = w * lw - x * lx - y * ly - z * lz;
}

const p = [0, 0, 0];
const q = [0, 0, 0, 1];

// Many copies of one geometry, each with its own size.
class Copies {
  constructor(kind, parts, d, isSoftware) {
    this.parts = parts;
    const n = parts.reduce((sum, part) => sum + part.body.length, 0);
    this.mesh = new THREE.InstancedMesh(geometryOf(kind, n, d, isSoftware), bodyMaterial(kind === "box" ? "mesh" : kind, d), n);
    this.mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * n), 3);
    this.mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    this.mesh.frustumCulled = false;
    this.bodies = new Int32Array(n);
  }

  update(frame, colours, isShown) {
    const matrices = this.mesh.instanceMatrix.array;
    const painted = this.mesh.instanceColor.array;
    let count = 0;
    for (const part of this.parts) {
      for (let k = 0; k < part.body.length; k += 1) {
        const body = part.body[k];
        if (body >= frame.alive || !isShown(body)) continue;
        place(frame, part, k, p, q);
        writeMatrix(matrices, 16 * count, p, q, part.scale(k));
        for (let i = 0; i < 3; i += 1) painted[3 * count + i] = colours[3 * body + i];
        this.bodies[count] = body;
        count += 1;
      }
    }
    this.mesh.count = count;
    this.mesh.instanceMatrix.needsUpdate = true;
    this.mesh.instanceColor.needsUpdate = true;
    this.mesh.boundingSphere = null;
  }

  bodyOf(hit) {
    return this.bodies[hit.instanceId];
  }
}

// Polyhedra and polygons, each of its own form, drawn together.
class Assorted {
  constructor(parts, d) {
    this.parts = parts;
    const copies = parts.reduce((sum, part) => sum + part.body.length, 0);
    const corners = parts.reduce((sum, part) => sum + part.triangles.length, 0);
    this.mesh = new THREE.BatchedMesh(copies, corners, 0, bodyMaterial("mesh", d));
    this.mesh.frustumCulled = false;
    this.mesh.perObjectFrustumCulled = false;
    this.mesh.sortObjects = false;
    this.entries = [];
    for (const part of parts) {
      const geometry = this.mesh.addGeometry(faceted(part.vertices, part.triangles, part.edges));
      part.body.forEach((body, k) => {
        this.entries[this.mesh.addInstance(geometry)] = { part, k, body };
      });
    }
    this.matrix = new THREE.Matrix4();
    this.colour = new THREE.Color();
  }

  update(frame, colours, isShown) {
    this.entries.forEach(({ part, k, body }, id) => {
      const shown = body < frame.alive && isShown(body);
      this.mesh.setVisibleAt(id, shown);
      if (!shown) return;
      place(frame, part, k, p, q);
      writeMatrix(this.matrix.elements, 0, p, q, [1, 1, 1]);
      this.mesh.setMatrixAt(id, this.matrix);
      this.mesh.setColorAt(id, this.colour.fromArray(colours, 3 * body));
    });
    this.mesh.boundingSphere = null;
  }

  bodyOf(hit) {
    return this.entries[hit.batchId].body;
  }
}

// A wall seen through: the surface of a container, or the part of a half-space worth seeing.
class Wall {
  constructor(part, d, isGround, reach) {
    this.part = part;
    this.isGround = isGround;
    const material = new (d === 2 || isGround ? THREE.MeshBasicMaterial : THREE.MeshLambertMaterial)({
      // a half-space is seen from its free side only, so that walls in front do not hide the grains
      side: isGround && d === 3 ? THREE.FrontSide : THREE.DoubleSide,
      transparent: true,
      depthWrite: false,
      polygonOffset: true,
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 1,
    });
    if (isGround) faded(material, reach);
    this.mesh = new THREE.Mesh(isGround ? polygon(part.vertices) : surface(part), material);
    const lines = new THREE.BufferGeometry();
    const ring = Array.from({ length: part.vertices.length / 3 }, (_, k) => [k, (k + 1) % (part.vertices.length / 3)]);
    lines.setAttribute("position", new THREE.BufferAttribute(part.vertices, 3));
    lines.setIndex(isGround ? ring.flat() : Array.from(part.edges));
    const pen = new THREE.LineBasicMaterial({ transparent: true });
    this.lines = new THREE.LineSegments(lines, isGround ? faded(pen, reach) : pen);
    this.mesh.add(this.lines);
    this.mesh.renderOrder = isGround ? -1 : 1;
  }

  update(frame) {
    const body = this.part.body[0];
    this.mesh.visible = body < frame.alive;
    if (!this.mesh.visible) return;
    place(frame, this.part, 0, p, q);
    this.mesh.position.set(...p);
    this.mesh.quaternion.set(...q);
  }

  bodyOf() {
    return this.part.body[0];
  }

  paint({ ground, wall, line }, opacity) {
    this.mesh.material.color.set(this.isGround ? ground : wall);
    this.mesh.material.opacity = this.isGround ? Math.min(1, opacity * 4) : opacity;
    this.mesh.material.visible = opacity > 0;
    this.lines.material.color.set(line);
    this.lines.material.opacity = opacity > 0 ? Math.min(1, 0.25 + opacity) : 0;
  }
}

export class Bodies {
  constructor(model, group, isSoftware) {
    const d = model.header.d;
    const parts = model.header.drawables.map((kind, number) => drawable(model.arrays, kind, number));
    const of = (kind) => parts.filter((part) => part.kind === kind);
    this.walls = ["surface", "ground"].flatMap((kind) => of(kind).map((part) => new Wall(part, d, kind === "ground", model.header.reach)));
    this.sets = ["sphere", "box", "cylinder"].filter((kind) => of(kind).length).map((kind) => new Copies(kind, of(kind), d, isSoftware));
    if (of("mesh").length) this.sets.push(new Assorted(of("mesh"), d));
    for (const item of [...this.walls, ...this.sets]) {
      item.mesh.userData.bodyOf = (hit) => item.bodyOf(hit);
      group.add(item.mesh);
    }
  }

  update(frame, colours, isShown) {
    for (const set of this.sets) set.update(frame, colours, isShown);
    for (const wall of this.walls) wall.update(frame);
  }

  setOpacity(opacity) {
    for (const { mesh } of this.sets) {
      mesh.material.transparent = opacity < 1;
      mesh.material.opacity = opacity;
      mesh.material.depthWrite = opacity >= 1;
      mesh.visible = opacity > 0.01;
      mesh.material.needsUpdate = true;
    }
  }

  paintWalls(colours, opacity) {
    for (const wall of this.walls) wall.paint(colours, opacity);
  }

  // Meshes a click can meet: bodies first, walls only if nothing else is there.
  get targets() {
    return [this.sets.map((set) => set.mesh), this.walls.map((wall) => wall.mesh)];
  }
}

export const HIGHLIGHT = linearOf("#00a3a3");

function drawable(arrays, kind, number) {
  const part = { kind };
  for (const name of "body position orientation radius half size vertices triangles edges".split(" ")) {
    part[name] = arrays[`${number}.${name}`];
  }
  const scale = [1, 1, 1];
  part.scale = {
    sphere: (k) => scale.fill(part.radius[k]),
    box: (k) => part.half.subarray(3 * k, 3 * k + 3),
    cylinder: (k) => [part.size[2 * k], part.size[2 * k], part.size[2 * k + 1]],
  }[kind];
  return part;
}

function geometryOf(kind, n, d, isSoftware) {
  if (kind === "box") return cube();
  if (kind === "cylinder") return new THREE.CylinderGeometry(1, 1, 2, 40).rotateX(Math.PI / 2);
  if (d === 2) return new THREE.CircleGeometry(1, 48);
  const triangles = isSoftware ? TRIANGLES_IN_SOFTWARE : TRIANGLES;
  const detail = Math.max(1, Math.min(7, Math.floor(Math.sqrt(triangles / (20 * n))) - 1));
  return mergeVertices(new THREE.IcosahedronGeometry(1, detail).deleteAttribute("uv")); // each corner once
}

function polygon(vertices) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(vertices, 3));
  geometry.setIndex(Array.from({ length: vertices.length / 3 - 2 }, (_, k) => [0, k + 1, k + 2]).flat());
  return geometry;
}

function surface(part) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(part.vertices, 3));
  geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(part.triangles), 1));
  geometry.computeVertexNormals();
  return geometry;
}
