// Builds the page: everything in one HTML file, so that it is served, exported and packaged as it is.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const source = (name) => readFileSync(join(here, "src", name), "utf8");
const target = join(here, "..", "src", "clapas", "viewer", "page", "viewer.html");

const bundled = await build({
  entryPoints: [join(here, "src", "main.js")],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  legalComments: "none", // the whole licence is in the page
  write: false,
});
const script = bundled.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

const styled = await build({ entryPoints: [join(here, "src", "style.css")], minify: true, write: false });

// A test compares this with the sources: a page that was not built anew is found.
const digest = createHash("sha256");
for (const name of readdirSync(join(here, "src")).sort()) digest.update(source(name));
digest.update(readFileSync(join(here, "package-lock.json"), "utf8"));

const licence = `three.js\n\n${readFileSync(join(here, "node_modules", "three", "LICENSE"), "utf8")}`.trim();
const parts = { style: styled.outputFiles[0].text.trim(), script, licence, sources: digest.digest("hex") };
const page = source("index.html").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
console.log(`${target}: ${(page.length / 1024).toFixed(0)} kB`);
