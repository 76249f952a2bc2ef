import { existsSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../config/paths.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { pluginByName } from "./offered.ts";
import { dependenciesIn, isPackageName, readJson } from "../config/packages.ts";
import { type PluginFolder, readPluginFolder } from "./plugin-folder.ts";

/**
 * The plugins that `memslot plugins add` has installed into a folder; none where it is not there. A dependency that is no plugin, or whose files are gone, is
 * listed with the reason. Nothing is taken from a folder inside a workspace: whoever may write notes there could bring
 * code in.
 */
export async function readInstalled(folder: string, workspaces: readonly string[]): Promise<PluginFolder[]> {
  const packageFile = join(folder, "package.json");
  if (!existsSync(packageFile)) return [];
  const workspace = workspaces.find((dir) => isInside(folder, dir));
  if (workspace !== undefined)
    return [
      unusable(folder, `${folder} lies inside the workspace ${workspace}; set MEMSLOT_HOME to a folder outside of it`),
    ];
  let content: unknown;
  try {
    content = await readJson(packageFile);
  } catch (error) {
    return [
      unusable(folder, `${packageFile} cannot be read: ${messageOf(error)}; delete it and add the plugins again`, {
        cause: error,
      }),
    ];
  }
  const plugins: PluginFolder[] = [];
  for (const name of dependenciesIn(content, ["dependencies"]))
    if (isPackageName(name)) plugins.push(await read(folder, name));
  return plugins;
}

async function read(folder: string, name: string): Promise<PluginFolder> {
  // Nowhere else: a folder above may belong to somebody else.
  const place = join(folder, "node_modules", name);
  if (existsSync(join(place, "package.json"))) return readPluginFolder(place, name);
  const known = pluginByName(name);
  const why = `"${name}" is listed in ${join(folder, "package.json")} and is not there; run \`memslot plugins add ${name}\` again`;
  return { broken: { id: known?.id, packageName: name, place, error: new MemoryError("PLUGIN", why) } };
}

function unusable(place: string, why: string, options?: { cause: unknown }): PluginFolder {
  return { broken: { place, error: new MemoryError("PLUGIN", `installed plugins are not used: ${why}`, options) } };
}
