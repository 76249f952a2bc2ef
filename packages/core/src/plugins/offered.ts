import { readFileSync } from "node:fs";
import { dirname, join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject } from "../config/deep.ts";
import type { PluginKind } from "../contract/plugin.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { codeOf } from "../files/error-code.ts";

/** A plugin that a package can do without: it says so in its `package.json`, and nothing of it has to be there. */
export interface OfferedPlugin {
  readonly id: string;
  readonly kind: PluginKind;
  readonly packageName: string;
}

/**
 * The plugins that the package of a file offers to work with: those of its optional peers that are called `memory-…`,
 * `embeddings-…` or `rerank-…`. What they are is told by their names, as they need not be installed.
 */
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
  const parts = /(?:^|\/)(?:(?<memory>memory-.+)|embeddings-(?<embedding>.+)|(?<rerank>rerank-.+))$/.exec(
    packageName,
  )?.groups;
  if (parts?.["memory"] !== undefined) return { id: parts["memory"], kind: "memory", packageName };
  if (parts?.["embedding"] !== undefined) return { id: parts["embedding"], kind: "embedding", packageName };
  if (parts?.["rerank"] !== undefined) return { id: parts["rerank"], kind: "rerank", packageName };
  return undefined;
}

/** The one of these that has this id or package name. */
export function offeredAs(name: string, offered: readonly OfferedPlugin[]): OfferedPlugin | undefined {
  return offered.find(({ id, packageName }) => id === name || packageName === name);
}

/** The commands that add a plugin, for the middle of a sentence. */
export function howToAdd({ id, packageName }: { id: string; packageName?: string | undefined }): string {
  const command = `run \`memslot plugins add ${id}\``;
  return packageName === undefined ? command : `${command}, or in an application \`npm install ${packageName}\``;
}

/** `import.meta.url` as a path. */
export function hostFile(host: string): string {
  return host.startsWith("file:") ? fileURLToPath(host) : host;
}

/** The nearest package.json that describes a package; one that only sets the module type is passed over. */
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
