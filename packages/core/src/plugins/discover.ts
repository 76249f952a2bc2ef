import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../config/plain-data.ts";
import {
  dependenciesIn,
  foldersOfLoadPath,
  hasManifest,
  isPackageName,
  manifestName,
  packageFolder,
  readJson,
} from "../config/plugin-packages.ts";
import { isInside } from "../config/paths.ts";
import { assertTrusted } from "../config/trust.ts";
import type { AgentConfig, PluginsConfig } from "../contract/config.ts";
import { messageOf } from "../contract/errors.ts";
import type { AnyPlugin, PluginManifest } from "../contract/plugin.ts";
import { importEntry, manifestProblem, pluginProblem } from "./plugin-checks.ts";
import {
  type BrokenPlugin,
  type FoundPlugin,
  type FoundPlugins,
  brokenPlugin,
  hostFile,
  offeredPlugins,
  packageOf,
  pluginByName,
} from "./known-plugins.ts";

type ReadPlugin = FoundPlugin | BrokenPlugin;

export interface DiscoverOptions {
  config: {
    readonly plugins: PluginsConfig;
    readonly agents?: readonly Pick<AgentConfig, "workspaceDir">[] | undefined;
  };
  plugins?: readonly AnyPlugin[] | undefined;
  /** `import.meta.url` of the application: the plugins among its dependencies are built in. */
  host?: string | undefined;
  installed?: string | undefined;
  /** Values of slot and provider keys, which may be names of packages. */
  names?: readonly string[] | undefined;
}

/** Finds plugins from all sources by their manifests; unusable ones are listed with the reason. */
export async function discoverPlugins({
  config,
  plugins = [],
  host,
  installed,
  names = [],
}: DiscoverOptions): Promise<FoundPlugins> {
  const { trustedCode, load, resolveFrom } = config.plugins;
  const all: ReadPlugin[] = plugins.map(handedIn);
  for (const [folder, name] of host === undefined ? [] : dependenciesOf(host))
    all.push(await readPluginFolder(folder, name));
  if (installed !== undefined) {
    const own = new Set(all.map(({ id }) => id).filter((id) => id !== undefined));
    const workspaces = (config.agents ?? []).map(({ workspaceDir }) => workspaceDir);
    const added = await readInstalled(installed, workspaces);
    // What the user has installed in the state folder needs no word from the configuration.
    const isRecorded = ({ place }: ReadPlugin): boolean => trustedCode?.some((code) => code.place === place) === true;
    all.push(
      ...added
        .filter(({ id }) => id === undefined || !own.has(id))
        .map((plugin) => (isRecorded(plugin) ? asTrusted(plugin) : plugin)),
    );
  }
  for (const path of load.paths) all.push(...(await readLoadPath(path)).map(asTrusted));
  for (const name of new Set(names)) await addNamed(name);
  const found = withoutDoubles(all);
  const here = new Set([...found.known, ...found.broken].flatMap(({ id, packageName }) => [id, packageName]));
  const offered = host === undefined ? [] : offeredPlugins(host);
  return { ...found, missing: offered.filter(({ id, packageName }) => !here.has(id) && !here.has(packageName)) };

  function asTrusted(plugin: ReadPlugin): ReadPlugin {
    if (trustedCode === undefined || "error" in plugin) return plugin;
    return {
      ...plugin,
      async load() {
        await assertTrusted(plugin.place, `plugin "${plugin.id}"`, trustedCode);
        return await plugin.load();
      },
    };
  }

  /** Looks a name up as a package: from the folder of the configuration, then from the application. */
  async function addNamed(name: string): Promise<void> {
    if (!isPackageName(name) || all.some(({ id }) => id === name)) return;
    const near = resolveFrom === undefined ? undefined : packageFolder(name, join(resolveFrom, "package.json"));
    const folder = near ?? (host === undefined ? undefined : packageFolder(name, host));
    if (folder === undefined) return;
    const read = await readPluginFolder(folder, name);
    const plugin = near === undefined ? read : asTrusted(read);
    if (!hasManifest(folder)) {
      // Only the user knows whether this package was meant.
      if ("error" in plugin) all.push({ place: plugin.place, error: plugin.error });
      return;
    }
    // The copy that the configuration sees counts, not the application's.
    const same = all.findIndex(({ packageName }) => packageName === name);
    if (same < 0) all.push(plugin);
    else if (near !== undefined) all[same] = plugin;
  }
}

function handedIn(plugin: AnyPlugin, index: number): ReadPlugin {
  const place = `the "plugins" option, number ${index + 1}`;
  const problem = pluginProblem(plugin);
  if (problem !== undefined) {
    const id = isObject(plugin) && typeof plugin["id"] === "string" ? plugin["id"] : undefined;
    const whose = id === undefined ? "a plugin" : `plugin "${id}"`;
    return brokenPlugin({ id, place }, `${whose} in ${place}: ${problem}`);
  }
  const { id, kind, configSchema } = plugin;
  return { id, kind, place, configSchema, load: () => Promise.resolve(plugin) };
}

function dependenciesOf(host: string): (readonly [folder: string, name: string])[] {
  const file = hostFile(host);
  const names = dependenciesIn(packageOf(file), ["dependencies", "optionalDependencies", "peerDependencies"]);
  return names.flatMap((name) => {
    const folder = packageFolder(name, file);
    return folder !== undefined && hasManifest(folder) ? [[folder, name] as const] : [];
  });
}

function withoutDoubles(all: readonly ReadPlugin[]): Pick<FoundPlugins, "known" | "broken"> {
  const plugins = [...new Map(all.map((plugin) => [plugin.place, plugin])).values()];
  const broken = plugins.filter((plugin) => "error" in plugin);
  const known: FoundPlugin[] = [];
  const usable = plugins.filter((plugin) => "load" in plugin);
  for (const [id, same] of Map.groupBy(usable, (plugin) => plugin.id)) {
    const places = same.map(({ place }) => place).join(" and ");
    const problem = `two plugins have the id "${id}": ${places}; remove one of them`;
    if (same.length === 1) known.push(...same);
    else broken.push(...same.map(({ packageName, place }) => brokenPlugin({ id, packageName, place }, problem)));
  }
  return { known, broken };
}

/** Reads manifest and package.json of a plugin folder; runs no code. `installedAs`: its name in the dependencies. */
async function readPluginFolder(folder: string, installedAs?: string): Promise<ReadPlugin> {
  const place = await realpath(folder);
  const packageFile = join(place, "package.json");
  let cause: unknown;
  const packageJson = await readJson(packageFile).catch((error: unknown) => void (cause = error));
  const ownName = isObject(packageJson) ? packageJson["name"] : undefined;
  const packageName = installedAs ?? (typeof ownName === "string" ? ownName : undefined);
  const about = { packageName, place };
  const file = join(place, manifestName);
  if (!hasManifest(place))
    return brokenPlugin(about, `"${packageName ?? place}" is not a memslot plugin: ${file} is missing`);
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

async function readLoadPath(path: string): Promise<ReadPlugin[]> {
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

/** Lists plugins installed by `memslot plugins add`. Refuses folders inside a workspace: agents can write there. */
async function readInstalled(folder: string, workspaces: readonly string[]): Promise<ReadPlugin[]> {
  const packageFile = join(folder, "package.json");
  if (!existsSync(packageFile)) return [];
  const unusable = (why: string, cause?: unknown): BrokenPlugin[] => [
    brokenPlugin({ place: folder }, `installed plugins are not used: ${why}`, cause),
  ];
  const workspace = workspaces.find((dir) => isInside(folder, dir));
  if (workspace !== undefined)
    return unusable(`${folder} is inside the workspace ${workspace}; set MEMSLOT_HOME to a folder outside of it`);
  let content: unknown;
  try {
    content = await readJson(packageFile);
  } catch (error) {
    return unusable(`${packageFile} cannot be read: ${messageOf(error)}; delete it and add the plugins again`, error);
  }
  const plugins: ReadPlugin[] = [];
  for (const packageName of dependenciesIn(content, ["dependencies"]).filter(isPackageName)) {
    // Nowhere else: a folder above may belong to another user.
    const place = join(folder, "node_modules", packageName);
    const why = `"${packageName}" is listed in ${packageFile} and is not there; run \`memslot plugins add ${packageName}\` again`;
    if (existsSync(join(place, "package.json"))) plugins.push(await readPluginFolder(place, packageName));
    else plugins.push(brokenPlugin({ id: pluginByName(packageName)?.id, packageName, place }, why));
  }
  return plugins;
}
