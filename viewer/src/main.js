// The page: joins what is shown, what is chosen and what is fetched.

import * as THREE from "three";
import { Bodies, HIGHLIGHT } from "./bodies.js";
import { MOBILISED, MODES, OPEN, SLIDING, STICKING, Scale, addFields, bodyColours, css } from "./colours.js";
import { Contacts, measured } from "./contacts.js";
import { count, number, perDepth } from "./format.js";
import { bodyRows, contactRows, fill, nameOf } from "./inspect.js";
import { drawLegend, unitOf } from "./legend.js";
import { recall, remember, store, stored } from "./memory.js";
import { Playback } from "./playback.js";
import { CURVES, Plot } from "./plots.js";
import { marks } from "./shading.js";
import { Skins } from "./skins.js";
import { openSource } from "./source.js";
import { PRESETS, Stage } from "./stage.js";

const at = (id) => document.getElementById(id);
const checked = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const told = document.documentElement.dataset; // what a script may read: ready, frame, frames, problem
const POLL = 1000; // ms between two looks for new frames
const SPEEDS = [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const GLASS = 0.15; // opacity of bodies when the forces inside are shown
const NARROW = "(max-width: 760px)"; // windows in which the panel covers the scene: closed at first
const PLAYING = 9; // s that a run should take to play, about

class Page {
  constructor() {
    this.source = openSource();
    this.scale = new Scale();
    this.selected = null;
    this.playback = new Playback(this.source, (frame, index) => this.showFrame(frame, index), (error) => this.complain(error));
    this.plots = CURVES.map((curve) => new Plot(curve, at("curves"), (share) => this.seek(share)));
    document.body.classList.toggle("bare", matchMedia(NARROW).matches);
    this.setTheme(stored("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.#listen();
  }

  async start() {
    try {
      await this.load();
    } catch (error) {
      this.complain(error);
    }
    if (this.source.isLive) this.#follow();
    const tick = (now) => {
      this.playback.advance(now);
      this.#showPlaying();
      this.stage?.render();
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // ---------------------------------------------------------------- what is shown

  async load() {
    this.model = await this.source.model();
    const columns = await this.source.columns(0);
    const { header, arrays } = this.model;
    this.d = header.d;
    for (const plot of this.plots) plot.d = this.d;
    this.run = header.run;
    const births = arrays.birth.filter((t) => t > -Infinity);
    this.birthRange = births.length ? [births.reduce((a, b) => Math.min(a, b)), births.reduce((a, b) => Math.max(a, b))] : [0, 1];
    this.stage?.renderer.dispose();
    this.stage ??= new Stage(at("stage"), this.d);
    if (this.stage.d !== this.d) return location.reload();
    this.group?.removeFromParent();
    this.group = new THREE.Group();
    this.stage.scene.add(this.group);
    this.bodies = new Bodies(this.model, this.group, this.stage.isSoftware);
    this.skins = new Skins(this.model, this.group);
    this.contacts = new Contacts(this.model, this.group);
    addFields(this.skins.told);
    this.#offerColours();
    this.#setFloors();
    this.stage.setBounds(header.low, header.high);
    this.#paint();
    document.title = `${header.name} – Clapas`;
    at("name").textContent = header.name;
    at("version").textContent = header.clapas;
    at("help-what").textContent = `A run of ${count(header.names.length - header.carriers)} bodies in ${header.d}-D, in time steps of ${number(header.dt)} s; one in ${header.every} steps was kept.`;
    if (this.d === 2) at("hint").textContent = at("hint").textContent.replace("turn", "move");
    at("presets").hidden = this.d === 2;
    at("views").hidden = this.d === 2;
    at("slice-z").parentElement.hidden = this.d === 2;
    this.playback.forget();
    this.columns = null;
    this.#take(columns);
    this.#layout();
    this.stage.look("free");
    this.#chooseSpeed();
    marks.value = at("marks").checked ? 1 : 0;
    if (checked("forces") !== "none") this.#setOpacity(GLASS);
    await this.playback.open(this.source.isLive && this.isGrowing() ? this.playback.n - 1 : this.#telling());
    this.#forgive();
    told.ready = "yes";
  }

  // The frame to open on: where most contacts are, the last of those. Playing begins at the start.
  #telling() {
    const { contacts } = this.columns;
    let best = contacts.length - 1;
    for (let k = best; k >= 0; k -= 1) if (contacts[k] > contacts[best]) best = k;
    return best;
  }

  // Rounding is no motion: scales start at a hundredth of what falling by one's own size gives.
  #setFloors() {
    const size = this.contacts.size;
    const gravity = Math.hypot(...this.model.header.gravity);
    const speed = 0.01 * Math.sqrt(gravity * size);
    this.scale.top = { speed, greys: speed, spin: speed / size };
  }

  #take(columns) {
    if (!this.columns) this.columns = { ...columns, fall: [] };
    else for (const [name, values] of Object.entries(columns)) if (Array.isArray(values)) this.columns[name].push(...values);
    const { potential } = this.columns;
    this.columns.fall = potential.map((e) => (e === null ? null : e - potential[0]));
    this.playback.times = this.columns.time;
    at("time").max = this.playback.n - 1;
    told.frames = this.playback.n;
  }

  showFrame(frame, index) {
    this.frame = complete(frame);
    this.#forgive();
    this.redraw();
    at("time").value = index;
    at("facts").textContent = `${count(this.frame.alive - this.model.header.carriers)} bodies, ${count(this.frame.contacts)} contacts`;
    at("clock").innerHTML = `<b>${number(frame.header.time)} s</b> &nbsp;${index + 1} / ${this.playback.n}`;
    told.frame = index;
    for (const plot of this.plots) plot.draw(this.columns, index);
  }

  redraw() {
    if (!this.frame) return;
    const mode = at("colour").value;
    const colours = bodyColours(this, mode, this.scale);
    if (this.selected?.body < this.frame.alive) colours.set(HIGHLIGHT, 3 * this.selected.body);
    const isShown = this.#slice();
    this.bodies.update(this.frame, colours, isShown.body);
    const { field } = MODES[mode];
    if (field) this.scale.seeField(mode, this.skins.values(this.frame, field));
    this.skins.update(this.frame, MODES[mode], this.scale.range(mode, this));
    this.contacts.thickness = 2 ** (2 * at("thickness").value);
    this.contacts.update(this.frame, checked("forces"), at("points").checked, isShown.contact);
    drawLegend(at("legend"), mode, this, this.scale);
    at("top-row").hidden = !MODES[mode].ramp || Boolean(MODES[mode].range);
    at("top-unit").textContent = unitOf(mode);
    at("force-legend").hidden = checked("forces") === "none";
    this.#census();
    this.#describeSelection();
    this.stage.invalidate();
  }

  // Which bodies and contacts are in the slice.
  #slice() {
    const axis = checked("slice");
    if (axis === "none") return { body: () => true, contact: () => true };
    const { low, high, origin } = this.model.header;
    const k = Number(axis);
    const size = high[k] - low[k];
    const middle = low[k] + size * Number(at("slice-place").value);
    const half = (size * Number(at("slice-thickness").value)) / 2;
    at("slice-note").textContent =
      `Bodies whose centre has ${"xyz"[k]} between ${number(middle - half + origin[k], 3)} and ${number(middle + half + origin[k], 3)} m.`;
    const { position, point } = this.frame.arrays;
    const { movable, reach } = this.model.arrays;
    const isIn = (x) => Math.abs(x - middle) <= half;
    return {
      body: (body) => isIn(position[3 * body + k]) || (!movable[body] && reach[body] > 4 * this.contacts.size),
      contact: (contact) => isIn(point[3 * contact + k]),
    };
  }

  #census() {
    const { mode } = this.frame.arrays;
    const numbers = [0, 0, 0];
    for (const m of mode) numbers[m] += 1;
    const share = (n) => (mode.length ? ` (${number((100 * n) / mode.length, 2)} %)` : "");
    const rows = [["sticking", STICKING, 1], ["sliding", SLIDING, 2], ["carrying nothing", OPEN, 0]].map(
      ([name, colour, m]) => [dotted(name, colour), count(numbers[m]) + share(numbers[m])],
    );
    const strongest = this.strongest();
    if (strongest >= 0) {
      const button = document.createElement("button");
      button.textContent = `${number(measured(this.frame).normal[strongest], 3)} ${perDepth("N", this.d)}`;
      button.title = "Show the contact that carries most";
      button.id = "largest";
      button.addEventListener("click", () => this.select({ contact: strongest }));
      rows.push(["largest force", button]);
    }
    fill(at("census"), rows);
  }

  strongest() {
    let found = -1, most = 0;
    measured(this.frame).normal.forEach((force, k) => {
      if (force > most) [found, most] = [k, force];
    });
    return found;
  }

  // ---------------------------------------------------------------- picking

  select(what) {
    this.selected = what;
    this.pair = null;
    if (what?.contact >= 0) {
      const { a, b, point } = this.frame.arrays;
      this.pair = { a: a[what.contact], b: b[what.contact], point: point.slice(3 * what.contact, 3 * what.contact + 3) };
    }
    this.redraw();
  }

  #describeSelection() {
    const chosen = this.selected;
    if (chosen && this.pair) chosen.contact = this.#sameContact();
    const isBody = chosen?.body < this.frame.alive;
    const isContact = chosen?.contact >= 0;
    at("selection").hidden = !chosen;
    this.contacts.unpick();
    if (!chosen) return;
    at("selected-note").textContent = "";
    if (isBody) {
      at("selected-name").textContent = nameOf(this.model, chosen.body);
      fill(at("selected-rows"), bodyRows(this, chosen.body));
    } else if (isContact) {
      at("selected-name").textContent = "Contact";
      fill(at("selected-rows"), contactRows(this, chosen.contact));
      at("selected-note").textContent = "The cone holds all forces that friction allows; on it the contact slides.";
      this.contacts.pick(this.frame, chosen.contact, getComputedStyle(document.documentElement).getPropertyValue("--ink").trim());
    } else {
      fill(at("selected-rows"), []);
      at("selected-note").textContent = this.pair ? "No contact at this time." : "Not there at this time.";
    }
  }

  // The picked contact in another frame: of the same two bodies, the point nearest to where it was.
  #sameContact() {
    const { a, b, point } = this.frame.arrays;
    let found = -1, least = Infinity;
    for (let k = 0; k < this.frame.contacts; k += 1) {
      if (a[k] !== this.pair.a || b[k] !== this.pair.b) continue;
      const far = Math.hypot(...[0, 1, 2].map((i) => point[3 * k + i] - this.pair.point[i]));
      if (far < least) [found, least] = [k, far];
    }
    return found; // −1 if they do not touch now
  }

  #pick(event) {
    if (!this.frame) return;
    const ray = this.stage.ray(event.clientX, event.clientY);
    const meet = (meshes) => ray.intersectObjects(meshes.filter((mesh) => mesh.visible && mesh.material.visible), false)[0];
    const contact = meet(this.contacts.targets);
    const isSolid = Number(at("opacity").value) > 0.6;
    const [bodies, walls] = this.bodies.targets;
    const body = meet(bodies);
    if (contact && !(isSolid && body && body.distance < contact.distance - 0.5 * this.contacts.size)) {
      return this.select({ contact: contact.object.userData.contactOf(contact) });
    }
    const hit = body || meet(walls);
    return this.select(hit ? { body: hit.object.userData.bodyOf(hit) } : null);
  }

  // ---------------------------------------------------------------- time

  seek(share) {
    const { time } = this.columns;
    const wanted = time[0] + share * (time.at(-1) - time[0]);
    let nearest = 0;
    time.forEach((t, k) => {
      if (Math.abs(t - wanted) < Math.abs(time[nearest] - wanted)) nearest = k;
    });
    this.go(nearest);
  }

  go(index) {
    this.playback.pause();
    this.setFollowing(false);
    this.playback.show(index);
  }

  togglePlay() {
    if (this.playback.playing) this.playback.pause();
    else this.setFollowing(false), this.playback.play();
  }

  #showPlaying() {
    const { playing } = this.playback;
    if (this.wasPlaying === playing) return;
    this.wasPlaying = playing;
    at("play").classList.toggle("playing", playing);
    at("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  #chooseSpeed() {
    const { time } = this.columns;
    const whole = time.at(-1) - time[0];
    const best = SPEEDS.find((speed) => whole / speed >= PLAYING) || SPEEDS.at(-1);
    at("speed").value = String(best);
    this.playback.speed = best;
  }

  // Looks for new frames, for another run in the same file, and for the file itself.
  async #follow() {
    for (;;) {
      await new Promise((wake) => setTimeout(wake, POLL));
      try {
        const columns = await this.source.columns(this.playback.n);
        if (columns.run !== this.run) await this.load();
        else if (columns.n > this.playback.n) {
          this.#take(columns);
          this.grew = performance.now();
          if (this.following) await this.playback.show(this.playback.n - 1);
          else for (const plot of this.plots) plot.draw(this.columns, this.playback.index);
        }
        if (this.problem) this.#forgive();
      } catch (error) {
        this.complain(error);
      }
      at("live").hidden = !this.isGrowing();
    }
  }

  isGrowing() {
    const end = this.model?.header.duration;
    const isShort = end && this.columns.time.at(-1) < end * (1 - 1e-9) - this.model.header.dt * this.model.header.every;
    return performance.now() - (this.grew ?? -Infinity) < 15000 || (Boolean(isShort) && this.grew !== undefined);
  }

  setFollowing(isOn) {
    this.following = isOn;
    at("live").classList.toggle("on", isOn);
    if (isOn) this.playback.pause(), this.playback.show(this.playback.n - 1);
  }

  // ---------------------------------------------------------------- looks

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    store("theme", theme);
    this.#paint();
    if (this.columns) for (const plot of this.plots) plot.draw(this.columns, this.playback.index);
  }

  #paint() {
    if (!this.stage) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.stage.setBackground(colour("--scene"));
    this.bodies.paintWalls({ ground: colour("--floor"), wall: colour("--wall"), line: colour("--wall-line") }, Number(at("walls").value));
  }

  #layout() {
    const panel = at("panel");
    this.stage?.setHidden(document.body.classList.contains("bare") ? 0 : panel.offsetWidth + 14);
  }

  savePicture() {
    const link = document.createElement("a");
    link.href = this.stage.picture();
    link.download = `${this.model.header.name.replace(/\.[^.]*$/, "")}-${this.playback.index}.png`;
    link.click();
  }

  complain(error) {
    this.problem = error;
    at("message-title").textContent = /waiting/.test(error.message) ? "Waiting for the run" : "Nothing to show";
    at("message-text").textContent = error.message;
    at("message").hidden = false;
    told.problem = error.message;
  }

  #forgive() {
    this.problem = null;
    at("message").hidden = true;
    delete told.problem;
  }

  // ---------------------------------------------------------------- what a person does

  #listen() {
    this.#offerColours();
    for (const speed of SPEEDS) at("speed").append(new Option(speed === 1 ? "real time" : `× ${speed}`, speed));
    for (const [name, { title }] of Object.entries(PRESETS)) {
      const button = document.createElement("button");
      button.textContent = title;
      button.addEventListener("click", () => this.stage.look(name));
      at("presets").append(button);
    }
    at("mobilised").style.background = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((x) => css(MOBILISED(x))).join(", ")})`;
    const on = (id, kind, act) => at(id).addEventListener(kind, act);
    for (const id of ["thickness", "points", "slice-place", "slice-thickness", "slice"]) on(id, "input", () => this.redraw());
    on("colour", "input", () => {
      at("top").value = this.scale.fixed[at("colour").value] ?? "";
      this.redraw();
    });
    on("top", "input", () => {
      const value = Number(at("top").value.replace("−", "-"));
      this.scale.fixed[at("colour").value] = value > 0 ? value : undefined;
      this.redraw();
    });
    on("forces", "input", () => this.#uncover());
    on("opacity", "input", () => this.#setOpacity(Number(at("opacity").value)));
    on("walls", "input", () => this.#paint());
    on("marks", "input", () => {
      marks.value = at("marks").checked ? 1 : 0;
      this.stage.invalidate();
    });
    on("first", "click", () => this.go(0));
    on("last", "click", () => this.go(this.playback.n - 1));
    on("previous", "click", () => this.go(this.playback.wanted - 1));
    on("next", "click", () => this.go(this.playback.wanted + 1));
    on("play", "click", () => this.togglePlay());
    on("time", "input", () => this.go(Number(at("time").value)));
    on("speed", "input", () => (this.playback.speed = Number(at("speed").value)));
    on("live", "click", () => this.setFollowing(!this.following));
    on("deselect", "click", () => this.select(null));
    on("help-button", "click", () => at("help").showModal());
    on("theme-button", "click", () => this.#toggleTheme());
    on("panel-button", "click", () => this.#togglePanel());
    on("curves", "toggle", () => this.columns && this.plots.forEach((plot) => plot.draw(this.columns, this.playback.index)));
    recall();
    remember();
    this.#listenToClicks();
    document.addEventListener("keydown", (event) => this.#key(event));
    setTimeout(() => at("hint").classList.add("gone"), 12000);
  }

  // The ways to colour, kept as they were chosen if it is still there; what deforms is shown by its first field.
  #offerColours() {
    const chosen = at("colour").value && at("colour").value !== "speed" ? at("colour").value : stored("colour");
    at("colour").replaceChildren(...Object.entries(MODES).map(([name, { title }]) => new Option(title, name)));
    const field = Object.keys(MODES).find((name) => MODES[name].field);
    at("colour").value = MODES[chosen] && chosen !== "speed" ? chosen : field || "speed";
  }

  #listenToClicks() {
    let down = null;
    at("stage").addEventListener("pointerdown", (event) => (down = event));
    at("stage").addEventListener("pointerup", (event) => {
      if (down && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < 4 && event.button === 0) this.#pick(event);
    });
  }

  // Forces are inside: bodies become glass when they are asked for, and solid again.
  #uncover() {
    store("forces", checked("forces"));
    this.#setOpacity(checked("forces") === "none" ? 1 : GLASS);
    this.redraw();
  }

  #setOpacity(opacity) {
    at("opacity").value = opacity;
    this.bodies.setOpacity(opacity);
    this.skins.setOpacity(opacity);
    this.stage.invalidate();
  }

  #toggleTheme() {
    this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  }

  #togglePanel() {
    document.body.classList.toggle("bare");
    this.#layout();
  }

  #key(event) {
    if (event.target.matches?.("input[type=text], select") || at("help").open || !this.frame) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? 10 : 1;
    const keys = {
      " ": () => this.togglePlay(),
      ArrowLeft: () => this.go(this.playback.wanted - step),
      ArrowRight: () => this.go(this.playback.wanted + step),
      Home: () => this.go(0),
      End: () => this.go(this.playback.n - 1),
      Escape: () => this.select(null),
      b: () => this.#togglePanel(),
      "?": () => at("help").showModal(),
      h: () => at("help").showModal(),
      f: () => this.stage.fit(),
      d: () => this.#toggleTheme(),
      s: () => this.savePicture(),
      c: () => this.#cycle(at("colour")),
      p: () => (at("points").click()),
      v: () => this.#nextForces(),
    };
    Object.keys(PRESETS).forEach((name, k) => (keys[String(k + 1)] = () => this.stage.look(name)));
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #cycle(select) {
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    select.dispatchEvent(new Event("input"));
  }

  #nextForces() {
    const choices = [...document.querySelectorAll('input[name="forces"]')];
    choices[(choices.findIndex((choice) => choice.checked) + 1) % choices.length].checked = true;
    this.#uncover();
  }

  // Pixels at which the centre of a body is seen.
  screenOf(body) {
    return this.stage.project(this.frame.arrays.position.subarray(3 * body, 3 * body + 3));
  }
}

// Counts that follow from a frame.
function complete(frame) {
  if (frame.touching) return frame;
  const { arrays } = frame;
  frame.alive = arrays.position.length / 3;
  frame.contacts = arrays.a.length;
  frame.touching = new Int32Array(frame.alive);
  frame.slidingOn = new Int32Array(frame.alive);
  for (let k = 0; k < frame.contacts; k += 1) {
    if (arrays.mode[k] === 0) continue; // near, but carries nothing
    for (const body of [arrays.a[k], arrays.b[k]]) {
      frame.touching[body] += 1;
      if (arrays.mode[k] === 2) frame.slidingOn[body] += 1;
    }
  }
  return frame;
}

function dotted(name, colour) {
  const label = document.createElement("span");
  const dot = document.createElement("i");
  dot.style.background = colour;
  label.append(dot, name);
  return label;
}

window.clapas = new Page();
window.clapas.start();
