import { type AgentConfig, type MemslotConfig, MemoryError, visibleName } from "@memslot/core";
import { checkWorkspace, resolveMemorySlot } from "@memslot/core/host";
import type { CommandContext } from "../command-context.ts";
import { byteSize } from "../format/units.ts";
import { disabledReason } from "../open/choose-agents.ts";
import { findPlugins } from "../plugins/list-plugins.ts";
import { type ConfigTarget, type ProviderChoice, configTarget, isChosen, withChoice } from "./provider-config-edits.ts";
import { type LocalState, localState } from "./local-setup.ts";
import { type ChosenModel, modelAt, offeredModels } from "./models.ts";

export interface Plan {
  model: ChosenModel;
  choice: ProviderChoice;
  target: ConfigTarget;
  /** The agents to index: those that use the defaults and have a memory. The comparison uses the first. */
  agents: readonly [AgentConfig, ...AgentConfig[]];
  next: MemslotConfig;
  state: LocalState;
  /** False if the file has these settings already. */
  changesFile: boolean;
}

/** Plans the steps without changing anything. Throws `CONFIG` if no agent would use the model. */
export async function makePlan(context: CommandContext, config: MemslotConfig, model: ChosenModel): Promise<Plan> {
  const target = configTarget(config);
  const [first, ...others] = target.agents.filter((agent) => disabledReason(config, agent) === undefined);
  if (first === undefined) throw noAgent(config, target);
  await checkUse(config, [first, ...others]);
  const choice: ProviderChoice = { provider: "local", modelPath: model.address };
  const next = withChoice(config, target.agents, choice);
  const [{ address: usual }] = offeredModels;
  const state = await localState(context, next, first);
  const changesFile = !target.agents.every(({ memorySearch }) => isChosen(memorySearch, choice, usual));
  return { model, choice, target, agents: [first, ...others], next, state, changesFile };
}

function noAgent(config: MemslotConfig, { keepers }: ConfigTarget): MemoryError {
  const [keeper] = keepers;
  if (keeper !== undefined) {
    const text = `every agent sets its own provider (${keepers.map(({ key }) => key).join(", ")})`;
    return new MemoryError("CONFIG", `${text}; change or remove it in ${config.file ?? "the configuration"}`);
  }
  const reasons = config.agents.map((agent) => disabledReason(config, agent)).filter((text) => text !== undefined);
  return new MemoryError("CONFIG", `memory is off: ${[...new Set(reasons)].join("; ")}; enable it first`);
}

export function describePlan(config: MemslotConfig, { model, target, agents, state, changesFile }: Plan): string {
  const { setup, plugin } = state;
  const size = model.megabytes === undefined ? undefined : `${model.megabytes} MB`;
  const lines = ["Vector search with a model on this machine. Your notes are not sent anywhere."];
  const add = (name: string, text: string): void => void lines.push(`  ${name.padEnd(9)} ${text}`);
  add("model", [model.name, size, model.languages].filter((part) => part !== undefined).join(", "));
  add("licence", model.licence ?? "unknown: see the origin of the model");
  if (setup?.isModelThere === true) add("download", `nothing: ${visibleName(setup.modelFile)} exists`);
  else {
    const part =
      setup === undefined || setup.modelBytes === 0 ? "" : `, ${byteSize(setup.modelBytes)} already downloaded`;
    add("download", `${visibleName(shownAddress(model.address))}${part}`);
  }
  if (plugin === undefined) add("install", "the plugin @memslot/embeddings-local and node-llama-cpp (85 MB), with npm");
  else if (setup?.missing !== undefined) add("install", "node-llama-cpp (85 MB), with npm");
  add("index", agents.map(({ workspaceDir }) => visibleName(workspaceDir)).join(", "));
  if (changesFile) add("write", `${visibleName(target.file)}: memorySearch.provider "local"${instead(agents[0])}`);
  if (!config.trusted) add("", `(${visibleName(config.file ?? "")} is not trusted and stays unchanged)`);
  for (const { id, key } of target.keepers)
    add("keep", `agent "${visibleName(id)}" unchanged, because of ${visibleName(key)}`);
  return lines.join("\n");
}

function instead({ memorySearch: { provider, local } }: AgentConfig): string {
  const before = provider.trim();
  if (before === "") return "";
  if (before === "local")
    return ` with this model instead of ${visibleName(modelAt(local.modelPath).name)}, whose vectors are kept`;
  const isRemote = !["auto", "none"].includes(before);
  return ` instead of "${visibleName(before)}"${isRemote ? ", whose vectors are kept" : ""}`;
}

/** An address without its query, which may be a signature. */
export function shownAddress(address: string): string {
  return address.replace(/\?.*$/su, "");
}

/** Checks before any download that these agents would use vectors. Throws `CONFIG` and `WORKSPACE`. */
async function checkUse(config: MemslotConfig, agents: readonly AgentConfig[]): Promise<void> {
  const { known, missing } = await findPlugins(config);
  const decision = resolveMemorySlot(config, known, missing);
  if (decision.state === "selected" && decision.plugin.features?.includes("vector") === false)
    throw new MemoryError(
      "CONFIG",
      `the memory plugin "${decision.plugin.id}" does not use the vectors of a provider (see memslot plugins info ${decision.plugin.id}); to use this model, select another one: memslot plugins use memory-core`,
    );
  for (const { id, memorySearch, workspaceDir } of agents) {
    if (!memorySearch.query.hybrid.enabled)
      throw new MemoryError(
        "CONFIG",
        `memorySearch.query.hybrid.enabled is false for agent "${id}", which disables vector search; remove it from ${config.file ?? "the configuration"} first`,
      );
    await checkWorkspace(workspaceDir);
  }
}
