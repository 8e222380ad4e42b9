// What deforms: surfaces and tubes whose vertices come with each frame, coloured by a field on them.

import * as THREE from "three";
import { linearOf, table, toLinear } from "./colours.js";

const PLAIN = linearOf("#c9b79c");
const VOID = linearOf("#27ae60"); // no value: slack cables
const WIDEST = 3; // of a segment's own radius that a field adds at most
const SIDES = 12;

// Triangles with vertices that move. A value per triangle is drawn flat: each triangle has corners of its own.
class Surface {
  constructor(cells, d) {
    this.cells = cells;
    const geometry = new THREE.BufferGeometry();
    for (const name of ["position", "color"]) {
      const attribute = new THREE.BufferAttribute(new Float32Array(3 * cells.length), 3);
      geometry.setAttribute(name, attribute.setUsage(THREE.DynamicDrawUsage));
    }
    const Kind = d === 2 ? THREE.MeshBasicMaterial : THREE.MeshLambertMaterial;
    this.mesh = new THREE.Mesh(geometry, new Kind({ side: THREE.DoubleSide, vertexColors: true }));
    this.meshes = [this.mesh];
    const pen = new THREE.LineBasicMaterial({ color: "#000000", transparent: true, opacity: 0.22 });
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(), pen);
    this.mesh.add(this.lines);
    this.lines.geometry.setAttribute("position", geometry.getAttribute("position"));
    this.lines.geometry.setIndex(Array.from({ length: cells.length / 3 }, (_, t) => [3 * t, 3 * t + 1, 3 * t + 1, 3 * t + 2, 3 * t + 2, 3 * t]).flat());
  }

  update(vertices, colourOf) {
    const { position, color } = this.mesh.geometry.attributes;
    this.cells.forEach((vertex, corner) => {
      for (let i = 0; i < 3; i += 1) position.array[3 * corner + i] = vertices[3 * vertex + i];
      color.array.set(colourOf(vertex, Math.floor(corner / 3)), 3 * corner);
    });
    position.needsUpdate = true;
    color.needsUpdate = true;
    this.mesh.geometry.computeVertexNormals();
    this.mesh.geometry.boundingSphere = null;
    this.lines.geometry.boundingSphere = null;
  }
}

// Segments with a radius each: a cylinder between the ends and a ball on each of them.
class Tubes {
  constructor(cells, radius, d) {
    this.cells = cells;
    this.radius = radius;
    const Kind = d === 2 ? THREE.MeshBasicMaterial : THREE.MeshLambertMaterial;
    const copies = (geometry, n) => {
      const mesh = new THREE.InstancedMesh(geometry, new Kind(), n);
      mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * n), 3);
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      mesh.frustumCulled = false;
      return mesh;
    };
    this.bars = copies(new THREE.CylinderGeometry(1, 1, 1, SIDES, 1, true), radius.length);
    this.ends = copies(new THREE.IcosahedronGeometry(1, 2), 2 * radius.length);
    this.meshes = [this.bars, this.ends];
  }

  update(vertices, colourOf, widthOf) {
    const [a, b, middle, along] = Array.from({ length: 4 }, () => new THREE.Vector3());
    const [turn, still, matrix, size] = [new THREE.Quaternion(), new THREE.Quaternion(), new THREE.Matrix4(), new THREE.Vector3()];
    const up = new THREE.Vector3(0, 1, 0);
    this.radius.forEach((thin, k) => {
      const radius = thin * widthOf(k);
      const [from, to] = [this.cells[2 * k], this.cells[2 * k + 1]];
      a.fromArray(vertices, 3 * from);
      b.fromArray(vertices, 3 * to);
      along.subVectors(b, a);
      const length = along.length();
      turn.setFromUnitVectors(up, length > 0 ? along.divideScalar(length) : up);
      matrix.compose(middle.addVectors(a, b).multiplyScalar(0.5), turn, size.set(radius, length, radius));
      this.bars.setMatrixAt(k, matrix);
      const colours = [colourOf(from, k), colourOf(to, k)];
      for (let i = 0; i < 3; i += 1) this.bars.instanceColor.array[3 * k + i] = (colours[0][i] + colours[1][i]) / 2;
      [a, b].forEach((end, e) => {
        this.ends.setMatrixAt(2 * k + e, matrix.compose(end, still, size.setScalar(radius)));
        this.ends.instanceColor.array.set(colours[e], 3 * (2 * k + e));
      });
    });
    for (const mesh of this.meshes) {
      mesh.instanceMatrix.needsUpdate = true;
      mesh.instanceColor.needsUpdate = true;
      mesh.boundingSphere = null;
    }
  }
}

export class Skins {
  constructor(model, group) {
    this.told = model.header.skins || [];
    this.parts = this.told.map(({ shape }, k) => {
      const cells = model.arrays[`skin.${k}.cells`];
      return shape === "tube" ? new Tubes(cells, model.arrays[`skin.${k}.radius`], model.header.d) : new Surface(cells, model.header.d);
    });
    for (const { meshes } of this.parts) group.add(...meshes);
  }

  // Values of a field in a frame, of all the skins that have it.
  values(frame, name) {
    return this.told.flatMap(({ fields }, k) => {
      const i = fields.findIndex((field) => field.name === name);
      return i < 0 ? [] : [frame.arrays[`skin.${k}.field.${i}`]];
    });
  }

  // mode: the entry of MODES that is chosen; skins without its field are plain.
  update(frame, mode, range) {
    const [low, high] = range;
    const colours = mode.field ? table((x) => toLinear(mode.ramp(x))) : null;
    this.parts.forEach((part, k) => {
      const { fields } = this.told[k];
      const i = fields.findIndex((field) => field.name === mode.field);
      const values = frame.arrays[`skin.${k}.field.${i}`];
      const isOfCells = fields[i]?.of === "cell";
      const colourOf = (vertex, cell) => {
        const x = values[isOfCells ? cell : vertex];
        return Number.isFinite(x) ? colours((x - low) / (high - low || 1)) : VOID;
      };
      // Wider where the first field is large, whatever the colours show.
      const { doublesAt } = this.told[k];
      const forces = frame.arrays[`skin.${k}.field.0`];
      const widthOf = (cell) => (doublesAt ? 1 + Math.min(WIDEST, Math.abs(forces[cell]) / doublesAt || 0) : 1);
      part.update(frame.arrays[`skin.${k}.vertices`], i < 0 ? () => PLAIN : colourOf, widthOf);
    });
  }

  setOpacity(opacity) {
    for (const mesh of this.parts.flatMap(({ meshes }) => meshes)) {
      mesh.material.transparent = opacity < 1;
      mesh.material.opacity = opacity;
      mesh.material.depthWrite = opacity >= 1;
      mesh.visible = opacity > 0.01;
      mesh.material.needsUpdate = true;
    }
  }
}
