import { join } from "node:path";
import { isObject } from "../config/deep.ts";
import type { AgentConfig, PluginsConfig } from "../contract/config.ts";
import { assertTrusted } from "../config/trust/trusted-code.ts";
import { MemoryError } from "../contract/errors.ts";
import type { AnyPlugin } from "../contract/plugin.ts";
import { pluginProblem } from "./entry.ts";
import type { BrokenPlugin, FoundPlugin, FoundPlugins } from "./found-plugin.ts";
import { readInstalled } from "./installed.ts";
import { hostFile, offeredPlugins, packageOf } from "./offered.ts";
import { dependenciesIn, hasManifest, isPackageName, packageFolder } from "../config/packages.ts";
import { type PluginFolder, readLoadPath, readPluginFolder } from "./plugin-folder.ts";

export interface DiscoverOptions {
  config: {
    readonly plugins: PluginsConfig;
    /** Code is never taken from a workspace of these, which agents write to. */
    readonly agents?: readonly Pick<AgentConfig, "workspaceDir">[] | undefined;
  };
  /** Plugins that the application hands in. */
  plugins?: readonly AnyPlugin[] | undefined;
  /** `import.meta.url` of the application: the plugins among its dependencies are built in. */
  host?: string | undefined;
  /** The folder that `memslot plugins add` installs into: `installedPluginsDir(stateDir)`. */
  installed?: string | undefined;
  /** Values of slot and provider keys, which may be names of packages. */
  names?: readonly string[] | undefined;
}

/**
 * Finds the plugins that the application hands in, those among its dependencies, those that `memslot plugins add` has
 * installed, those of `plugins.load.paths` and those named by package. Reads manifests only; a plugin that cannot be
 * used is listed with the reason, and one that the application offers and that is not there as missing. What the application brings itself is used in place of an installed copy.
 */
export async function discoverPlugins({
  config,
  plugins = [],
  host,
  installed,
  names = [],
}: DiscoverOptions): Promise<FoundPlugins> {
  const folders: PluginFolder[] = plugins.map(handedIn);
  for (const { folder, name } of host === undefined ? [] : dependenciesOf(host))
    folders.push(await readPluginFolder(folder, name));
  if (installed !== undefined) {
    const own = new Set(folders.map(idOf));
    const workspaces = (config.agents ?? []).map(({ workspaceDir }) => workspaceDir);
    const added = await readInstalled(installed, workspaces);
    folders.push(
      ...added.map(asTrusted(isRecorded)).filter((plugin) => idOf(plugin) === undefined || !own.has(idOf(plugin))),
    );
  }
  for (const path of config.plugins.load.paths) folders.push(...(await readLoadPath(path)).map(asTrusted()));
  for (const name of new Set(names))
    await addNamed(name, folders, { from: config.plugins.resolveFrom, host, asTrusted: asTrusted() });
  const found = withoutDoubles(folders);
  const here = new Set([...found.known, ...found.broken].flatMap(({ id, packageName }) => [id, packageName]));
  const offered = host === undefined ? [] : offeredPlugins(host);
  return { ...found, missing: offered.filter(({ id, packageName }) => !here.has(id) && !here.has(packageName)) };

  /** Code that the configuration brings in is loaded as it was when the user vouched for it, and not otherwise. */
  function asTrusted(applies: (place: string) => boolean = () => true): (plugin: PluginFolder) => PluginFolder {
    return (plugin) => {
      const { trustedCode } = config.plugins;
      if (trustedCode === undefined || "broken" in plugin || !applies(plugin.found.place)) return plugin;
      const { found } = plugin;
      const load = async (): ReturnType<FoundPlugin["load"]> => {
        await assertTrusted(found.place, `plugin "${found.id}"`, trustedCode);
        return await found.load();
      };
      return { found: { ...found, load } };
    };
  }

  /** What the user has installed in the state folder needs no word from the configuration. */
  function isRecorded(place: string): boolean {
    return config.plugins.trustedCode?.some((code) => code.place === place) === true;
  }
}

function handedIn(plugin: AnyPlugin, index: number): PluginFolder {
  const place = `the "plugins" option, number ${index + 1}`;
  const problem = pluginProblem(plugin);
  if (problem !== undefined) {
    const id = isObject(plugin) && typeof plugin["id"] === "string" ? plugin["id"] : undefined;
    const whose = id === undefined ? "a plugin" : `plugin "${id}"`;
    return { broken: { id, place, error: new MemoryError("PLUGIN", `${whose} in ${place}: ${problem}`) } };
  }
  const { id, kind, configSchema } = plugin;
  return { found: { id, kind, place, configSchema, load: () => Promise.resolve(plugin) } };
}

/** The plugins among the dependencies of the package that a file belongs to; peers where they are installed. */
function dependenciesOf(host: string): { folder: string; name: string }[] {
  const file = hostFile(host);
  const names = dependenciesIn(packageOf(file), ["dependencies", "optionalDependencies", "peerDependencies"]);
  return names.flatMap((name) => {
    const folder = packageFolder(name, file);
    return folder !== undefined && hasManifest(folder) ? [{ folder, name }] : [];
  });
}

/** Looks a name up as a package: from the folder of the configuration, then from the application. */
async function addNamed(
  name: string,
  folders: PluginFolder[],
  {
    from,
    host,
    asTrusted,
  }: { from: string | undefined; host: string | undefined; asTrusted: (plugin: PluginFolder) => PluginFolder },
): Promise<void> {
  if (!isPackageName(name) || folders.some((plugin) => idOf(plugin) === name)) return;
  const near = from === undefined ? undefined : packageFolder(name, join(from, "package.json"));
  const folder = near ?? (host === undefined ? undefined : packageFolder(name, host));
  if (folder === undefined) return;
  const read = await readPluginFolder(folder, name);
  const plugin = near === undefined ? read : asTrusted(read);
  if (!hasManifest(folder)) {
    // Some package of this name; whether it was meant, only the user knows.
    if ("broken" in plugin) folders.push({ broken: { place: plugin.broken.place, error: plugin.broken.error } });
    return;
  }
  // The configuration means the copy that it can see, not the one that the application happens to bring.
  const same = folders.findIndex((other) => packageNameOf(other) === name);
  if (same < 0) folders.push(plugin);
  else if (near !== undefined) folders[same] = plugin;
}

/** One plugin for each id. Where two places have the same, neither is chosen for the user. */
function withoutDoubles(folders: readonly PluginFolder[]): Pick<FoundPlugins, "known" | "broken"> {
  const byPlace = new Map(folders.map((plugin) => [placeOf(plugin), plugin]));
  const broken: BrokenPlugin[] = [];
  const byId = new Map<string, FoundPlugin[]>();
  for (const plugin of byPlace.values()) {
    if ("broken" in plugin) broken.push(plugin.broken);
    else byId.set(plugin.found.id, [...(byId.get(plugin.found.id) ?? []), plugin.found]);
  }
  const known: FoundPlugin[] = [];
  for (const [id, plugins] of byId) {
    const [plugin, ...doubles] = plugins;
    if (plugin && doubles.length === 0) known.push(plugin);
    else broken.push(...plugins.map((one) => doubled(id, one, plugins)));
  }
  return { known, broken };
}

function doubled(id: string, plugin: FoundPlugin, all: readonly FoundPlugin[]): BrokenPlugin {
  const places = all.map(({ place }) => place).join(" and ");
  const error = new MemoryError("PLUGIN", `two plugins have the id "${id}": ${places}; remove one of them`);
  return { id, packageName: plugin.packageName, place: plugin.place, error };
}

function idOf(plugin: PluginFolder): string | undefined {
  return "found" in plugin ? plugin.found.id : plugin.broken.id;
}

function packageNameOf(plugin: PluginFolder): string | undefined {
  return "found" in plugin ? plugin.found.packageName : plugin.broken.packageName;
}

function placeOf(plugin: PluginFolder): string {
  return "found" in plugin ? plugin.found.place : plugin.broken.place;
}
