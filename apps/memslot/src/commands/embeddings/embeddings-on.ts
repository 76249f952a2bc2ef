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
import { editConfigFile } from "@memslot/core/host";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import {
  type AskedByMeaning,
  type Comparison,
  askByMeaning,
  compareWithWords,
  describeComparison,
} from "../../embeddings/compare-search.ts";
import { editsFor } from "../../embeddings/provider-config-edits.ts";
import { type LocalState, fetchModel, installLocal, localState } from "../../embeddings/local-setup.ts";
import { chooseModel } from "../../embeddings/models.ts";
import { type Plan, describePlan, makePlan, shownAddress } from "../../embeddings/local-model-plan.ts";
import { byteSize } from "../../format/units.ts";
import { readConfig } from "../../open/read-config.ts";
import { counted, reportExcluded } from "../../open/scan-summary.ts";
import { syncWithProgress, withMemory } from "../../open/with-memory.ts";
import { confirm } from "../../terminal/confirm.ts";
import { ExitCode, UsageError } from "../../terminal/exit-code.ts";

export interface EmbeddingsOnCommandOptions extends CommonOptions {
  yes?: boolean;
  try?: string;
}

interface IndexedAgent {
  agentId: string;
  backend: string;
  files: number | undefined;
  chunks: number | undefined;
  embedded: number | undefined;
  failedFiles: number;
}

/** `memslot embeddings on`: sets up vector search with a local model. Changes the configuration last. */
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
    throw new UsageError(
      "nothing was done because stdin is not a terminal: run it with --yes to confirm the plan above",
    );
  return await confirm(context, "Continue?");
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
  if (plugin === undefined) throw new MemoryError("PLUGIN", "npm reported success, but the plugin is missing");
  await fetchModel(context, plan.next, { agent, plugin });
  const { setup } = await localState(context, plan.next, agent);
  const indexed: IndexedAgent[] = [];
  let asked: AskedByMeaning | undefined;
  for (const each of agents) {
    const toAsk = each === agent ? { question: options.try } : undefined;
    const done = await indexAgent(context, plan.next, { agent: each, toAsk });
    indexed.push(done.indexed);
    asked ??= done.asked;
  }
  const comparison = asked && (await compareWithWords(context, plan.next, { agent, asked }));
  context.signal.throwIfAborted();
  if (changesFile)
    await editConfigFile(target.file, await editsFor(target.file, choice), { stateDir: config.stateDir });
  const before = agent.memorySearch.provider;
  report(context, { plan, setup, installed, indexed, comparison, before, json: options.json === true });
  return indexed.some(({ failedFiles }) => failedFiles > 0) ? ExitCode.partial : ExitCode.ok;
}

/** Updates an index with its vectors, then runs the query. Throws `UNAVAILABLE` without vectors. */
async function indexAgent(
  context: CommandContext,
  next: MemslotConfig,
  { agent: { id }, toAsk }: { agent: AgentConfig; toAsk: { question: string | undefined } | undefined },
): Promise<{ indexed: IndexedAgent; asked: AskedByMeaning | undefined }> {
  return await withMemory(context, next, next.agent(id), async (memory) => {
    const sync = await syncWithProgress(context, memory, { what: "indexing", wait: true });
    const status = memory.status();
    checkProvider(status);
    const { failure, chunks = 0, reason = "" } = sync?.pendingVectors ?? {};
    const due = `${counted(chunks, "chunk")} not embedded yet: ${reason}`;
    if (failure !== undefined) throw new MemoryError("UNAVAILABLE", due);
    if (chunks > 0) context.output.notice(due);
    const failed = sync?.failed ?? [];
    reportExcluded(context.output, undefined, failed, []);
    const { backend, files, chunks: all, vector } = status;
    const indexed = {
      agentId: id,
      backend,
      files,
      chunks: all,
      embedded: vector?.embedded,
      failedFiles: failed.length,
    };
    if (toAsk === undefined) return { indexed, asked: undefined };
    // A search does not wait long for a model that is loading.
    await memory.probeEmbeddingAvailability({ signal: context.signal });
    return { indexed, asked: await askByMeaning(memory, toAsk.question, context.signal) };
  });
}

/** Throws if the backend uses its own models, or if the provider did not open. */
function checkProvider({ backend, provider, custom, fallback }: MemoryProviderStatus): void {
  if (provider === "local" && fallback === undefined) return;
  const why = fallback?.reason ?? custom?.providerUnavailableReason;
  const text = `"${backend}" does not use the model of this machine`;
  throw new MemoryError("UNAVAILABLE", why === undefined ? `${text}; see memslot plugins info ${backend}` : why);
}

/** The same failure, with its effect: the configuration is unchanged, and finished steps are kept. */
function asItWas({ output }: CommandContext, file: string, error: unknown): unknown {
  const means = `${visibleName(file)} is unchanged; run memslot embeddings on again to resume`;
  if (isAbort(error)) {
    output.notice(means);
    return error;
  }
  if (error instanceof UsageError) return error;
  const code = MemoryError.is(error) ? error.code : "UNAVAILABLE";
  if (!MemoryError.is(error) && !EmbeddingError.is(error)) return error;
  return new MemoryError(code, `${messageOf(error)}; ${means}`, { cause: error });
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
  output.print(`Vector search is ${changesFile ? "" : "already "}on: ${name}${file}`);
  for (const { agentId, chunks, embedded } of indexed)
    output.print(`Agent ${agentId}: ${embedded ?? "?"} of ${counted(chunks ?? 0, "chunk")} embedded`);
  if (changesFile) output.print(`Written: memorySearch.provider "local" (was "${before}") in ${target.file}`);
  if (comparison !== undefined) output.print(`\n${describeComparison(comparison)}`);
  if (changesFile) output.print("\nRestart running processes, such as memslot mcp or an agent, to use it.");
  output.print('\nNext: memslot memory search "..."; to turn it off: memslot embeddings off');
}
