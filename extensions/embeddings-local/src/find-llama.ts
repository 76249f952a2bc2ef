import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import table from "./llama-builds.json" with { type: "json" };

/** The release that this package is made for; any other that `peerDependencies` allows is accepted. */
const version = "3.22.1";

/** Names of the builds, by platform and architecture. */
const builds: Readonly<Record<string, string>> = table;

export interface Machine {
  platform: string;
  arch: string;
  home: string;
}

export interface LlamaPlaces {
  stateDir: string;
  beside?: string | undefined;
  machine?: Machine | undefined;
}

export type FoundLlama =
  | { url: string }
  /** `why`: what is missing and the next step. `npm`: the arguments that install it; absent without a build. */
  | { missing: Sentence; why: Sentence; npm?: readonly string[] };

/** Finds node-llama-cpp beside this package, then in the state folder. Loads nothing. */
export function findLlama({ stateDir, beside, machine = thisMachine() }: LlamaPlaces): FoundLlama {
  const build = builds[`${machine.platform}-${machine.arch}`];
  const own = resolveFrom(beside ?? dirname(fileURLToPath(import.meta.url)), "node-llama-cpp");
  const entries = [own, resolveIn(stateDir, "node-llama-cpp")].filter((entry) => entry !== undefined);
  const usable = entries.find((entry) => hasBuild(entry, build));
  if (usable !== undefined) return { url: pathToFileURL(usable).href };
  const missing = sentence(entries.length === 0 ? "embedding.noLlama" : "embedding.noBuild");
  const lacking = (next: Sentence): { missing: Sentence; why: Sentence } => {
    return { missing, why: sentence("list.more", { left: missing, right: next }) };
  };
  if (build === undefined)
    return lacking(sentence("embedding.noBuildOf", { platform: machine.platform, arch: machine.arch }));
  const packages = [`node-llama-cpp@${version}`, `@node-llama-cpp/${build}@${version}`];
  const install = (prefix: string): string[] => {
    return ["install", "--prefix", prefix, ...packages, "--omit=optional", "--ignore-scripts"];
  };
  const next = sentence("embedding.npm", { arguments: install(shellPath(stateDir, machine)).join(" ") });
  return { ...lacking(next), npm: install(stateDir) };
}

function hasBuild(entry: string, build: string | undefined): boolean {
  if (build !== undefined && resolveFrom(dirname(entry), `@node-llama-cpp/${build}`) !== undefined) return true;
  // Compiled on this machine.
  return existsSync(join(dirname(entry), "..", "llama", "localBuilds"));
}

/** The entry of a package as `import` finds it from a folder: in the next `node_modules` above, and nowhere else. */
function resolveFrom(folder: string, name: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const entry = resolveIn(at, name);
    if (entry !== undefined || dirname(at) === at) return entry;
  }
}

function resolveIn(folder: string, name: string): string | undefined {
  if (!existsSync(join(folder, "node_modules", name))) return undefined;
  try {
    return createRequire(join(folder, "package.json")).resolve(name);
  } catch {
    return undefined; // It is incomplete, and cannot be loaded.
  }
}

function shellPath(path: string, { platform, home }: Machine): string {
  const inner = relative(home, path);
  const isPlain = /^[\w./@+-]+$/.test(inner) && !inner.startsWith("..");
  if (platform !== "win32" && isPlain) return `~/${inner}`;
  return /^[\w./\\:@+-]+$/.test(path) ? path : `"${path}"`;
}

function thisMachine(): Machine {
  return { platform: process.platform, arch: process.arch, home: homedir() };
}
