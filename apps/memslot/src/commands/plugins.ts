import { type MemslotConfig, memoryFeatures, MemoryError } from "@memslot/core";
import type { FoundPlugin } from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { ExitCode } from "../terminal/exit-code.ts";
import { type SurveyedPlugin, surveyPlugins, versionIn, findOne, howToChoose } from "../plugins/list-plugins.ts";
import { readConfig } from "../open/read-config.ts";
import { table } from "../format/units.ts";
import { printable } from "../terminal/output.ts";
import { addPlugin, npmArgs, installSpec, shellLine, pluginProject } from "../plugins/add-plugin.ts";
import { runNpm } from "../plugins/run-npm.ts";

/** `memslot plugins list`: known plugins with their state, and plugins that can be added. */
export async function pluginsList(context: CommandContext, options: CommonOptions): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const { plugins, slotProblem } = await surveyPlugins(config);
  if (options.json === true) {
    const slot = config.plugins.slots.memory ?? null;
    output.printJson({ slot, ...(slotProblem === undefined ? {} : { slotProblem }), plugins });
    return ExitCode.ok;
  }
  const rows = plugins.map((plugin) => [
    plugin.id,
    plugin.kind ?? "",
    plugin.version ?? "",
    plugin.from ?? "",
    describeState(plugin),
  ]);
  output.print(table(["Id", "Kind", "Version", "From", "State"], rows));
  if (slotProblem !== undefined) output.notice(slotProblem);
  return ExitCode.ok;
}

/** The state with its reason, or the command that changes it. */
export function describeState({ state, reason, command }: SurveyedPlugin): string {
  const more = command ?? reason;
  return more === undefined ? state : `${state}: ${more}`;
}

interface PluginInfo extends SurveyedPlugin {
  name?: string | undefined;
  features: string[];
  limits: readonly string[];
  options: PluginOption[];
  configured: { key: string; value: unknown; origin: string }[];
  choose?: string | undefined;
}

/** `memslot plugins info`: the features and options of a plugin, and how to select it. */
export async function pluginsInfo(context: CommandContext, options: CommonOptions, wanted = ""): Promise<number> {
  const config = await readConfig(context);
  const { plugins, found } = await surveyPlugins(config, { names: [wanted] });
  const plugin = findOne(plugins, wanted);
  const details = found.known.find(({ id, place }) => id === plugin.id && place === plugin.place);
  const info: PluginInfo = {
    ...plugin,
    name: details?.name,
    features: details?.features?.map((feature) => memoryFeatures[feature]) ?? [],
    limits: details?.limits ?? [],
    options: optionsOf(details?.configSchema),
    configured: configuredFor(config, plugin),
    choose: choiceOf(plugin, details),
  };
  if (options.json === true) context.output.printJson(info);
  else context.output.print(printable(describeInfo(info)));
  return ExitCode.ok;
}

function configuredFor(config: MemslotConfig, { id, packageName }: SurveyedPlugin): PluginInfo["configured"] {
  const names = [id, packageName].filter((name) => name !== undefined);
  const starts = names.flatMap((name) => [`plugins.entries.${name}.`, `plugins.entries.${JSON.stringify(name)}.`]);
  return config
    .describe()
    .filter(({ key, value }) => value !== undefined && isAbout(key))
    .map(({ key, value, origin }) => ({ key, value, origin }));

  function isAbout(key: string): boolean {
    return starts.some((start) => key.startsWith(start)) || (id === "memory-qmd" && key === "memory.qmd");
  }
}

function choiceOf({ id, state, command }: SurveyedPlugin, details: FoundPlugin | undefined): string | undefined {
  if (state === "not installed") return command;
  if (details === undefined) return undefined;
  return howToChoose(details.kind, id);
}

function describeInfo(info: PluginInfo): string {
  const kind = info.kind === undefined ? "" : `, ${info.kind === "embedding" ? "an" : "a"} ${info.kind} plugin`;
  const version = info.version === undefined ? "" : ` ${info.version}`;
  const lines = [`${info.id}${version}${kind}`];
  if (info.description !== undefined) lines.push(info.description);
  lines.push("", `State:    ${describeState(info)}`);
  if (info.packageName !== undefined) lines.push(`Package:  ${info.packageName}`);
  if (info.place !== undefined)
    lines.push(`Place:    ${info.place}${info.from === undefined ? "" : ` (${info.from})`}`);
  if (info.choose !== undefined) lines.push(`Choose:   ${info.choose}`);
  if (info.features.length > 0) lines.push("", "Features:", ...info.features.map((sentence) => `  - ${sentence}`));
  if (info.limits.length > 0) lines.push("", "Limits:", ...info.limits.map((sentence) => `  - ${sentence}`));
  if (info.options.length > 0)
    lines.push("", `Options, in plugins.entries.${info.id}.config:`, ...info.options.flatMap(describeOption));
  if (info.configured.length > 0) {
    const set = info.configured.map(({ key, value, origin }) => `  ${key}: ${JSON.stringify(value)}  (${origin})`);
    lines.push("", "Set in the configuration:", ...set);
  }
  return lines.join("\n");
}

function describeOption({ key, type, required, description, ...option }: PluginOption): string[] {
  const facts = [type];
  if (required === true) facts.push("required");
  if ("default" in option) facts.push(`default ${JSON.stringify(option.default)}`);
  return [`  ${key} (${facts.join(", ")})`, ...(description === undefined ? [] : [`      ${description}`])];
}

interface PluginOption {
  key: string;
  type: string;
  default?: unknown;
  required?: true | undefined;
  description?: string | undefined;
}

const deepest = 6;

/** The options of a JSON Schema, nested ones after their group. */
function optionsOf(schema: unknown, prefix = "", depth = 0): PluginOption[] {
  if (!isRecord(schema) || !isRecord(schema["properties"]) || depth > deepest) return [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).flatMap(([name, property]): PluginOption[] => {
    if (!isRecord(property)) return [];
    const key = `${prefix}${name}`;
    const inner = optionsOf(property, `${key}.`, depth + 1);
    const { description } = property;
    const own: PluginOption = {
      key,
      type: typeOf(property),
      ...("default" in property ? { default: property["default"] } : {}),
      ...(required.includes(name) ? { required: true } : {}),
      ...(typeof description === "string" ? { description } : {}),
    };
    return inner.length > 0 && description === undefined ? inner : [own, ...inner];
  });
}

/** `integer 1 to 64`, `"a" | "b"`, `string[]` */
function typeOf(schema: Record<string, unknown>): string {
  const { type, minimum, maximum, items } = schema;
  const choices = "const" in schema ? [schema["const"]] : schema["enum"];
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(alternatives)) return alternatives.filter(isRecord).map(typeOf).join(" | ");
  const name = Array.isArray(type) ? type.join(" | ") : typeof type === "string" ? type : "any";
  if (name === "array") return `${isRecord(items) ? typeOf(items) : "any"}[]`;
  if (typeof minimum === "number" && typeof maximum === "number") return `${name} ${minimum} to ${maximum}`;
  if (typeof minimum === "number") return `${name} of ${minimum} or more`;
  return typeof maximum === "number" ? `${name} of ${maximum} or less` : name;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface PluginsAddCommandOptions extends CommonOptions {
  print?: boolean;
}

export async function pluginsAdd(
  context: CommandContext,
  options: PluginsAddCommandOptions,
  typed = "",
): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const wanted = installSpec(typed, context);
  const project = pluginProject(config);
  const args = npmArgs("install", project, wanted.spec);
  if (options.print === true) {
    if (options.json === true) output.printJson({ command: shellLine(args), folder: project.folder });
    else output.print(shellLine(args));
    return ExitCode.ok;
  }
  return report(context, options, { ...(await addPlugin(context, config, wanted)), config });
}

function report(
  { output }: CommandContext,
  { json }: PluginsAddCommandOptions,
  { plugin, config, isNew }: { plugin: FoundPlugin; config: MemslotConfig; isNew: boolean },
): number {
  const { id, kind, packageName, place } = plugin;
  const version = versionIn(place);
  const choice = howToChoose(kind, id);
  const next = kind === "memory" ? choice : `${choice} in ${config.file ?? "memslot.json5"}`;
  if (json === true) output.printJson({ id, kind, packageName, version, place, installed: isNew, next });
  else {
    output.print(
      `${id}${version === undefined ? "" : ` ${version}`} is ${isNew ? "installed" : "already installed"}: ${place}`,
    );
    output.print(`Next: ${next}`);
  }
  return ExitCode.ok;
}

export async function pluginsRemove(context: CommandContext, options: CommonOptions, wanted = ""): Promise<number> {
  const { output } = context;
  const config = await readConfig(context);
  const project = pluginProject(config);
  const { plugins } = await surveyPlugins(config);
  const names = Object.keys(project.dependencies());
  const isInstalled = (packageName: string | undefined): boolean => names.includes(packageName ?? "");
  const plugin = plugins.find(({ id, packageName }) => id === wanted && isInstalled(packageName));
  const name = plugin?.packageName ?? names.find((each) => each === wanted);
  if (name === undefined) {
    const list = names.length === 0 ? "no plugins are" : `installed: ${names.join(", ")}`;
    throw new MemoryError("PLUGIN", `"${wanted}" is not installed in ${project.folder}; ${list}`);
  }
  if (plugin?.state === "active" || plugin?.state === "in use") {
    const step =
      plugin.kind === "memory" ? "select another first: memslot plugins use memory-core" : "select another one first";
    throw new MemoryError("CONFIG", `"${plugin.id}" is in use (${plugin.reason}); ${step}`);
  }
  const args = npmArgs("uninstall", project, name);
  output.notice(`running: ${shellLine(args)}`);
  await runNpm(context, project.folder, args);
  if (options.json === true) output.printJson({ packageName: name, removed: true });
  else output.print(`${name} is removed. Its index is kept.`);
  return ExitCode.ok;
}
