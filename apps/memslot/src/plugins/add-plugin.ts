import { readFileSync, existsSync, statSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type MemslotConfig, MemoryError, withDeadline, messageOf } from "@memslot/core";
import { type BrokenPlugin, type FoundPlugin, offeredPlugins, installedPluginsDir } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { packageVersion } from "../package-version.ts";
import { runNpm } from "./run-npm.ts";
import { findPlugins, fromOf, versionIn } from "./list-plugins.ts";
import { resolvePath } from "../open/find-notes-folder.ts";
import { UsageError } from "../terminal/exit-code.ts";

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

export interface InstallSpec {
  spec: string;
  /** The package name, if known before the installation. */
  packageName: string | undefined;
  /** The id of an official plugin. */
  official: string | undefined;
}

const looksLikePath = /^(?:\.{1,2}(?:[/\\]|$)|[/\\]|~[/\\]|[a-z]:[/\\])|\.(?:tgz|tar\.gz)$/iu;
const packageSpec = /^(?<name>(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*)(?:@(?<range>[^\s@/:]+))?$/iu;

/** Reads the argument of `plugins add`: an official id (in this version), a package, a tarball or a folder. Throws. */
export function installSpec(typed: string, { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }): InstallSpec {
  const official = offeredPlugins(import.meta.url).find(({ id, packageName }) => id === typed || packageName === typed);
  if (official !== undefined) {
    const { id, packageName } = official;
    return { spec: `${packageName}@${packageVersion()}`, packageName, official: id };
  }
  const parts = packageSpec.exec(typed)?.groups;
  const file = resolvePath(typed, cwd, env);
  // A folder needs a leading ./ only if its name could be a package name.
  if (looksLikePath.test(typed) || (parts === undefined && existsSync(file)))
    return { ...pathSpec(file), official: undefined };
  if (parts === undefined)
    throw new UsageError(`"${typed}" is not an id, a package name, or a path to a tarball or folder`);
  return { spec: typed, packageName: parts["name"], official: undefined };
}

function pathSpec(file: string): Pick<InstallSpec, "spec" | "packageName"> {
  if (!existsSync(file)) throw new MemoryError("PLUGIN", `${file} does not exist; pass a tarball or a folder`);
  const manifest = path.join(file, "memslot.plugin.json");
  if (statSync(file).isDirectory() && !existsSync(manifest))
    throw new MemoryError("PLUGIN", `${file} is not a memslot plugin: ${manifest} is missing`);
  return { spec: file, packageName: undefined };
}

/** The npm command for a shell. */
export function shellLine(args: readonly string[]): string {
  const quoted = args.map((arg) =>
    /^[\w@%+=:,./^~\\-]+$/u.test(arg) ? arg : `"${arg.replaceAll(/(["$`])/gu, "\\$1")}"`,
  );
  return ["npm", ...quoted].join(" ");
}

/** An unpublished version: npm skips an optional package that it cannot find. */
const leftOut = "0.0.0-left-out";

/** Unused optional dependencies of the LanceDB client, 300 MB. */
const overrides = { "@lancedb/lancedb": { "@huggingface/transformers": leftOut, openai: leftOut } };

/** The npm project in the state folder whose dependencies are the plugins. */
export interface PluginProject {
  readonly folder: string;
  dependencies(): Readonly<Record<string, string>>;
  prepare(): void;
}

export function pluginProject({ stateDir }: Pick<MemslotConfig, "stateDir">): PluginProject {
  const folder = installedPluginsDir(stateDir);
  const file = path.join(folder, "package.json");

  function read(): Record<string, unknown> {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw unusable(error);
    }
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch (error) {
      throw unusable(error);
    }
  }
  function unusable(error: unknown): MemoryError {
    const step = "repair it, or delete it and add the plugins again";
    return new MemoryError("PLUGIN", `${file} cannot be read: ${messageOf(error)}; ${step}`, { cause: error });
  }

  return {
    folder,
    dependencies: () => (read()["dependencies"] ?? {}) as Record<string, string>,
    prepare() {
      const before = read();
      const after = {
        name: "memslot-plugins",
        description: "Plugins installed by `memslot plugins add`",
        private: true,
        ...before,
        overrides: { ...overrides, ...(before["overrides"] as object | undefined) },
      };
      if (JSON.stringify(before) === JSON.stringify(after)) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(file, `${JSON.stringify(after, undefined, 2)}\n`);
      } catch (error) {
        throw new MemoryError("PLUGIN", `${file} cannot be written: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}
