import { readFileSync } from "node:fs";
import { dirname, join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject } from "../config/plain-data.ts";
import type { PluginsConfig } from "../contract/config.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { type Sentence, sentence } from "../contract/sentences.ts";
import type { AnyPlugin, MemoryFeature, PluginKind } from "../contract/plugin.ts";
import { codeOf } from "../files/error-code.ts";

export interface SlotCandidate {
  readonly id: string;
  readonly kind: PluginKind;
  /** The package name, also valid in the slot. */
  readonly packageName?: string | undefined;
}

export interface FoundPlugin extends SlotCandidate {
  /** Where it was found, for people: a folder, or the `plugins` option. */
  readonly place: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly features?: readonly MemoryFeature[] | undefined;
  readonly limits?: readonly string[] | undefined;
  readonly configSchema: Readonly<Record<string, unknown>> | undefined;
  /** Imports and checks its entry. Throws `PLUGIN`. */
  load(): Promise<AnyPlugin>;
}

export interface BrokenPlugin {
  readonly id?: string | undefined;
  readonly packageName?: string | undefined;
  readonly place: string;
  readonly error: MemoryError;
}

export function brokenPlugin(about: Omit<BrokenPlugin, "error">, problem: string, cause?: unknown): BrokenPlugin {
  return { ...about, error: new MemoryError("PLUGIN", problem, { cause }) };
}

export interface FoundPlugins {
  readonly known: readonly FoundPlugin[];
  readonly broken: readonly BrokenPlugin[];
  readonly missing: readonly OfferedPlugin[];
}

/** An optional plugin of a package, as its `package.json` declares; it need not be installed. */
export interface OfferedPlugin {
  readonly id: string;
  readonly kind: PluginKind;
  readonly packageName: string;
}

/** Plugins offered by a package: its optional peers named `memory-…`, `embeddings-…` or `rerank-…`. */
export function offeredPlugins(host: string): OfferedPlugin[] {
  const meta = packageOf(hostFile(host))?.["peerDependenciesMeta"];
  if (!isObject(meta)) return [];
  return Object.entries(meta).flatMap(([name, peer]) => {
    const plugin = pluginByName(name);
    return plugin !== undefined && isObject(peer) && peer["optional"] === true ? [plugin] : [];
  });
}

/** What a package is by its name; undefined for one that is called like no plugin. */
export function pluginByName(packageName: string): OfferedPlugin | undefined {
  const [, word, rest = ""] = /(?:^|\/)(memory|embeddings|rerank)-(.+)$/.exec(packageName) ?? [];
  if (word === undefined) return undefined;
  if (word === "embeddings") return { id: rest, kind: "embedding", packageName };
  return { id: `${word}-${rest}`, kind: word === "memory" ? "memory" : "rerank", packageName };
}

export function pluginNamed<Plugin extends Pick<BrokenPlugin, "id" | "packageName">>(
  name: string | undefined,
  plugins: readonly Plugin[],
): Plugin | undefined {
  return plugins.find(({ id }) => id === name) ?? plugins.find(({ packageName }) => packageName === name);
}

export function idsOf(kind: PluginKind, plugins: readonly SlotCandidate[]): string[] {
  return plugins.filter((plugin) => plugin.kind === kind).map(({ id }) => id);
}

/** The key that forbids a plugin whatever slot or provider names it, in words; undefined if none does. */
export function forbiddenBy(
  { id, packageName }: Pick<SlotCandidate, "id" | "packageName">,
  plugins: PluginsConfig,
): string | undefined {
  const names = [id, packageName].filter((name) => name !== undefined);
  const denied = names.find((name) => plugins.deny.includes(name));
  if (denied !== undefined) return `plugins.deny lists "${denied}"`;
  const entry = names.find((name) => Object.hasOwn(plugins.entries, name) && plugins.entries[name]?.enabled === false);
  return entry === undefined ? undefined : `plugins.entries.${entry}.enabled is false`;
}

/** The commands that add a plugin, for the middle of a sentence. */
export function howToAdd({ id, packageName }: { id: string; packageName?: string | undefined }): Sentence {
  return packageName === undefined
    ? sentence("plugin.add", { id })
    : sentence("plugin.addPackage", { id, package: packageName });
}

export function hostFile(host: string): string {
  return host.startsWith("file:") ? fileURLToPath(host) : host;
}

/** The nearest package.json that describes a package; one that only sets the module type is skipped. */
export function packageOf(file: string): Record<string, unknown> | undefined {
  let folder = dirname(file);
  for (;;) {
    const candidate = readPackage(join(folder, "package.json"));
    if (candidate && ["name", "dependencies", "optionalDependencies"].some((key) => key in candidate)) return candidate;
    if (folder === parse(folder).root) return undefined;
    folder = dirname(folder);
  }
}

function readPackage(file: string): Record<string, unknown> | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isObject(content) ? content : undefined;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
    throw new MemoryError(
      "PLUGIN",
      `the plugins of this application cannot be found: ${file} cannot be read: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
