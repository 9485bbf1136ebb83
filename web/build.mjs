// One build: src/ to dist/ (or to the folder that is named), names with a hash of what they hold.
// SUMS lists what the program serves; it fails when the page has become too heavy.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const firstMax = 70_000, wholeMax = 150_000; // bytes packed: before the first view, and of all
const here = new URL(".", import.meta.url).pathname;
const out = process.argv[2] ?? here + "dist";
// What markdown-it brings and this page does not use: finding links without a scheme.
const unused = {
  name: "unused",
  setup(b) {
    b.onResolve({ filter: /^linkify-it$/ }, a => ({ path: a.path, namespace: "unused" }));
    b.onLoad({ filter: /.*/, namespace: "unused" }, () => ({
      contents: "export class LinkifyIt {} export default LinkifyIt;",
      loader: "js",
    }));
  },
};
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  outdir: out,
  metafile: true,
  plugins: [unused],
});
const made = readdirSync(out);
const named = (start, end) => made.find(n => n.startsWith(start) && n.endsWith(end));
const app = named("app-", ".js"), style = named("style-", ".css");
const needed = Object.entries(result.metafile.outputs)
  .find(([name]) => name.endsWith(app))[1]
  .imports.filter(i => i.kind === "import-statement")
  .map(i => i.path.split("/").pop());
const links = needed.map(n => `<link rel="modulepreload" href="/ui/${n}">\n`).join("");
const html = readFileSync(here + "src/index.html", "utf8")
  .replace("@APP@", app)
  .replace("@STYLE@", style)
  .replace("@PARTS@", links);
writeFileSync(out + "/index.html", html);
for (const name of ["icon.svg", "manifest.json"])
  writeFileSync(`${out}/${name}`, readFileSync(`${here}src/${name}`));

const packages = new Set(
  Object.keys(result.metafile.inputs)
    .map(n => n.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1])
    .filter(Boolean)
);
const licenses = [...packages].sort().map(name => {
  const folder = `${here}node_modules/${name}/`;
  const file = readdirSync(folder).find(n => /^licen[cs]e/i.test(n));
  const { version, license } = JSON.parse(readFileSync(folder + "package.json", "utf8"));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(folder + file, "utf8") : ""}`;
});
writeFileSync(out + "/LICENSES.txt", licenses.join("\n" + "-".repeat(80) + "\n"));

let first = 0, whole = 0, sums = "";
for (const name of readdirSync(out).filter(n => n !== "LICENSES.txt").sort()) {
  const bytes = readFileSync(`${out}/${name}`), packed = gzipSync(bytes, { level: 9 }).length;
  whole += packed;
  if ([app, style, "index.html", ...needed].includes(name)) first += packed;
  sums += createHash("sha256").update(bytes).digest("hex") + "  " + name + "\n";
}
writeFileSync(out + "/SUMS", sums);
console.log(`before the first view ${first}, all ${whole} bytes packed`);
if (first > firstMax || whole > wholeMax) {
  console.error(`too heavy: the limits are ${firstMax} and ${wholeMax}`);
  process.exit(1);
}
