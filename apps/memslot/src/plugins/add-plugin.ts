import { readFileSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, MemoryError, withDeadline } from "@memslot/core";
import { type BrokenPlugin, type FoundPlugin } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { packageVersion } from "../package-version.ts";
import { type InstallSpec, shellLine } from "./install-spec.ts";
import { type PluginProject, pluginProject } from "./plugin-project.ts";
import { runNpm } from "./run-npm.ts";
import { findPlugins, fromOf, versionIn } from "./survey.ts";

const LOAD_DEADLINE_MS = 30_000;

export async function addPlugin(
  context: CommandContext,
  config: MemslotConfig,
  wanted: InstallSpec,
): Promise<{ plugin: FoundPlugin; isNew: boolean }> {
  const there = await alreadyThere(config, wanted);
  if (there !== undefined) return { plugin: there, isNew: false };
  const project = pluginProject(config);
  const args = npmArgs("install", project, wanted.spec);
  context.output.notice(`running: ${shellLine(args)}`);
  project.prepare();
  const before = project.dependencies();
  await runNpm(context, project.folder, args);
  const name = addedName(before, project.dependencies(), wanted);
  return { plugin: await checkedPlugin(context, config, { project, name }), isNew: true };
}

/** Arguments for npm. Install scripts are not run; `warnOfScripts` reports packages that have some. */
export function npmArgs(verb: "install" | "uninstall", { folder }: PluginProject, spec: string): string[] {
  const exact = verb === "install" ? ["--save-exact"] : [];
  return [verb, "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", ...exact, spec];
}

/** An official plugin that is already installed in this version, or part of the application. */
async function alreadyThere(config: MemslotConfig, { official }: InstallSpec): Promise<FoundPlugin | undefined> {
  if (official === undefined) return undefined;
  const found = (await findPlugins(config)).known.find(({ id }) => id === official);
  if (found === undefined) return undefined;
  const isCopy = fromOf(found, config) === "installed";
  return !isCopy || versionIn(found.place) === packageVersion() ? found : undefined;
}

function addedName(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  { packageName, spec }: InstallSpec,
): string {
  const changed = Object.keys(after).find((name) => after[name] !== before[name]);
  // A tarball or folder that was installed before leaves the same entry.
  const same = Object.keys(after).find((name) => path.basename(after[name] ?? "") === path.basename(spec));
  const name = packageName ?? changed ?? same;
  if (name === undefined || !Object.hasOwn(after, name))
    throw new MemoryError("PLUGIN", `npm installed nothing for "${spec}"`);
  return name;
}

/** Loads the installed plugin. Uninstalls it if that fails. */
async function checkedPlugin(
  context: CommandContext,
  config: MemslotConfig,
  { project, name }: { project: PluginProject; name: string },
): Promise<FoundPlugin> {
  const place = path.join(project.folder, "node_modules", name);
  try {
    const { known, broken } = await findPlugins(config);
    const plugin = known.find(({ packageName, id }) => packageName === name && id === manifestId(place));
    if (plugin === undefined) throw refusal(place, name, broken);
    const limits = { what: `loading plugin "${plugin.id}"`, deadlineMs: LOAD_DEADLINE_MS, signals: [context.signal] };
    await withDeadline(limits, () => plugin.load());
    warnOfScripts(context, project, name);
    return plugin;
  } catch (error) {
    context.output.notice(`${name} cannot be used and was removed`);
    await runNpm(context, project.folder, npmArgs("uninstall", project, name));
    throw error;
  }
}

function refusal(place: string, name: string, broken: readonly BrokenPlugin[]): MemoryError {
  const own = broken.find(({ packageName }) => packageName === name);
  if (own !== undefined) return own.error;
  const id = manifestId(place);
  return new MemoryError("PLUGIN", `${name} has the id "${id}", which another plugin has already`);
}

function manifestId(place: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(path.join(place, "memslot.plugin.json"), "utf8")) as { id?: string }).id;
  } catch {
    return undefined; // Reported by the search for plugins.
  }
}

/** Warns about install scripts that were not run. */
function warnOfScripts({ output }: CommandContext, project: PluginProject, name: string): void {
  const place = path.join(project.folder, "node_modules", name);
  const { scripts } = JSON.parse(readFileSync(path.join(place, "package.json"), "utf8")) as {
    scripts?: Record<string, string>;
  };
  const own = ["preinstall", "install", "postinstall"].filter((script) => scripts?.[script] !== undefined);
  if (own.length === 0) return;
  output.notice(
    `${name} has ${own.join(" and ")} scripts, which were not run; if it does not work without, check the scripts and run: npm rebuild --prefix "${project.folder}" ${name}`,
  );
}
