// Where the data come from: the server of `clapas view`, or this very page if it was exported.

import { unpack } from "./packing.js";

export function openSource() {
  return document.getElementById("data-model") ? new EmbeddedSource() : new ServerSource();
}

class ServerSource {
  isLive = true;

  async model() {
    return unpack(await this.#bytes("model"));
  }

  async columns(first) {
    return (await this.#get(`columns?first=${first}`)).json();
  }

  async frame(index) {
    return unpack(await this.#bytes(`frame/${index}`));
  }

  async #bytes(what) {
    return (await this.#get(what)).arrayBuffer();
  }

  async #get(what) {
    let answer;
    try {
      answer = await fetch(what, { cache: "no-store" });
    } catch {
      throw new Error("The viewer has stopped. Start it again with clapas view.");
    }
    if (!answer.ok) {
      const told = await answer.json().catch(() => ({}));
      throw new Error(told.error || `the viewer answered ${answer.status}`);
    }
    return answer;
  }
}

class EmbeddedSource {
  isLive = false;

  async model() {
    return unpack(await inflated("data-model"));
  }

  async columns() {
    return JSON.parse(document.getElementById("data-columns").textContent);
  }

  async frame(index) {
    return unpack(await inflated(`data-frame-${index}`));
  }
}

async function inflated(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
