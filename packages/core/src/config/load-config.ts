import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { MemslotConfig } from "../contract/config.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { WorkspaceOverride } from "./agent-settings.ts";
import { createConfig } from "./create-config.ts";
import { someText } from "./plain-data.ts";
import { type ConfigLayer, changeValues, hasReference, readLayer } from "./read-layer.ts";
import { type Environment, absolutePath, currentFolder, resolveStateDir, variable } from "./paths.ts";
import { findConfigFile, ownConfigFile, readConfigFile } from "./config-file.ts";
import { type TrustRecord, assertTrusted, placeOfProgram, programsIn, trustOf } from "./trust.ts";

const neededNode = [22, 22] as const;

const maxNames = 20;

export interface LoadConfigOptions {
  /** The current folder; that of the process if omitted. */
  cwd?: string | undefined;
  /** The environment; that of the process if omitted. */
  env?: Environment | undefined;
  /** `--config`: this file and no other. */
  configPath?: string | undefined;
  workspace?: string | undefined;
  found?: FoundFolder | undefined;
}

export interface FoundFolder {
  /** Absolute. A `memslot.json5` in it is not trusted, as in the current folder. */
  folder: string;
  isWorkspace: boolean;
}

export interface ParseConfigOptions {
  /** Base of relative paths and package lookup; default: the current folder. */
  baseDir?: string | undefined;
  /** For `${NAME}` and the home folder; that of the process if omitted. `MEMSLOT_WORKSPACE` is not read. */
  env?: Environment | undefined;
  stateDir?: string | undefined;
  /** In place of every other workspace, for every agent. */
  workspace?: string | undefined;
}

/** Finds, reads and checks the configuration; defaults without a file. Throws `CONFIG` with the file and key. */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<MemslotConfig> {
  checkNode();
  const cwd = resolve(options.cwd ?? currentFolder());
  const env = options.env ?? process.env;
  const stateDir = resolveStateDir({ cwd, env });
  const file = findConfigFile({ ...options, cwd, env, stateDir });
  const source = file === undefined ? undefined : await readConfigFile(file);
  const trust = source?.found === "current" ? trustOf(source.path, source.sha256, stateDir) : undefined;
  const trusted = source?.found !== "current" || trust !== undefined;
  const own = !trusted ? ownConfigFile(stateDir) : source?.found === "state" ? source : undefined;

  const layers: ConfigLayer[] = [];
  // An untrusted file does not override the keys that only the user's own file may set.
  if (!trusted && own !== undefined) layers.push(readLayer(await readConfigFile(own), env));
  if (source !== undefined) layers.push(readLayer(source, env, trusted ? undefined : setAside));
  if (trust !== undefined) for (const layer of layers) await setAsideChangedPrograms(layer, trust, cwd);

  // Never an untrusted folder: packages installed there are unreviewed code.
  const usesPackagesOf = trusted ? source : own;
  return createConfig({
    file: source?.path,
    trusted,
    trustedCode: trust?.code,
    stateDir,
    env,
    layers,
    override: workspaceOverride(options.workspace, cwd, env, variable(env, "MEMSLOT_WORKSPACE")),
    foundWorkspace: foundWorkspace(options.found, { trusted, stateDir }),
    ownOrigin: own?.path,
    resolveFrom: usesPackagesOf && dirname(usesPackagesOf.path),
  });
}

/** Checks a configuration made by a program; it is trusted. Throws `CONFIG` with the key. */
export function parseConfig(config: unknown, options: ParseConfigOptions = {}): MemslotConfig {
  const env = options.env ?? process.env;
  const baseDir = resolve(options.baseDir ?? currentFolder());
  const stateDir =
    options.stateDir === undefined ? resolveStateDir({ env }) : absolutePath(options.stateDir, baseDir, env);
  const layer = readLayer({ content: config, label: "the given configuration", baseDir }, env);
  const override = workspaceOverride(options.workspace, baseDir, env);
  return createConfig({ stateDir, env, layers: [layer], override, ownOrigin: layer.label, resolveFrom: baseDir });
}

/** Throws `CONFIG` with the required Node version if this one is older. */
export function checkNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1])) return;
  throw new MemoryError(
    "CONFIG",
    `memslot needs Node ${neededNode.join(".")} or newer, and this is ${version} (${process.execPath}); install a newer one from https://nodejs.org`,
  );
}

/** Keeps only the harmless keys of an untrusted file and emits one notice with the names of the others. */
function setAside(layer: ConfigLayer): void {
  const removed: string[] = [];
  for (const [at, { key, value, written }] of layer.values) {
    // An environment variable may hold a secret.
    if (key.harmless === true && !someText(value, hasReference)) continue;
    layer.values.delete(at);
    removed.push(written);
  }
  for (const [id, values] of layer.agents) {
    const written = [...values.values()].map((found) => found.written).filter((name) => !name.endsWith("].id"));
    removed.push(...(written.length > 0 ? written : [`agents.list[${id}]`]));
  }
  layer.agents.clear();
  if (removed.length === 0) return;
  const more = removed.length > maxNames ? ` and ${removed.length - maxNames} more` : "";
  layer.notices.push(
    `${layer.label} is not trusted, so these keys are set aside: ${removed.slice(0, maxNames).join(", ")}${more}; if the file is yours, run \`memslot trust\` in its folder`,
  );
}

/** Drops libraries and programs that differ from what was trusted. Plugin code is compared when it is loaded. */
async function setAsideChangedPrograms(layer: ConfigLayer, { code }: TrustRecord, cwd: string): Promise<void> {
  for (const { path, found } of programsIn(layer, cwd)) {
    try {
      await assertTrusted(existsSync(path) ? placeOfProgram(path, layer) : path, found.written, code);
    } catch (error) {
      changeValues(layer, (other) => (other.written === found.written ? undefined : other));
      layer.notices.push(`${layer.label}: ${messageOf(error)}`);
    }
  }
}

function foundWorkspace(
  found: FoundFolder | undefined,
  { trusted, stateDir }: { trusted: boolean; stateDir: string },
): string | undefined {
  if (found?.isWorkspace !== true) return undefined;
  return trusted || !existsSync(join(stateDir, "workspace")) ? found.folder : undefined;
}

function workspaceOverride(
  option: string | undefined,
  cwd: string,
  env: Environment,
  fromEnv?: string,
): WorkspaceOverride | undefined {
  if (option?.trim() === "")
    throw new MemoryError("INVALID_ARGUMENT", "--workspace is blank; name a folder, or leave it out");
  const named = option ?? fromEnv;
  const origin = option === undefined ? "env MEMSLOT_WORKSPACE" : "option --workspace";
  return named === undefined
    ? undefined
    : { path: absolutePath(named, cwd, env), origin, everyAgent: option !== undefined };
}
