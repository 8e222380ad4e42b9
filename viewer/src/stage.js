// The window on the scene: renderer, camera and light. A picture is drawn only when something changed.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const FIELD = 32; // degrees

export const PRESETS = {
  free: { title: "Oblique", from: [0.62, -1.5, 0.62] },
  front: { title: "Front", from: [0, -1, 0] },
  right: { title: "Right", from: [1, 0, 0] },
  back: { title: "Back", from: [0, 1, 0] },
  left: { title: "Left", from: [-1, 0, 0] },
  top: { title: "Top", from: [0, -1e-4, 1] },
};

// Whether there is no graphics card: then less is drawn, at the same truth.
function drawsInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("This browser cannot draw in 3-D: WebGL 2 is missing or switched off.");
  const told = gl.getExtension("WEBGL_debug_renderer_info");
  const name = told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

export class Stage {
  constructor(canvas, d) {
    this.canvas = canvas;
    this.d = d;
    this.isSoftware = drawsInSoftware();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.isSoftware });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.scene = new THREE.Scene();
    this.camera = d === 2 ? new THREE.OrthographicCamera() : new THREE.PerspectiveCamera(FIELD);
    this.camera.up.set(...(d === 2 ? [0, 1, 0] : [0, 0, 1]));
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.addEventListener("change", () => this.invalidate());
    if (d === 2) {
      this.controls.enableRotate = false;
      this.controls.mouseButtons.LEFT = THREE.MOUSE.PAN;
      this.controls.touches.ONE = THREE.TOUCH.PAN;
    }
    this.#light();
    this.hidden = 0; // pixels covered at the right
    this.isStale = true;
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  #light() {
    this.scene.add(new THREE.HemisphereLight("#ffffff", "#8d8577", 1.9));
    this.sun = new THREE.DirectionalLight("#fff6e8", 1.7);
    this.scene.add(this.sun, this.sun.target);
  }

  setBackground(colour) {
    this.scene.background = new THREE.Color(colour);
    this.invalidate();
  }

  setBounds(low, high) {
    this.low = new THREE.Vector3(...low);
    this.high = new THREE.Vector3(...high);
    this.radius = this.low.distanceTo(this.high) / 2 || 1;
  }

  look(preset) {
    const from = this.d === 2 ? [0, 0, 1] : PRESETS[preset].from;
    this.#frame(new THREE.Vector3(...from).normalize());
  }

  fit() {
    this.#frame(this.camera.position.clone().sub(this.controls.target).normalize());
  }

  // Sees all of the scene from a direction.
  #frame(from) {
    const centre = this.low.clone().add(this.high).multiplyScalar(0.5);
    const [width, height] = this.#free();
    this.camera.zoom = 1;
    if (this.d === 2) {
      const size = this.high.clone().sub(this.low);
      const scale = 1.16 * Math.max(size.x / width, size.y / height, 1e-12);
      this.span = scale;
      this.camera.position.copy(centre).addScaledVector(from, 10 * this.radius);
    } else {
      const tall = Math.tan((FIELD * Math.PI) / 360);
      this.camera.position.copy(centre).addScaledVector(from, 1.08 * this.#distance(centre, from, (tall * width) / height, tall));
    }
    this.controls.target.copy(centre);
    this.controls.minDistance = this.radius / 100;
    this.controls.maxDistance = 30 * this.radius;
    this.resize();
    this.controls.update();
  }

  // How far away all corners of the scene are in the picture.
  #distance(centre, from, wide, tall) {
    const right = this.camera.up.clone().cross(from).normalize();
    const up = from.clone().cross(right);
    let least = 0.2 * this.radius;
    for (let k = 0; k < 8; k += 1) {
      const corner = new THREE.Vector3(...["x", "y", "z"].map((axis, i) => (k & (1 << i) ? this.high : this.low)[axis])).sub(centre);
      const across = Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(up)) / tall);
      least = Math.max(least, across + corner.dot(from));
    }
    return least;
  }

  #free() {
    return [Math.max(1, this.canvas.clientWidth - this.hidden), Math.max(1, this.canvas.clientHeight)];
  }

  setHidden(pixels) {
    this.hidden = pixels;
    this.resize();
  }

  resize() {
    const width = this.canvas.clientWidth || 1;
    const height = this.canvas.clientHeight || 1;
    this.renderer.setSize(width, height, false);
    const { camera, radius = 1 } = this;
    if (this.d === 2) {
      const scale = (this.span || 1) / 2;
      Object.assign(camera, { left: -width * scale, right: width * scale, top: height * scale, bottom: -height * scale });
      Object.assign(camera, { near: 0, far: 30 * radius });
    } else {
      Object.assign(camera, { aspect: width / height, near: radius / 200, far: 80 * radius });
    }
    camera.setViewOffset(width, height, this.hidden / 2, 0, width, height);
    camera.updateProjectionMatrix();
    this.invalidate();
  }

  invalidate() {
    this.isStale = true;
  }

  render() {
    if (!this.isStale) return;
    this.isStale = false;
    // the sun stands behind the left shoulder of whoever looks
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    this.sun.target.position.copy(this.controls.target);
    this.sun.position.copy(this.camera.position).addScaledVector(right, -this.radius).addScaledVector(up, 1.4 * this.radius);
    this.renderer.render(this.scene, this.camera);
  }

  ray(x, y) {
    const box = this.canvas.getBoundingClientRect();
    const place = new THREE.Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2);
    const caster = new THREE.Raycaster();
    caster.setFromCamera(place, this.camera);
    return caster;
  }

  // Pixels of a point of the scene.
  project(point) {
    const box = this.canvas.getBoundingClientRect();
    this.camera.updateMatrixWorld();
    const seen = new THREE.Vector3(...point).project(this.camera);
    return [box.left + ((seen.x + 1) / 2) * box.width, box.top + ((1 - seen.y) / 2) * box.height];
  }

  picture() {
    this.isStale = true;
    this.render();
    return this.canvas.toDataURL("image/png");
  }
}
