import { type AgentConfig, type MemoryProviderStatus, type MemslotConfig, messageOf, visibleName } from "@memslot/core";
import type { CommandContext, CommonOptions } from "../../command-context.ts";
import { localState } from "../../embeddings/local-setup.ts";
import { modelAt } from "../../embeddings/models.ts";
import { byteSize } from "../../format/units.ts";
import { describeCircuit, describePending } from "../../format/describe-status.ts";
import { disabledReason } from "../../open/choose-agents.ts";
import { readConfig } from "../../open/read-config.ts";
import { withMemory } from "../../open/with-memory.ts";
import { ExitCode } from "../../terminal/exit-code.ts";

interface ModelFile {
  name: string;
  licence: string | undefined;
  file: string;
  bytes: number;
  isThere: boolean;
}

interface EmbeddingsEntry {
  agentId: string;
  on: boolean;
  requested: string;
  provider: string;
  reason: string | undefined;
  model?: string | undefined;
  file?: ModelFile | undefined;
  chunks: number;
  embedded: number;
  pending: string | undefined;
  circuit: string | undefined;
  lastError: string | undefined;
}

/** `memslot embeddings status`: the state of vector search, without a request or a change. */
export async function embeddingsStatus(context: CommandContext, options: CommonOptions): Promise<number> {
  const config = await readConfig(context);
  const entries: EmbeddingsEntry[] = [];
  for (const agent of config.agents) {
    const disabled = disabledReason(config, agent);
    entries.push(disabled === undefined ? await entryOf(context, config, agent) : offBecause(agent, disabled));
  }
  if (options.json === true) context.output.printJson(entries);
  else context.output.print(entries.map(describe).join("\n\n"));
  return ExitCode.ok;
}

async function entryOf(context: CommandContext, config: MemslotConfig, agent: AgentConfig): Promise<EmbeddingsEntry> {
  const how = { readOnly: true, oneShot: true };
  const status = await withMemory(context, config, agent, async (memory) => memory.status(), how);
  const { provider, model, chunks = 0, vector, embedding } = status;
  const { hybrid } = agent.memorySearch.query;
  const isLocal = [provider, agent.memorySearch.provider.trim()].includes("local");
  const file = isLocal ? await modelFileOf(context, config, agent) : undefined;
  return {
    agentId: agent.id,
    on: provider !== "none" && hybrid.enabled,
    requested: agent.memorySearch.provider,
    provider,
    reason: hybrid.enabled
      ? (status.custom?.providerUnavailableReason ?? embedding?.reason)
      : "memorySearch.query.hybrid.enabled is false",
    model,
    file: file !== undefined && "name" in file ? file : undefined,
    chunks,
    embedded: vector?.embedded ?? 0,
    pending: describePending(status),
    circuit: describeCircuit(status),
    lastError: lastErrorOf(status) ?? (file !== undefined && "problem" in file ? file.problem : undefined),
  };
}

function offBecause({ id, memorySearch }: AgentConfig, reason: string): EmbeddingsEntry {
  const nothing = { chunks: 0, embedded: 0, pending: undefined, circuit: undefined, lastError: undefined };
  return { agentId: id, on: false, requested: memorySearch.provider, provider: "none", reason, ...nothing };
}

function lastErrorOf({ lastError, lastSyncError }: MemoryProviderStatus): string | undefined {
  return lastError === undefined ? lastSyncError : `${lastError.message} (${lastError.at})`;
}

async function modelFileOf(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
): Promise<ModelFile | { problem: string } | undefined> {
  const { name, licence } = modelAt(agent.memorySearch.local.modelPath);
  try {
    const { setup } = await localState(context, config, agent);
    if (setup === undefined) return undefined;
    return { name, licence, file: setup.modelFile, bytes: setup.modelBytes, isThere: setup.isModelThere };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

function describe(entry: EmbeddingsEntry): string {
  const { agentId, on, requested, provider, file, chunks, embedded } = entry;
  const lines = [`Agent ${agentId}: vector search is ${on ? "on" : "off"}`];
  const add = (name: string, text: string | undefined): void => {
    if (text !== undefined) lines.push(`  ${name.padEnd(11)} ${text}`);
  };
  add("Provider", provider === requested ? provider : `${provider} (requested: ${requested})`);
  add(on ? "Chosen" : "Why", entry.reason);
  add("Model", file?.name ?? entry.model);
  if (file !== undefined) {
    const part = file.bytes === 0 ? "not downloaded" : `${byteSize(file.bytes)} downloaded, the rest is missing`;
    add("File", `${visibleName(file.file)} (${file.isThere ? byteSize(file.bytes) : part})`);
    add("Licence", file.licence ?? "unknown");
  }
  if (on) add("Vectors", `${embedded} embedded, ${Math.max(0, chunks - embedded)} pending`);
  add("Pending", entry.pending);
  add("Circuit", entry.circuit);
  add("Last error", entry.lastError);
  if (!on) lines.push("Next: memslot embeddings on");
  return lines.join("\n");
}
