import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../config/deep.ts";
import { foldersOfLoadPath, hasManifest, manifestName, readJson } from "../config/packages.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { importEntry } from "./entry.ts";
import type { BrokenPlugin, FoundPlugin } from "./found-plugin.ts";
import { readManifest } from "./manifest.ts";

export type PluginFolder = { found: FoundPlugin } | { broken: BrokenPlugin };

/**
 * Reads a plugin folder: its manifest and its package.json. No code of it runs. `installedAs` is the name that it was
 * found by, which an alias makes another than its own.
 */
export async function readPluginFolder(folder: string, installedAs?: string): Promise<PluginFolder> {
  const place = await realpath(folder);
  const packageFile = join(place, "package.json");
  let packageJson: unknown;
  let unreadable: unknown;
  try {
    packageJson = await readJson(packageFile);
  } catch (error) {
    unreadable = error;
  }
  const ownName = isObject(packageJson) ? packageJson["name"] : undefined;
  const packageName = installedAs ?? (typeof ownName === "string" ? ownName : undefined);
  if (!hasManifest(place)) return { broken: { packageName, place, error: noManifest(packageName ?? place, place) } };
  const manifest = await readManifest(place);
  if ("error" in manifest) return { broken: { id: manifest.id, packageName, place, error: manifest.error } };
  const { id, kind, name, description, features, limits, configSchema } = manifest;
  if (!isObject(packageJson)) {
    const why = unreadable === undefined ? "it must hold an object" : messageOf(unreadable);
    const error = new MemoryError("PLUGIN", `plugin "${id}": ${packageFile} cannot be used: ${why}`, {
      cause: unreadable,
    });
    return { broken: { id, place, error } };
  }
  const entryPackage = packageJson;
  return {
    found: {
      id,
      kind,
      packageName,
      place,
      name,
      description,
      features,
      limits,
      configSchema,
      load: () => importEntry(place, entryPackage, manifest),
    },
  };
}

function noManifest(name: string, place: string): MemoryError {
  return new MemoryError("PLUGIN", `"${name}" is no memslot plugin: ${join(place, manifestName)} is missing`);
}

/** What one of `plugins.load.paths` holds: a plugin, or folders of plugins. */
export async function readLoadPath(path: string): Promise<PluginFolder[]> {
  const unusable = (why: string, cause?: unknown): PluginFolder[] => {
    const error = new MemoryError("PLUGIN", `plugins.load.paths: ${path} ${why}`, { cause });
    return [{ broken: { place: path, error } }];
  };
  try {
    const folders = await foldersOfLoadPath(path);
    if (folders.length > 0) return await Promise.all(folders.map((folder) => readPluginFolder(folder)));
    return unusable(`holds no plugin: neither it nor a folder in it has a ${manifestName}`);
  } catch (error) {
    return unusable(`cannot be read: ${messageOf(error)}`, error);
  }
}
