import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { checkNode } from "../open/check-node.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import type { WorkspaceOverride } from "./agent-settings.ts";
import { buildConfig } from "./build-config.ts";
import { collectValues } from "./keys/collect.ts";
import type { ConfigLayer } from "./layer.ts";
import { absolutePath, currentFolder, resolveStateDir, variable, type Environment } from "./paths.ts";
import { type ConfigFile, type ConfigSource, findConfigFile, ownConfigFile, readConfigFile } from "./read-file.ts";
import { setAside } from "./trust/set-aside.ts";
import { settleLayer } from "./settle.ts";
import { type TrustRecord, trustOf } from "./trust/trust.ts";
import { assertTrusted, placeOfProgram, programsIn } from "./trust/trusted-code.ts";
import type { MemslotConfig } from "./types.ts";

export interface LoadConfigOptions {
  /** The current folder; that of the process if left out. */
  cwd?: string | undefined;
  /** The environment; that of the process if left out. */
  env?: Environment | undefined;
  /** `--config`: this file and no other. */
  configPath?: string | undefined;
  /** `--workspace`: in place of every other workspace, for every agent. */
  workspace?: string | undefined;
  /** A folder that was found around the current one, see `FoundFolder`. */
  found?: FoundFolder | undefined;
}

/** A folder that a command was run in or below. Whoever gives it has looked for it. */
export interface FoundFolder {
  /** Absolute. A `memslot.json5` in it counts as one of the current folder does: nobody has trusted it by going there. */
  folder: string;
  /** Whether it stands in for the workspace where nothing names one. */
  isWorkspace: boolean;
}

export interface ParseConfigOptions {
  /** Relative paths start here, and package names are looked up from here; the current folder if left out. */
  baseDir?: string | undefined;
  /** For `${NAME}` and the home folder; that of the process if left out. `MEMSLOT_WORKSPACE` is not read. */
  env?: Environment | undefined;
  /** `MEMSLOT_HOME` or `~/.memslot` if left out. */
  stateDir?: string | undefined;
  /** In place of every other workspace, for every agent. */
  workspace?: string | undefined;
}

/**
 * Finds, reads and checks the configuration. With no file everywhere, every key has its default. Throws `CONFIG` with
 * the file, and the key or the line, for whatever cannot be used.
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<MemslotConfig> {
  checkNode();
  const cwd = resolve(options.cwd ?? currentFolder());
  const env = options.env ?? process.env;
  const stateDir = resolveStateDir({ cwd, env });
  const file = findConfigFile({
    cwd,
    lookIn: options.found?.folder ?? cwd,
    env,
    stateDir,
    configPath: options.configPath,
  });
  const source = file === undefined ? undefined : await readConfigFile(file);
  const trust = source?.found === "current" ? trustOf(source.path, source.sha256, stateDir) : undefined;
  const trusted = source?.found !== "current" || trust !== undefined;
  const own = trusted ? ownFile(source) : ownConfigFile(stateDir);

  const layers: ConfigLayer[] = [];
  // What a stranger's file may not decide is decided by the user's own one.
  if (!trusted && own !== undefined) layers.push(layerOf(await readConfigFile(own), env));
  if (source !== undefined) layers.push(trusted ? layerOf(source, env) : untrustedLayerOf(source, env));
  if (trust !== undefined) for (const layer of layers) await setAsideChangedPrograms(layer, trust, cwd);

  return buildConfig({
    file: source?.path,
    trusted,
    trustedCode: trust?.code,
    stateDir,
    env,
    layers,
    override: workspaceOverride(options.workspace, variable(env, "MEMSLOT_WORKSPACE"), cwd, env),
    foundWorkspace: foundWorkspace(options.found, { trusted, stateDir }),
    ownOrigin: own?.path,
    resolveFrom: packagesFrom(trusted ? source : own),
  });
}

/** Checks a configuration that a program made. It is trusted. Throws `CONFIG` with the key for whatever cannot be used. */
export function parseConfig(config: unknown, options: ParseConfigOptions = {}): MemslotConfig {
  const env = options.env ?? process.env;
  const baseDir = resolve(options.baseDir ?? currentFolder());
  const stateDir =
    options.stateDir === undefined ? resolveStateDir({ env }) : absolutePath(options.stateDir, baseDir, env);
  const layer = collectValues(config, "the given configuration", baseDir);
  settleLayer(layer, env);
  return buildConfig({
    file: undefined,
    trusted: true,
    stateDir,
    env,
    layers: [layer],
    override: workspaceOverride(options.workspace, undefined, baseDir, env),
    ownOrigin: layer.label,
    resolveFrom: baseDir,
  });
}

function layerOf(source: ConfigSource, env: Environment): ConfigLayer {
  const layer = collectValues(source.content, source.path, source.baseDir);
  settleLayer(layer, env);
  return layer;
}

function untrustedLayerOf(source: ConfigSource, env: Environment): ConfigLayer {
  const layer = collectValues(source.content, source.path, source.baseDir);
  setAside(layer);
  settleLayer(layer, env);
  return layer;
}

/** A library or a program that is not what was trusted is not used; the code of plugins is compared when it is loaded. */
async function setAsideChangedPrograms(layer: ConfigLayer, { code }: TrustRecord, cwd: string): Promise<void> {
  for (const { path, found } of programsIn(layer, cwd)) {
    try {
      await assertTrusted(existsSync(path) ? placeOfProgram(path, layer) : path, found.written, code);
    } catch (error) {
      for (const values of [layer.values, ...layer.agents.values()])
        for (const [at, other] of values) if (other.written === found.written) values.delete(at);
      layer.notices.push(`${layer.label}: ${messageOf(error)}`);
    }
  }
}

/** A folder with a file that nobody has trusted takes nobody away from the workspace that is there already. */
function foundWorkspace(
  found: FoundFolder | undefined,
  { trusted, stateDir }: { trusted: boolean; stateDir: string },
): string | undefined {
  if (found?.isWorkspace !== true) return undefined;
  return trusted || !existsSync(join(stateDir, "workspace")) ? found.folder : undefined;
}

function ownFile(source: ConfigSource | undefined): ConfigSource | undefined {
  return source?.found === "state" ? source : undefined;
}

/** Never a stranger's folder: what is installed there is code that nobody has vouched for. */
function packagesFrom(file: ConfigFile | undefined): string | undefined {
  return file === undefined ? undefined : dirname(file.path);
}

function workspaceOverride(
  option: string | undefined,
  fromEnv: string | undefined,
  cwd: string,
  env: Environment,
): WorkspaceOverride | undefined {
  if (option !== undefined && option.trim() === "") {
    throw new MemoryError("INVALID_ARGUMENT", "--workspace is blank; name a folder, or leave it out");
  }
  if (option !== undefined)
    return { path: absolutePath(option, cwd, env), origin: "option --workspace", everyAgent: true };
  if (fromEnv === undefined) return undefined;
  return { path: absolutePath(fromEnv, cwd, env), origin: "env MEMSLOT_WORKSPACE", everyAgent: false };
}
