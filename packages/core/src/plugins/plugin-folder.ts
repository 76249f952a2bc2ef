import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../config/deep.ts";
import {
  dependenciesIn,
  foldersOfLoadPath,
  hasManifest,
  isPackageName,
  manifestName,
  readJson,
} from "../config/packages.ts";
import { isInside } from "../config/paths.ts";
import { messageOf } from "../contract/errors.ts";
import type { PluginManifest } from "../contract/plugin.ts";
import { importEntry } from "./entry.ts";
import { type BrokenPlugin, type FoundPlugin, brokenPlugin, pluginByName } from "./known-plugins.ts";
import { manifestProblem } from "./plugin-checks.ts";

/**
 * Reads a plugin folder: its manifest and its package.json. No code of it runs. `installedAs` is the name that it was
 * found by, which an alias makes another than its own.
 */
export async function readPluginFolder(folder: string, installedAs?: string): Promise<FoundPlugin | BrokenPlugin> {
  const place = await realpath(folder);
  const packageFile = join(place, "package.json");
  let cause: unknown;
  const packageJson = await readJson(packageFile).catch((error: unknown) => void (cause = error));
  const ownName = isObject(packageJson) ? packageJson["name"] : undefined;
  const packageName = installedAs ?? (typeof ownName === "string" ? ownName : undefined);
  const about = { packageName, place };
  const file = join(place, manifestName);
  if (!hasManifest(place))
    return brokenPlugin(about, `"${packageName ?? place}" is no memslot plugin: ${file} is missing`);
  let manifest: unknown;
  try {
    manifest = await readJson(file);
  } catch (error) {
    return brokenPlugin(about, `plugin ${place}: ${file} cannot be read: ${messageOf(error)}`, error);
  }
  const given = isObject(manifest) ? manifest["id"] : undefined;
  const id = typeof given === "string" && given.trim() !== "" ? given : undefined;
  const problem = manifestProblem(manifest);
  if (id === undefined || problem !== undefined)
    return brokenPlugin({ id, ...about }, `plugin ${id === undefined ? place : `"${id}"`}: ${file}: ${problem}`);
  if (!isObject(packageJson)) {
    const why = cause === undefined ? "it must hold an object" : messageOf(cause);
    return brokenPlugin({ id, ...about }, `plugin "${id}": ${packageFile} cannot be used: ${why}`, cause);
  }
  const { kind, name, description, features, limits, configSchema } = manifest as PluginManifest;
  const load = (): ReturnType<FoundPlugin["load"]> => importEntry(place, packageJson, { id, kind });
  return { id, kind, packageName, place, name, description, features, limits, configSchema, load };
}

/** What one of `plugins.load.paths` holds: a plugin, or folders of plugins. */
export async function readLoadPath(path: string): Promise<(FoundPlugin | BrokenPlugin)[]> {
  const unusable = (why: string, cause?: unknown): BrokenPlugin[] => [
    brokenPlugin({ place: path }, `plugins.load.paths: ${path} ${why}`, cause),
  ];
  try {
    const folders = await foldersOfLoadPath(path);
    if (folders.length > 0) return await Promise.all(folders.map((folder) => readPluginFolder(folder)));
    return unusable(`holds no plugin: neither it nor a folder in it has a ${manifestName}`);
  } catch (error) {
    return unusable(`cannot be read: ${messageOf(error)}`, error);
  }
}

/**
 * The plugins that `memslot plugins add` has installed into a folder; none where it is not there. A dependency that is
 * no plugin, or whose files are gone, is listed with the reason. Nothing is taken from a folder inside a workspace:
 * whoever may write notes there could bring code in.
 */
export async function readInstalled(
  folder: string,
  workspaces: readonly string[],
): Promise<(FoundPlugin | BrokenPlugin)[]> {
  const packageFile = join(folder, "package.json");
  if (!existsSync(packageFile)) return [];
  const unusable = (why: string, cause?: unknown): BrokenPlugin[] => [
    brokenPlugin({ place: folder }, `installed plugins are not used: ${why}`, cause),
  ];
  const workspace = workspaces.find((dir) => isInside(folder, dir));
  if (workspace !== undefined)
    return unusable(`${folder} lies inside the workspace ${workspace}; set MEMSLOT_HOME to a folder outside of it`);
  let content: unknown;
  try {
    content = await readJson(packageFile);
  } catch (error) {
    return unusable(`${packageFile} cannot be read: ${messageOf(error)}; delete it and add the plugins again`, error);
  }
  const plugins: (FoundPlugin | BrokenPlugin)[] = [];
  for (const packageName of dependenciesIn(content, ["dependencies"]).filter(isPackageName)) {
    // Nowhere else: a folder above may belong to somebody else.
    const place = join(folder, "node_modules", packageName);
    const why = `"${packageName}" is listed in ${packageFile} and is not there; run \`memslot plugins add ${packageName}\` again`;
    if (existsSync(join(place, "package.json"))) plugins.push(await readPluginFolder(place, packageName));
    else plugins.push(brokenPlugin({ id: pluginByName(packageName)?.id, packageName, place }, why));
  }
  return plugins;
}
