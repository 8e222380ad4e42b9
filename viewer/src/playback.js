// Which frame is shown, and which are fetched: frames are asked for one by one, kept while there is
// room, and fetched ahead while playing.

const ROOM = 256e6; // bytes of frames kept
const AHEAD = 4; // frames asked for before they are needed

export class Playback {
  constructor(source, onFrame, onError) {
    Object.assign(this, { source, onFrame, onError });
    this.index = -1;
    this.times = [];
    this.playing = false;
    this.following = false;
    this.speed = 1;
    this.kept = new Map();
    this.asked = new Map();
    this.room = 0;
  }

  get n() {
    return this.times.length;
  }

  forget() {
    this.kept.clear();
    this.asked.clear();
    this.room = 0;
    this.times = [];
    this.index = -1;
  }

  // The first frame seen, from which playing does not go on but begins at the start.
  open(index) {
    const shown = this.show(index);
    this.opened = true;
    return shown;
  }

  async show(index) {
    if (this.n === 0) return;
    index = Math.max(0, Math.min(this.n - 1, index));
    this.opened = false;
    this.wanted = index;
    try {
      const frame = await this.#load(index);
      if (this.wanted !== index) return; // another was asked for meanwhile
      this.index = index;
      this.onFrame(frame, index);
    } catch (error) {
      if (this.wanted === index) this.onError(error);
    }
  }

  play() {
    if (this.playing || this.n < 2) return;
    if (this.opened || this.index >= this.n - 1) this.show(0);
    this.playing = true;
    this.clock = null;
  }

  pause() {
    this.playing = false;
  }

  // Called for every picture of the browser while playing.
  advance(now) {
    if (!this.playing) return;
    if (this.clock === null || this.wanted !== this.index) {
      this.clock = { now, time: this.times[Math.max(0, this.wanted)] }; // wait for what is on its way
      return;
    }
    const time = this.clock.time + ((now - this.clock.now) / 1000) * this.speed;
    let next = this.index;
    while (next < this.n - 1 && this.times[next + 1] <= time) next += 1;
    if (next === this.index) return;
    this.clock = { now, time };
    this.show(next);
    const stride = Math.max(1, next - this.index);
    for (let k = 1; k <= AHEAD; k += 1) {
      if (next + k * stride < this.n) this.#load(next + k * stride).catch(() => {});
    }
    if (next >= this.n - 1 && !this.following) this.playing = false;
  }

  async #load(index) {
    const here = this.kept.get(index);
    if (here) {
      this.kept.delete(index); // the most recently used comes last
      this.kept.set(index, here);
      return here;
    }
    if (!this.asked.has(index)) {
      const asked = this.source.frame(index).finally(() => this.asked.delete(index));
      this.asked.set(index, asked);
      asked.then((frame) => this.#keep(index, frame)).catch(() => {});
    }
    return this.asked.get(index);
  }

  #keep(index, frame) {
    if (index >= this.n) return;
    this.kept.set(index, frame);
    this.room += frame.arrays.position.buffer.byteLength;
    for (const [old, dropped] of this.kept) {
      if (this.room <= ROOM || this.kept.size < 3) break;
      this.kept.delete(old);
      this.room -= dropped.arrays.position.buffer.byteLength;
    }
  }
}
