// Writes the JavaScript of the package in the current folder into its dist: the modules of src joined into one file for
// each entry, one for each part that is imported late, and what these share. A command starts several times faster from
// a few files than from some hundreds. Types are the compiler's, which has checked the sources and writes no code here.
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { rolldown } from "rolldown";

//
// With `--whole` all packages are joined in that are not among `dependencies`, those of the workspace from their sources: for
// a host that copies each package that a plugin loads.
const source = "@memslot/source";
const folder = process.cwd();
const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
const isWhole = process.argv.includes("--whole");
const nodeImport =
  /^import (?:(?<whole>[\w$]+)|\* as (?<all>[\w$]+)|(?:(?<first>[\w$]+), )?\{(?<names>[^}\n]*)\}) from "(?<id>node:[^"\n]+)";$/gmu;

/** Modules of Node that most commands end without: each is loaded when a function or a class of it is first used. */
const late = /^node:(?:child_process|net|worker_threads)$/u;
const whenUsed = `function whenUsed$(load) {
  return new Proxy(function () {}, {
    get: (_, name) => load()[name],
    apply: (_, self, given) => Reflect.apply(load(), self, given),
    construct: (_, given, made) => Reflect.construct(load(), given, made)
  });
}`;

const bundle = await rolldown({
  cwd: folder,
  input: entriesOf(manifest),
  platform: "node",
  preserveEntrySignatures: "allow-extension",
  external: isPackage,
  ...(isWhole && { resolve: { conditionNames: [source, "node", "import", "module", "default"] } }),
  plugins: [
    { name: "places", transform: refuseNestedPlaces },
    { name: "facades", renderChunk: withoutFacades },
    { name: "ascii", renderChunk: inAscii },
  ],
  onLog: (_level, log) => {
    throw new Error(`${manifest.name}: ${log.message}`);
  },
});
for (const file of codeIn("dist")) rmSync(file);
const { output } = await bundle.write({
  dir: path.join(folder, "dist"),
  format: "esm",
  entryFileNames: "[name].js",
  // All directly in dist, as sources with paths of their own are directly in src.
  chunkFileNames: "[name].part.js",
  // Stack traces name functions and lines that can be read.
  minify: false,
  comments: false,
  // A file of one other letter is decoded, kept and looked up by two bytes for each.
  charset: "ascii",
  ...(!isWhole && {
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: sharedPart, debugName: "shared" }],
    },
  }),
});
await bundle.close();
const licenses = licensesOf(output);
if (licenses !== "") writeFileSync(path.join(folder, "dist/LICENSES.txt"), licenses);

/** Every file that another package names: those of `exports` and `imports`, and the command. */
function entriesOf({ exports, imports = {}, bin }) {
  const places = [...Object.values(exports), ...Object.values(imports)].filter((place) => place[source] !== undefined);
  const entries = places.map((place) => [place.default.replace(/^\.\/dist\/(.*)\.js$/u, "$1"), place[source]]);
  if (bin !== undefined) entries.push(["cli", "./src/cli.ts"]);
  const own = entries.map(([name, file]) => [name, path.join(folder, file)]);
  return Object.fromEntries(isWhole ? [...own, ...threadsOf(imports)] : own);
}

/** What joined packages name by `#name`, threads mostly: each has to stand in the `imports` of this one. */
function threadsOf(own) {
  const packages = Object.keys(manifest.devDependencies).filter((name) =>
    /^@memslot\/(?!fakes|test-tools|testkit)/u.test(name),
  );
  return packages.flatMap((name) => {
    const place = realpathSync(path.join(folder, "node_modules", name));
    const { imports = {} } = JSON.parse(readFileSync(path.join(place, "package.json"), "utf8"));
    return Object.entries(imports).map(([id, { [source]: file }]) => {
      const built = own[id];
      if (built === undefined) throw new Error(`${manifest.name}: ${id} of ${name} is missing in "imports"`);
      return [path.basename(built, ".js"), path.join(place, file)];
    });
  });
}

/** Writes what the joiner has left: letters in `String.raw`, where an escape would be read as it stands. */
function inAscii(code) {
  return code.replaceAll(/[^\p{ASCII}]+/gu, (letters) => `\${${escaped(letters)}}`);
}

function escaped(letters) {
  const units = letters.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `"${units.join("")}"`;
}

/** The licences of all packages from elsewhere that were joined in, which have to go with their code. */
function licensesOf(output) {
  const modules = output.flatMap((part) => part.moduleIds ?? []).map((id) => id.replaceAll("\\", "/"));
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(id) ?? []);
  const texts = [...new Set(folders)].toSorted().map((place) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(place, "package.json"), "utf8"));
    const files = readdirSync(place).filter(
      (file) =>
        /^(?:third_party_)?(?:licen[sc]es?|notices?|copying)(?:\.(?:md|txt))?$/iu.test(file) &&
        statSync(path.join(place, file)).isFile(),
    );
    const words = files.map((file) => readFileSync(path.join(place, file), "utf8").trim());
    return [`${name} ${version} (${license})`, ...words].join("\n\n");
  });
  return texts.length === 0 ? "" : `${texts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

/** Whether something is imported as it is: Node's own modules, and packages that are installed beside this one. */
function isPackage(id) {
  if (isBuiltin(id)) return true;
  const { dependencies = {}, peerDependencies = {} } = manifest;
  return Object.keys({ ...dependencies, ...peerDependencies }).some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * Takes Node's modules by a call: an import makes a module with all their exports first, and some of these load others:
 * `node:util` and `node:crypto` brought threads, differences and web crypto into each command. Imports stand at the
 * beginning of a file; what looks like one further down is a text for another program.
 */
function withoutFacades(code) {
  const [head] = /^(?:(?:import |\/\/).*\n|\n)*/u.exec(code);
  const called = head.replaceAll(nodeImport, byCall);
  return (called.includes("whenUsed$(") ? `${called}${whenUsed}\n` : called) + code.slice(head.length);
}

function byCall(...found) {
  const { whole, all, first, names, id } = found.at(-1);
  const module = `globalThis.process.getBuiltinModule("${id}")`;
  const one = whole ?? all ?? first;
  if (late.test(id)) return byLateCalls(id, one, names);
  return [
    ...(one === undefined ? [] : [`const ${one} = ${module};`]),
    ...(names === undefined ? [] : [`const {${names.replaceAll(" as ", ": ")}} = ${module};`]),
  ].join(" ");
}

/** What is no function, such as the port of a thread, is taken at once. */
function byLateCalls(id, one, names = "") {
  const module = `globalThis.process.getBuiltinModule("${id}")`;
  const members = names.split(",").flatMap((name) => (name === "" ? [] : [name.trim().split(" as ")]));
  const parts = members.map(([name, local = name]) => {
    const isFunction = typeof process.getBuiltinModule(id)[name] === "function";
    return `const ${local} = ${isFunction ? `whenUsed$(() => ${module}.${name})` : `${module}.${name}`};`;
  });
  return [...(one === undefined ? [] : [`const ${one} = whenUsed$(() => ${module});`]), ...parts].join(" ");
}

/** A path from `import.meta.url` would mean another place in the joined file. */
function refuseNestedPlaces(code, id) {
  if (id.includes(`${path.sep}node_modules${path.sep}`)) return;
  const isNested = isWhole ? path.basename(path.dirname(id)) !== "src" : path.dirname(id) !== path.join(folder, "src");
  if (isNested && /new URL\((?!import\.meta\.resolve)[^)]*import\.meta|import\.meta\.(?:dirname|filename)/u.test(code))
    throw new Error(`${id}: only a file directly in src may make a path of import.meta.url; ask one that is`);
}

/**
 * The part for a module that several commands share, so that a command does not load a file for each: together with the
 * others that bring the same packages along. Undefined for one of a single command, and for one that brings a command.
 */
function sharedPart(id, bundle) {
  const isRoot = (each) => {
    const info = bundle.getModuleInfo(each);
    return info !== null && (info.isEntry || info.dynamicImporters.length > 0);
  };
  const below = closureOf(id, (each) => bundle.getModuleInfo(each)?.importedIds ?? []);
  const above = closureOf(id, (each) => bundle.getModuleInfo(each)?.importers ?? []);
  if (below.some(isRoot) || above.filter(isRoot).length < 2) return undefined;
  // The command prints its help and its version with the main entry of the core alone; all else that it does needs these.
  const forHosts = /^@memslot\/(?:core\/.*|indexing\/host)$/u;
  const packages = manifest.bin ? below.map((each) => each.replace(forHosts, "@memslot/indexing/host")) : below;
  const brought = packages.filter((each) => !path.isAbsolute(each) && !/^(?:node:|@memslot\/core)/u.test(each));
  return ["shared", ...new Set(brought.toSorted())].join("-").replaceAll(/[^a-z]+/gu, "-");
}

/** A module and all that can be reached from it. */
function closureOf(id, next) {
  const found = new Set([id]);
  for (const each of found) for (const other of next(each)) found.add(other);
  return [...found];
}

function codeIn(name) {
  if (!existsSync(name)) return [];
  return readdirSync(name, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js"))
    .map((file) => path.join(name, file));
}
