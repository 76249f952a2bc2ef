// Writes the JavaScript of the package in the current folder into its dist: the modules of src joined into one file for
// each entry, one for each part that is imported late, and what these share. A command starts several times faster from
// a few files than from some hundreds. Types are the compiler's, which has checked the sources and writes no code here.
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { rolldown } from "rolldown";

const source = "@memslot/source";
const folder = process.cwd();
const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));

const bundle = await rolldown({
  cwd: folder,
  input: entriesOf(manifest),
  platform: "node",
  // Other packages stay packages: they are shared, and may hold native code.
  external: (id) => !id.startsWith(".") && !path.isAbsolute(id),
  plugins: [{ name: "places", transform: refuseNestedPlaces }],
  onLog: (_level, log) => {
    throw new Error(`${manifest.name}: ${log.message}`);
  },
});
for (const file of codeIn("dist")) rmSync(file);
await bundle.write({
  dir: path.join(folder, "dist"),
  format: "esm",
  entryFileNames: "[name].js",
  // All directly in dist, as sources with paths of their own are directly in src.
  chunkFileNames: "[name].part.js",
  // Stack traces name functions, and regions name the sources.
  minify: false,
});
await bundle.close();

/** Every file that somebody outside names: those of `exports` and `imports`, and the command. */
function entriesOf({ exports, imports = {}, bin }) {
  const places = [...Object.values(exports), ...Object.values(imports)].filter((place) => place[source] !== undefined);
  const entries = places.map((place) => [place.default.replace(/^\.\/dist\/(.*)\.js$/u, "$1"), place[source]]);
  if (bin !== undefined) entries.push(["cli", "./src/cli.ts"]);
  return Object.fromEntries(entries.map(([name, file]) => [name, path.join(folder, file)]));
}

/** A path from `import.meta.url` would mean another place in the joined file. */
function refuseNestedPlaces(code, id) {
  const isNested = path.dirname(id) !== path.join(folder, "src");
  if (isNested && /new URL\((?!import\.meta\.resolve)[^)]*import\.meta|import\.meta\.(?:dirname|filename)/u.test(code))
    throw new Error(`${id}: only a file directly in src may make a path of import.meta.url; ask one that is`);
}

function codeIn(name) {
  if (!existsSync(name)) return [];
  return readdirSync(name, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js"))
    .map((file) => path.join(name, file));
}
