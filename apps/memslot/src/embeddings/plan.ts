import {
  type AgentConfig,
  checkWorkspace,
  type MemslotConfig,
  MemoryError,
  resolveMemorySlot,
  visibleName,
} from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import { byteSize } from "../format/byte-size.ts";
import { disabledReason } from "../open/disabled-memory.ts";
import { findPlugins } from "../plugins/survey.ts";
import { type ConfigTarget, type ProviderChoice, configTarget, isChosen, withChoice } from "./config-target.ts";
import { type LocalState, localState } from "./local-setup.ts";
import { type ChosenModel, modelAt, offeredModels } from "./models.ts";

/** What is to be done, as it was decided before the question. */
export interface Plan {
  model: ChosenModel;
  choice: ProviderChoice;
  target: ConfigTarget;
  /** The agents that are indexed: those that follow the defaults and have a memory. The first one is asked at the end. */
  agents: readonly [AgentConfig, ...AgentConfig[]];
  /** As the configuration will be. */
  next: MemslotConfig;
  state: LocalState;
  /** False where the file says so already. */
  changesFile: boolean;
}

/** Looks at what is there, and changes nothing. Throws `CONFIG` where nobody would have anything of it. */
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
    const text = `every agent has a choice of its own (${keepers.map(({ key }) => key).join(", ")})`;
    return new MemoryError("CONFIG", `${text}; change that in ${config.file ?? "the configuration"}, or take it out`);
  }
  const reasons = config.agents.map((agent) => disabledReason(config, agent)).filter((text) => text !== undefined);
  return new MemoryError("CONFIG", `memory is off: ${[...new Set(reasons)].join("; ")}; switch it on first`);
}

/** For people, before the question. */
export function describePlan(config: MemslotConfig, { model, target, agents, state, changesFile }: Plan): string {
  const { setup, plugin } = state;
  const size = model.megabytes === undefined ? undefined : `${model.megabytes} MB`;
  const lines = ["Search by meaning, on this machine: your notes stay here."];
  const add = (name: string, text: string): void => void lines.push(`  ${name.padEnd(9)} ${text}`);
  add("model", [model.name, size, model.languages].filter((part) => part !== undefined).join(", "));
  add("licence", model.licence ?? "not known here: see where the model is from");
  if (setup?.isModelThere === true) add("fetch", `nothing: ${visibleName(setup.modelFile)} is there`);
  else {
    const part = setup === undefined || setup.modelBytes === 0 ? "" : `, ${byteSize(setup.modelBytes)} of it are here`;
    add("fetch", `${visibleName(shownAddress(model.address))}${part}`);
  }
  if (plugin === undefined) add("install", "the plugin @memslot/embeddings-local and node-llama-cpp (85 MB), with npm");
  else if (setup?.missing !== undefined) add("install", "node-llama-cpp (85 MB), with npm");
  add("index", agents.map(({ workspaceDir }) => visibleName(workspaceDir)).join(", "));
  if (changesFile) add("write", `${visibleName(target.file)}: memorySearch.provider "local"${instead(agents[0])}`);
  if (!config.trusted) add("", `(${visibleName(config.file ?? "")} is not trusted, and is left as it is)`);
  for (const { id, key } of target.keepers) add("leave", `agent "${visibleName(id)}" as it is, by ${visibleName(key)}`);
  return lines.join("\n");
}

function instead({ memorySearch: { provider, local } }: AgentConfig): string {
  const before = provider.trim();
  if (before === "") return "";
  if (before === "local")
    return ` with this model in place of ${visibleName(modelAt(local.modelPath).name)}, whose vectors stay`;
  const isRemote = !["auto", "none"].includes(before);
  return ` in place of "${visibleName(before)}"${isRemote ? ", whose vectors stay for the way back" : ""}`;
}

/** An address for people: what stands behind a question mark may be a signature. */
export function shownAddress(address: string): string {
  return address.replace(/\?.*$/su, "");
}

/**
 * Looks whether vectors would be of use to these agents, before anything is fetched for them. Throws `CONFIG` where a
 * setting or the backend has none, and `WORKSPACE` where there are no notes to be read.
 */
async function checkUse(config: MemslotConfig, agents: readonly AgentConfig[]): Promise<void> {
  const { known, missing } = await findPlugins(config);
  const decision = resolveMemorySlot(config, known, missing);
  if (decision.state === "selected" && decision.plugin.features?.includes("vector") === false)
    throw new MemoryError(
      "CONFIG",
      `"${decision.plugin.id}", which is in the memory slot, does not search with the vectors of a provider (memslot plugins info ${decision.plugin.id} says what it does); for this model choose another one: memslot plugins use memory-core`,
    );
  for (const { id, memorySearch, workspaceDir } of agents) {
    if (!memorySearch.query.hybrid.enabled)
      throw new MemoryError(
        "CONFIG",
        `memorySearch.query.hybrid.enabled is false for agent "${id}", which is words alone whatever the provider is; take it out of ${config.file ?? "the configuration"} first`,
      );
    await checkWorkspace(workspaceDir);
  }
}
