import {
  type AgentConfig,
  EmbeddingError,
  type MemoryProviderStatus,
  type MemslotConfig,
  MemoryError,
  isAbort,
  messageOf,
  visibleName,
} from "@memslot/core";
import type { CommandContext } from "../../command-context.ts";
import { editConfigFile } from "../../config-file/edit-file.ts";
import { type Comparison, compareSearch, describeComparison } from "../../embeddings/compare-search.ts";
import {
  type ConfigTarget,
  type ProviderChoice,
  configTarget,
  editsFor,
  isChosen,
  withChoice,
} from "../../embeddings/config-target.ts";
import { type LocalState, fetchModel, installLocal, localState } from "../../embeddings/local-setup.ts";
import { type ChosenModel, chooseModel, offeredModels } from "../../embeddings/models.ts";
import { byteSize } from "../../format/byte-size.ts";
import { disabledReason } from "../../open/disabled-memory.ts";
import { readConfig } from "../../open/read-config.ts";
import { counted, reportFailedFiles } from "../../open/report-failed-files.ts";
import { syncWithProgress } from "../../open/sync-with-progress.ts";
import { withMemory } from "../../open/with-memory.ts";
import { confirm } from "../../terminal/confirm.ts";
import { ExitCode } from "../../terminal/exit-code.ts";
import { UsageError } from "../../terminal/usage-error.ts";

export interface EmbeddingsOnCommandOptions {
  yes?: boolean;
  try?: string;
  json?: boolean;
}

/** What is to be done, as it was decided before the question. */
interface Plan {
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

/** What the index of one agent holds afterwards. */
interface IndexedAgent {
  agentId: string;
  backend: string;
  files: number | undefined;
  chunks: number | undefined;
  embedded: number | undefined;
  failedFiles: number;
}

/**
 * `memslot embeddings on`: from nothing to search by meaning on this machine. The configuration is changed last, so that
 * whatever fails before leaves it as it was; what was installed and fetched by then stays for the next run.
 */
export async function embeddingsOn(
  context: CommandContext,
  options: EmbeddingsOnCommandOptions,
  typed?: string,
): Promise<number> {
  const { output } = context;
  if (options.try?.trim() === "") throw new UsageError("--try needs a question");
  const config = await readConfig(context);
  const plan = await makePlan(context, config, chooseModel(typed, context));
  if (!(await mayGoOn(context, config, { plan, yes: options.yes === true }))) {
    output.print("Nothing was changed.");
    return ExitCode.ok;
  }
  try {
    return await carryOut(context, config, { plan, options });
  } catch (error) {
    throw asItWas(context, plan.target.file, error);
  }
}

async function makePlan(context: CommandContext, config: MemslotConfig, model: ChosenModel): Promise<Plan> {
  const target = configTarget(config);
  const [first, ...others] = target.agents.filter((agent) => disabledReason(config, agent) === undefined);
  if (first === undefined) throw noAgent(config, target);
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

/** Says what is about to happen, and asks. Nothing is asked where all of it is done already. */
async function mayGoOn(
  context: CommandContext,
  config: MemslotConfig,
  { plan, yes }: { plan: Plan; yes: boolean },
): Promise<boolean> {
  const { state, changesFile } = plan;
  const isReady = state.setup?.isModelThere === true && state.setup.missing === undefined;
  if (isReady && !changesFile) return true;
  context.output.stderr.write(`${describePlan(config, plan)}\n`);
  if (yes) return true;
  if (context.stdin.isTTY !== true)
    throw new UsageError("nothing was done, as nobody can be asked here: run it with --yes to do what stands above");
  return await confirm(context, "Go on?");
}

function describePlan(config: MemslotConfig, { model, target, agents, state, changesFile }: Plan): string {
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

function instead({ memorySearch: { provider } }: AgentConfig): string {
  const before = provider.trim();
  if (["", "local"].includes(before)) return "";
  const isRemote = !["auto", "none"].includes(before);
  return ` in place of "${visibleName(before)}"${isRemote ? ", whose vectors stay for the way back" : ""}`;
}

/** What stands behind a question mark may be a signature. */
function shownAddress(address: string): string {
  return address.replace(/\?.*$/su, "");
}

async function carryOut(
  context: CommandContext,
  config: MemslotConfig,
  { plan, options }: { plan: Plan; options: EmbeddingsOnCommandOptions },
): Promise<number> {
  const { agents, target, choice, changesFile } = plan;
  const [agent] = agents;
  const { state, installed } = await installLocal(context, plan.next, agent);
  const { plugin } = state;
  if (plugin === undefined) throw new MemoryError("PLUGIN", "the plugin is not there, though npm has ended well");
  await fetchModel(context, plan.next, { agent, plugin });
  const { setup } = await localState(context, plan.next, agent);
  const indexed: IndexedAgent[] = [];
  for (const each of agents) indexed.push(await indexAgent(context, plan.next, each));
  const comparison = await compareSearch(context, plan.next, { agent, question: options.try });
  context.signal.throwIfAborted();
  if (changesFile)
    await editConfigFile(target.file, await editsFor(target.file, choice), { stateDir: config.stateDir });
  const before = agent.memorySearch.provider;
  report(context, { plan, setup, installed, indexed, comparison, before, json: options.json === true });
  return indexed.some(({ failedFiles }) => failedFiles > 0) ? ExitCode.partial : ExitCode.ok;
}

/** Brings an index up to date with its vectors. Throws `UNAVAILABLE` where they cannot be made. */
async function indexAgent(context: CommandContext, next: MemslotConfig, { id }: AgentConfig): Promise<IndexedAgent> {
  return await withMemory(context, next, next.agent(id), async (memory) => {
    const sync = await syncWithProgress(context, memory, { what: "indexing" });
    const status = memory.status();
    checkProvider(status);
    const { failure, chunks = 0, reason = "" } = sync?.pendingVectors ?? {};
    if (failure !== undefined)
      throw new MemoryError("UNAVAILABLE", `${counted(chunks, "chunk")} still without a vector: ${reason}`);
    if (chunks > 0) context.output.notice(`${counted(chunks, "chunk")} still without a vector: ${reason}`);
    reportFailedFiles(context.output, sync?.failed ?? []);
    return {
      agentId: id,
      backend: status.backend,
      files: status.files,
      chunks: status.chunks,
      embedded: status.vector?.embedded,
      failedFiles: sync?.failed.length ?? 0,
    };
  });
}

/** A backend with models of its own has no use for this one, and a provider that did not open is not on. */
function checkProvider({ backend, provider, custom, fallback }: MemoryProviderStatus): void {
  if (provider === "local" && fallback === undefined) return;
  const why = fallback?.reason ?? custom?.providerUnavailableReason;
  const text = `"${backend}" makes its vectors otherwise than by the model of this machine`;
  throw new MemoryError("UNAVAILABLE", why === undefined ? `${text}; see memslot plugins info ${backend}` : why);
}

/** The same failure, with what it means: nothing was switched on, and what was done so far is not lost. */
function asItWas({ output }: CommandContext, file: string, error: unknown): unknown {
  const means = `search is as it was before, and so is ${file}; memslot embeddings on goes on from here`;
  if (isAbort(error)) {
    output.notice(means);
    return error;
  }
  if (error instanceof UsageError) return error;
  const code = MemoryError.is(error) ? error.code : "UNAVAILABLE";
  if (!MemoryError.is(error) && !EmbeddingError.is(error)) return error;
  return new MemoryError(code, `${messageOf(error)}. ${means[0]?.toUpperCase()}${means.slice(1)}`, { cause: error });
}

function report(
  { output }: CommandContext,
  done: {
    plan: Plan;
    setup: LocalState["setup"];
    installed: readonly string[];
    indexed: readonly IndexedAgent[];
    comparison: Comparison | undefined;
    before: string;
    json: boolean;
  },
): void {
  const { plan, setup, installed, indexed, comparison, before } = done;
  const { model, target, changesFile } = plan;
  const { name, address, licence } = model;
  if (done.json) {
    output.printJson({
      provider: "local",
      before,
      model: { name, address: shownAddress(address), licence, file: setup?.modelFile, bytes: setup?.modelBytes },
      config: { file: target.file, changed: changesFile },
      installed,
      agents: indexed,
      keepers: target.keepers,
      comparison,
    });
    return;
  }
  const file = setup === undefined ? "" : ` (${visibleName(setup.modelFile)}, ${byteSize(setup.modelBytes)})`;
  output.print(`Search by meaning is on${changesFile ? "" : " already"}: ${name}${file}`);
  for (const { agentId, chunks, embedded } of indexed)
    output.print(`Agent ${agentId}: ${embedded ?? "?"} of ${counted(chunks ?? 0, "chunk")} with a vector`);
  if (changesFile) output.print(`Written: memorySearch.provider "local" (it was "${before}") in ${target.file}`);
  if (comparison !== undefined) output.print(`\n${describeComparison(comparison)}`);
  output.print('\nNext: memslot memory search "..."; memslot embeddings off goes back to words alone.');
}
