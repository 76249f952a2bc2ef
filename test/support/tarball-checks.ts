import { existsSync } from "node:fs";
import { builtinModules } from "node:module";
import path from "node:path";
import type { PackedPackage } from "./packed-package.ts";
import { manifestAt, root } from "./pack-all.ts";
import { tryCommand } from "./run-command.ts";

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

/** Packages that the built code or its types import and that package.json does not name. */
export function undeclaredImports({ name, files, manifest }: PackedPackage): string[] {
  const declared = new Set([
    name,
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}),
  ]);
  const found = new Set<string>();
  for (const [file, text] of files) {
    if (!/\.(js|d\.ts)$/.test(file)) continue;
    for (const form of importForms) for (const [, specifier = ""] of text.matchAll(form)) found.add(specifier);
  }
  return [...found]
    .filter((specifier) => !/^(\.|#|node:)/.test(specifier) && !builtinModules.includes(specifier))
    .map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier)
    .filter((wanted) => !declared.has(wanted));
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
