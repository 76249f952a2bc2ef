import path from "node:path";
import {
  type MemslotConfig,
  MemoryError,
  loadConfig,
  withDeadline,
  type MemoryFeature,
  memoryFeatures,
} from "@memslot/core";
import {
  type DisabledPlugin,
  type FoundPlugin,
  memoryState,
  resolveMemorySlot,
  editConfigFile,
  type ConfigEdit,
} from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { ExitCode } from "../terminal/exit-code.ts";
import {
  findOne,
  keyOfKind,
  type PluginSurvey,
  type SurveyedPlugin,
  findPlugins,
  surveyPlugins,
  standbyOf,
} from "../plugins/list-plugins.ts";
import { readConfig } from "../open/read-config.ts";
import { table } from "../format/units.ts";

interface Outcome {
  file: string;
  slot: string;
  before: string | null;
  changed: boolean;
  alsoChanged: string[];
  disabled: DisabledPlugin[];
  comparison?: Comparison | undefined;
  limits?: readonly string[] | undefined;
}

const LOAD_DEADLINE_MS = 30_000;

/** `memslot plugins use`: selects the memory plugin in the configuration file and prints what changes. */
export async function pluginsUse(context: CommandContext, options: CommonOptions, wanted = ""): Promise<number> {
  const config = await readConfig(context);
  refuseUntrustedFile(config, wanted);
  const isOff = wanted.trim().toLowerCase() === "none";
  const survey = await surveyPlugins(config, isOff ? {} : { names: [wanted] });
  const target = isOff ? undefined : usable(findOne(survey.plugins, wanted), config);
  const plugin = survey.found.known.find(({ place, id }) => place === target?.place && id === target.id);
  if (plugin !== undefined) await loadOnce(context, await trustedCopy(plugin, config, wanted));
  const slot = target === undefined ? "none" : slotValue(target);
  const outcome = await change(context, config, { slot, target, survey });
  const before = survey.found.known.find(({ id }) => id === outcome.before);
  if (before !== undefined && plugin !== undefined && before !== plugin)
    outcome.comparison = comparePlugins(before, plugin);
  outcome.limits = plugin?.limits;
  if (options.json === true) context.output.printJson(outcome);
  else context.output.print(describeOutcome(outcome, { before, plugin, config }));
  return ExitCode.ok;
}

/** Throws for an untrusted configuration file: it may come from another person. */
function refuseUntrustedFile(config: MemslotConfig, wanted: string): void {
  if (config.trusted || config.file === undefined) return;
  const own = path.join(config.stateDir, "memslot.json5");
  throw new MemoryError(
    "CONFIG",
    `the configuration in use, ${config.file}, is not trusted, so it was not changed. If it is yours, run \`memslot trust\` and try again. To change ${own} instead, run \`memslot plugins use ${wanted}\` in another folder`,
  );
}

/** Throws if the plugin cannot be the memory plugin. */
function usable(plugin: SurveyedPlugin, { agents }: MemslotConfig): SurveyedPlugin {
  const { id, kind, state, reason, command } = plugin;
  if (kind === "embedding" || kind === "rerank") {
    const key = agents.length > 1 ? keyOfKind[kind].replace("agents.defaults.", "") : keyOfKind[kind];
    const how = state === "not installed" ? `; add it with: ${command}` : "";
    throw new MemoryError(
      "CONFIG",
      `"${id}" is ${kind === "embedding" ? "an" : "a"} ${kind} plugin and cannot be the memory plugin; select it with ${key}: "${id}"${how}`,
    );
  }
  if (state === "broken") throw new MemoryError("PLUGIN", reason ?? `"${id}" cannot be used`);
  if (state === "not installed") throw new MemoryError("CONFIG", `"${id}" is not installed; add it first: ${command}`);
  return plugin;
}

/** Trusts a plugin that the configuration does not name yet; a named one must be as it was when trusted. */
async function trustedCopy(plugin: FoundPlugin, config: MemslotConfig, wanted: string): Promise<FoundPlugin> {
  const { trustedCode } = config.plugins;
  if (trustedCode === undefined || trustedCode.some(({ place }) => place === plugin.place)) return plugin;
  // Plugins in its plugin folders are named too: a link in them may have changed since.
  const { known } = await findPlugins(config);
  if (known.some(({ place }) => place === plugin.place)) return plugin;
  const { found } = await surveyPlugins(
    { ...config, plugins: { ...config.plugins, trustedCode: undefined } },
    { names: [wanted] },
  );
  return found.known.find(({ place, id }) => place === plugin.place && id === plugin.id) ?? plugin;
}

/** Throws if the plugin cannot be loaded. */
async function loadOnce({ signal }: CommandContext, plugin: FoundPlugin): Promise<void> {
  const limits = { what: `loading plugin "${plugin.id}"`, deadlineMs: LOAD_DEADLINE_MS, signals: [signal] };
  await withDeadline(limits, () => plugin.load());
}

/** The id, or the package name if the configuration finds it only by that. */
function slotValue({ id, from, packageName }: SurveyedPlugin): string {
  return from === "package" ? (packageName ?? id) : id;
}

async function change(
  context: CommandContext,
  config: MemslotConfig,
  { slot, target, survey }: { slot: string; target: SurveyedPlugin | undefined; survey: PluginSurvey },
): Promise<Outcome> {
  const file = config.file ?? path.join(config.stateDir, "memslot.json5");
  const before = survey.plugins.find(({ state }) => state === "active")?.id ?? null;
  const obstacles = target === undefined ? [] : obstaclesTo(config, target);
  const isSo = target === undefined ? isNone(config) : before === target.id;
  const alsoChanged = obstacles.map(({ words }) => words);
  if (!isSo) {
    for (const words of alsoChanged) context.output.notice(`in ${file}: ${words}`);
    const set: ConfigEdit = { key: ["plugins", "slots", "memory"], value: slot };
    await editConfigFile(file, [set, ...obstacles.map(({ edit }) => edit)], { stateDir: config.stateDir });
  }
  const { cwd, env, configPath, workspace } = context;
  const now = isSo ? config : await loadConfig({ cwd, env, configPath, workspace });
  for (const notice of now.notices) context.output.notice(notice);
  const { disabled } = resolveMemorySlot(now, survey.found.known, survey.found.missing);
  return { file, slot, before, changed: !isSo, alsoChanged: isSo ? [] : alsoChanged, disabled };
}

function isNone({ plugins }: MemslotConfig): boolean {
  return plugins.slots.memory?.trim().toLowerCase() === "none";
}

function describeOutcome(
  { file, slot, before, changed, disabled, comparison, limits = [] }: Outcome,
  known: { before: FoundPlugin | undefined; plugin: FoundPlugin | undefined; config: MemslotConfig },
): string {
  const { plugin, config } = known;
  if (!changed) {
    return plugin === undefined
      ? `Memory is already off: plugins.slots.memory is "none" in ${file}.`
      : `"${plugin.id}" is already the memory plugin; nothing was changed.`;
  }
  const lines = [
    `plugins.slots.memory is now "${slot}" in ${file} (${before === null ? "memory was off" : `was "${before}"`}).`,
  ];
  if (plugin === undefined) {
    lines.push("Memory is off: its tools are not offered, and nothing is searched or saved.");
    lines.push("The notes and every index stay as they are.");
    return lines.join("\n");
  }
  for (const { id, reason } of disabled) lines.push(`Not in use: ${id} (${reason}).`);
  if (known.before !== undefined && comparison !== undefined) {
    lines.push("", comparisonTable(known.before, plugin, comparison));
    for (const { id, features } of [known.before, plugin])
      if (features === undefined) lines.push(`${id} does not list its features; see its README.`);
  }
  if (limits.length > 0) lines.push("", `Limits of ${plugin.id}:`, ...limits.map((limit) => `  - ${limit}`));
  lines.push("", "The notes, the tools and the commands stay the same.");
  const standby = standbyOf(plugin, config);
  if (standby !== undefined)
    lines.push(
      `While it is unavailable, ${standby.id} answers instead${standby.isKeywordOnly ? ", with keyword search" : ""}, and reports it.`,
    );
  if (known.before !== undefined && comparison !== undefined) {
    lines.push(`${plugin.id} has its own index; the index of ${known.before.id} is kept.`);
    lines.push(vectorSentence(comparison, known.before, plugin));
  }
  lines.push("", "Next: memslot memory index");
  return [...lines, ...stillOff(config)].join("\n");
}

function stillOff(config: MemslotConfig): string[] {
  const withSlot = { ...config, plugins: { ...config.plugins, enabled: true, slots: { memory: "memory-core" } } };
  return config.agents.flatMap(({ id }) => {
    const { enabled, reason } = memoryState(withSlot, id);
    return enabled ? [] : [`Memory is still off for agent "${id}": ${reason}.`];
  });
}

interface Obstacle {
  edit: ConfigEdit;
  words: string;
}

function obstaclesTo(
  { plugins }: MemslotConfig,
  { id, packageName }: { id: string; packageName?: string | undefined },
): Obstacle[] {
  const names = [id, packageName].filter((name) => name !== undefined);
  const obstacles: Obstacle[] = [];
  if (!plugins.enabled) {
    const edit: ConfigEdit = { key: ["plugins", "enabled"], value: true };
    obstacles.push({ edit, words: "plugins.enabled changes from false to true" });
  }
  for (const name of names) {
    if (plugins.deny.includes(name)) {
      const edit: ConfigEdit = { key: ["plugins", "deny"], without: name };
      obstacles.push({ edit, words: `"${name}" is removed from plugins.deny` });
    }
    if (Object.hasOwn(plugins.entries, name) && plugins.entries[name]?.enabled === false) {
      const edit: ConfigEdit = { key: ["plugins", "entries", name, "enabled"], value: true };
      obstacles.push({ edit, words: `plugins.entries.${name}.enabled changes from false to true` });
    }
  }
  return obstacles;
}

export interface Comparison {
  gained: MemoryFeature[];
  lost: MemoryFeature[];
  kept: MemoryFeature[];
  vectors: "kept" | "made again" | "not used" | "own models" | "none before";
}

type Declared = Pick<FoundPlugin, "id" | "features">;

export function comparePlugins(before: Declared, after: Declared): Comparison {
  const names = Object.keys(memoryFeatures) as MemoryFeature[];
  const has = ({ features = [] }: Declared, name: MemoryFeature): boolean => features.includes(name);
  return {
    gained: names.filter((name) => has(after, name) && !has(before, name)),
    lost: names.filter((name) => has(before, name) && !has(after, name)),
    kept: names.filter((name) => has(before, name) && has(after, name)),
    vectors: vectorsOf(before, after, has),
  };
}

function vectorsOf(
  before: Declared,
  after: Declared,
  has: (plugin: Declared, name: MemoryFeature) => boolean,
): Comparison["vectors"] {
  if (!has(after, "vector")) return has(after, "own-models") ? "own models" : "not used";
  if (!has(before, "vector")) return "none before";
  return has(before, "shared-vectors") && has(after, "shared-vectors") ? "kept" : "made again";
}

export function comparisonTable(before: Declared, after: Declared, { gained, lost, kept }: Comparison): string {
  const all = Object.keys(memoryFeatures) as MemoryFeature[];
  const rows = all
    .filter((name) => [...gained, ...lost, ...kept].includes(name))
    .map((name) => [
      memoryFeatures[name],
      gained.includes(name) ? "no" : "yes",
      lost.includes(name) ? "no" : "yes",
      gained.includes(name) ? "gained" : lost.includes(name) ? "lost" : "",
    ]);
  return table(["", before.id, after.id, ""], rows);
}

export function vectorSentence({ vectors }: Comparison, before: Declared, after: Declared): string {
  const sentences: Record<Comparison["vectors"], string> = {
    kept: "No text is embedded again: both use the same stored vectors.",
    "made again": `The notes are embedded again for ${after.id}; run \`memslot memory index --estimate\` for the cost. The vectors of ${before.id} are kept.`,
    "none before": `With an embedding provider, the notes are embedded for ${after.id}; run \`memslot memory index --estimate\` for the cost.`,
    "own models": `The embedding provider is not used: ${after.id} has its own models. Existing vectors are kept.`,
    "not used": `${after.id} has keyword search only and uses no vectors. Existing vectors are kept.`,
  };
  return sentences[vectors];
}
