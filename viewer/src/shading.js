// Materials of the bodies: a soft light, edges of flat faces, and marks that show how round ones turn.

import * as THREE from "three";

// Lines where a face ends: `edge` holds for each corner its share of the three sides of its triangle,
// with 1 added for sides that are no edges (a diagonal of a square).
const EDGES = {
  vertex: ["attribute vec3 edge; varying vec3 vEdge;", "vEdge = edge;"],
  fragment: [
    "varying vec3 vEdge;",
    `vec3 reach = vEdge / max(fwidth(vEdge), vec3(1e-6));
     float face = smoothstep(0.4, 1.6, min(min(reach.x, reach.y), reach.z));
     diffuseColor.rgb *= mix(0.45, 1.0, face);
     diffuseColor.a = mix(max(diffuseColor.a, 0.5), diffuseColor.a, face);`,
  ],
};

// A band around a ball.
const BALL = {
  vertex: ["varying vec3 vLocal;", "vLocal = position;"],
  fragment: [
    "varying vec3 vLocal; uniform float marks;",
    `float band = abs(normalize(vLocal).z);
     diffuseColor.rgb *= mix(1.0, mix(0.74, 1.0, smoothstep(0.12, 0.12 + 1.5 * fwidth(band), band)), marks);`,
  ],
};

// The rim of a disk and one radius.
const DISK = {
  vertex: ["varying vec3 vLocal;", "vLocal = position;"],
  fragment: [
    "varying vec3 vLocal; uniform float marks;",
    `float out_ = length(vLocal.xy), w = fwidth(out_);
     float rim = smoothstep(1.0 - 2.4 * w, 1.0 - 1.2 * w, out_);
     diffuseColor.rgb *= mix(1.0, 0.45, rim);
     diffuseColor.a = mix(diffuseColor.a, max(diffuseColor.a, 0.5), rim);
     float side = max(abs(vLocal.y), -vLocal.x);
     diffuseColor.rgb *= mix(1.0, mix(0.5, 1.0, smoothstep(0.4 * w, 1.4 * w, side)), marks);`,
  ],
};

export const marks = { value: 1 };

export function bodyMaterial(kind, d) {
  const Kind = d === 2 ? THREE.MeshBasicMaterial : THREE.MeshLambertMaterial;
  const material = new Kind({ side: d === 2 ? THREE.DoubleSide : THREE.FrontSide });
  const part = kind === "mesh" ? EDGES : kind === "sphere" ? (d === 2 ? DISK : BALL) : null;
  if (part) {
    material.onBeforeCompile = (shader) => {
      shader.uniforms.marks = marks;
      const { vertex, fragment } = part;
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", `#include <common>\n${vertex[0]}`)
        .replace("#include <begin_vertex>", `#include <begin_vertex>\n${vertex[1]}`);
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>\n${fragment[0]}`)
        .replace("#include <color_fragment>", `#include <color_fragment>\n${fragment[1]}`);
    };
    material.customProgramCacheKey = () => `${kind}${d}`;
  }
  return material;
}

// Lets the ground end softly, far from what is worth seeing.
export function faded(material, reach) {
  material.onBeforeCompile = (shader) => {
    shader.uniforms.reach = { value: reach };
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vPlace;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvPlace = (modelMatrix * vec4(position, 1.0)).xyz;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vPlace; uniform float reach;")
      .replace("#include <color_fragment>", "#include <color_fragment>\ndiffuseColor.a *= 1.0 - smoothstep(0.45, 1.0, length(vPlace) / reach);");
  };
  material.customProgramCacheKey = () => "faded";
  return material;
}

// Triangles with flat normals and the `edge` attribute; edges is a list of pairs of vertices.
export function faceted(vertices, triangles, edges) {
  const key = (p, q) => (p < q ? `${p} ${q}` : `${q} ${p}`);
  const shown = new Set();
  for (let k = 0; k < edges.length; k += 2) shown.add(key(edges[k], edges[k + 1]));
  const position = new Float32Array(3 * triangles.length);
  const edge = new Float32Array(3 * triangles.length);
  for (let t = 0; t < triangles.length; t += 3) {
    for (let k = 0; k < 3; k += 1) {
      const v = triangles[t + k];
      position.set(vertices.subarray(3 * v, 3 * v + 3), 3 * (t + k));
      edge[3 * (t + k) + k] = 1;
      if (!shown.has(key(triangles[t + ((k + 1) % 3)], triangles[t + ((k + 2) % 3)]))) {
        for (let j = 0; j < 3; j += 1) edge[3 * (t + j) + k] += 1; // the side opposite to corner k
      }
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
  geometry.setAttribute("edge", new THREE.BufferAttribute(edge, 3));
  geometry.computeVertexNormals();
  return geometry;
}

// The cube [-1, 1]³ with its twelve edges.
export function cube() {
  const vertices = Float32Array.from(
    { length: 24 },
    (_, k) => 2 * ((Math.floor(k / 3) >> (2 - (k % 3))) & 1) - 1,
  );
  const quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]];
  const triangles = quads.flatMap(([a, b, c, d]) => [a, b, c, a, c, d]);
  const edges = quads.flatMap(([a, b, c, d]) => [a, b, b, c, c, d, d, a]);
  return faceted(vertices, triangles, edges);
}
