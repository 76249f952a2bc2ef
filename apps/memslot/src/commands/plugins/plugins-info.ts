import { type MemslotConfig, memoryFeatures } from "@memslot/core";
import { type FoundPlugin } from "@memslot/core/host";
import type { CommandContext } from "../../command-context.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { findOne, howToChoose } from "../../plugins/choose.ts";
import { type SurveyedPlugin, surveyPlugins } from "../../plugins/survey.ts";
import { printable } from "../../terminal/printable.ts";
import { readConfig } from "../../open/read-config.ts";
import { describeState } from "./plugins-list.ts";

export interface PluginsInfoCommandOptions {
  json?: boolean;
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
export async function pluginsInfo(
  context: CommandContext,
  options: PluginsInfoCommandOptions,
  wanted = "",
): Promise<number> {
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
