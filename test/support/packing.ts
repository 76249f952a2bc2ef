import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { withBuild } from "@memslot/test-tools/build";
import { manifestAt, publishedPlaces, root } from "./repository.ts";
import { run, tryCommand } from "./run-command.ts";

/** Builds everything and packs what is published, as a release does. */
export async function packAll(target: string): Promise<ReadonlyMap<string, PackedPackage>> {
  mkdirSync(target, { recursive: true });
  return await withBuild(async () => {
    const packed = new Map<string, PackedPackage>();
    for (const place of publishedPlaces) packed.set(place, await pack(path.join(root, place), target));
    return packed;
  });
}

/** Packs one package folder. */
async function pack(folder: string, target: string): Promise<PackedPackage> {
  const { stdout } = await run("pnpm", ["--dir", folder, "pack", "--json", "--pack-destination", target], {
    cwd: root,
  });
  const { filename } = JSON.parse(stdout) as { filename: string };
  return readPackedPackage(path.resolve(target, filename));
}

/** The fields of a packed package.json that are checked here. */
interface PackedManifest {
  name: string;
  version: string;
  license?: string;
  type?: string;
  files?: string[];
  sideEffects?: boolean;
  bin?: Record<string, string>;
  exports?: Record<string, unknown>;
  imports?: Record<string, unknown>;
  engines?: { node?: string };
  publishConfig?: { access?: string };
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface PackedPackage {
  readonly name: string;
  readonly manifest: PackedManifest;
  /** The tarball's path, its name alone and what it holds. */
  readonly tarball: string;
  readonly fileName: string;
  readonly bytes: Buffer;
  /** The text of each file by its path below the package. */
  readonly files: ReadonlyMap<string, string>;
}

export function readPackedPackage(tarball: string): PackedPackage {
  const bytes = readFileSync(tarball);
  const files = readTar(gunzipSync(bytes));
  const manifest = JSON.parse(files.get("package.json") ?? "{}") as PackedManifest;
  return { name: manifest.name, manifest, tarball, fileName: path.basename(tarball), bytes, files };
}

/** What a registry says of a package with this one version. */
export function packumentOf({ name, manifest, bytes }: PackedPackage, tarball: string): Record<string, unknown> {
  const { version } = manifest;
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const shasum = createHash("sha1").update(bytes).digest("hex");
  // Package managers hold back what was published in the last days.
  const published = "2026-01-01T00:00:00.000Z";
  return {
    _id: name,
    name,
    "dist-tags": { latest: version },
    time: { created: published, modified: published, [version]: published },
    versions: { [version]: { ...manifest, _id: `${name}@${version}`, dist: { integrity, shasum, tarball } } },
  };
}

/** The files of a tar archive (POSIX.1-1988 ustar, which is what package managers write for names this short). */
function readTar(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  const text = (start: number, length: number): string =>
    archive.toString("utf8", start, start + length).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const name = [text(at + 345, 155), text(at, 100)].filter(Boolean).join("/");
    const regular = ["", "0"].includes(text(at + 156, 1));
    if (regular) files.set(name.replace(/^[^/]+\//, ""), archive.toString("utf8", at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** Files that a published package must not hold. */
export function strayFiles({ files }: PackedPackage): string[] {
  const stray = /\.tsbuildinfo$|\.test\.|(^|\/)(src|test|tests|node_modules)\/|(?<!\.d)\.[cm]?tsx?$|\.map$/;
  // Text that `memslot plugins new` copies; nothing imports it.
  const isTemplate = (file: string): boolean => file.startsWith("templates/");
  return [...files.keys()].filter((file) => stray.test(file) && !isTemplate(file));
}

/** Built files whose source is gone: left in `dist` by an earlier build. Joined parts have many sources. */
export function orphans(place: string, { files }: PackedPackage): string[] {
  // A thread of another package that was joined in: it has no source here.
  const joined = Object.values(manifestAt(place).imports ?? {});
  return [...files.keys()].filter((file) => {
    const match = /^dist\/(.+?)(\.d\.ts|(?<!\.part)\.js)$/.exec(file);
    // The page of the browser is joined by another tool, which empties its folder first.
    if (file.startsWith("dist/page/") || joined.includes(`./${file}`)) return false;
    return match !== null && !existsSync(path.join(root, place, "src", `${match[1]}.ts`));
  });
}

/** Files that the `imports` of a published package name and that are not in it. */
export function missingImports({ files, manifest }: PackedPackage): string[] {
  const named = Object.values(manifest.imports ?? {}).filter((place) => typeof place === "string");
  return named.filter((place) => !files.has(place.replace("./", "")));
}

/** `import "x"`, `import … from "x"` and `export … from "x"`, `import("x")`. */
const importForms = [
  /^import\s+["']([^"']+)["']/gm,
  /^(?:import|export)\b[^"'`;=]*?\bfrom\s+["']([^"']+)["']/gm,
  /\bimport\(\s*["']([^"']+)["']\s*\)/g,
];

function importsOf(text: string): string[] {
  return importForms.flatMap((form) => [...text.matchAll(form)].map(([, specifier = ""]) => specifier));
}

/** The types of the entries of a package, and those that these import. */
function typesFor(files: ReadonlyMap<string, string>, exports: unknown): string[] {
  const met = new Set(JSON.stringify(exports ?? {}).match(/dist\/[^"]+\.d\.ts/g) ?? []);
  for (const file of met)
    for (const specifier of importsOf(files.get(file) ?? ""))
      if (specifier.startsWith("."))
        met.add(path.posix.join(path.posix.dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts")));
  return [...met].map((file) => files.get(file) ?? `import "${file}, which is missing"`);
}

/** Packages that the built code or its types import and that package.json does not name. */
export function undeclaredImports({ name, files, manifest }: PackedPackage): string[] {
  const declared = new Set([
    name,
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}),
  ]);
  const code = [...files].filter(([file]) => file.endsWith(".js")).map(([, text]) => text);
  const found = new Set([...code, ...typesFor(files, manifest.exports)].flatMap(importsOf));
  return [...found]
    .filter((specifier) => !/^(\.|#|node:)/.test(specifier) && !builtinModules.includes(specifier))
    .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    .filter((wanted) => !declared.has(wanted));
}

/**
 * What makes a joined file slow to start from, in a package that is joined: an import of one of Node's modules, a letter outside ASCII.
 * What was joined in from elsewhere goes with its licence.
 */
export function unjoined(each: PackedPackage): string[] {
  if (!isJoined(each)) return [];
  const { files } = each;
  const code = [...files].filter(([file]) => /^dist\/(?!page\/).+\.js$/.test(file));
  return code.flatMap(([file, text]) => [
    ...(/^(?:(?:import |\/\/).*\n|\n)*import [^"\n]*"node:/.test(text) ? [`${file} imports a module of Node`] : []),
    ...(/[^\p{ASCII}]/u.test(text) ? [`${file} is not all ASCII`] : []),
    ...(/^\/\/ .*node_modules\//m.test(text) && !files.has("dist/LICENSES.txt")
      ? [`${file} has no licence with it`]
      : []),
  ]);
}

/** Whether a package's modules are joined when it is built. */
export function isJoined({ manifest }: PackedPackage): boolean {
  return manifest.scripts?.["build"]?.includes("join-modules") ?? false;
}

/** A manifest's `exports` or `imports` without the condition under which this repository runs its sources. */
export function withoutSources(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { "@memslot/source": _source, ...rest } = value as Record<string, unknown>;
  const entries = Object.entries(rest).map(([key, each]) => [key, withoutSources(each)] as const);
  const [only] = entries;
  return entries.length === 1 && only?.[0] === "default" ? only[1] : Object.fromEntries(entries);
}

/** What publint says against a tarball, its suggestions included; empty when there is nothing. */
export async function publint({ tarball }: PackedPackage): Promise<string> {
  const program = path.join(root, "node_modules/publint/src/cli.js");
  const { exitCode, stdout, stderr } = await tryCommand(
    process.execPath,
    [program, "run", "--strict", "--level", "suggestion", tarball],
    { cwd: root },
  );
  return exitCode === 0 && stdout.includes("All good!") ? "" : `${stdout}${stderr}`;
}

/**
 * What are-the-types-wrong says against a tarball; empty when there is nothing. The profile leaves out what cannot be
 * had: the packages are ES modules alone (`require` of them works, on every Node that they run on), and resolution as
 * in Node 10 knows no `exports`.
 */
export async function wrongTypes({ tarball }: PackedPackage): Promise<string> {
  const program = path.join(root, "node_modules/@arethetypeswrong/cli/dist/index.js");
  const { exitCode, stdout, stderr } = await tryCommand(
    process.execPath,
    [program, tarball, "--profile", "esm-only", "--format", "ascii", "--no-emoji", "--no-color"],
    { cwd: root },
  );
  return exitCode === 0 ? "" : `${stdout}${stderr}`;
}
