import { type Memory, MemoryError, visibleMessage, visibleName } from "@memslot/core";
import { besideMemoryCoreNotice, isBesideMemoryCore } from "./config.ts";
import type { HostApi, HostConfig } from "./host.ts";
import { type HostStatus, hostStatus, withinLimits } from "./manager.ts";
import type { Memories } from "./memories.ts";

interface Asked {
  memories: Memories;
  config: HostConfig;
}

/** `memory status`: a block for each agent, or with `json` the host's list of them. */
export async function status(
  asked: Asked & { api: HostApi; agents: readonly string[]; deep?: boolean; index?: boolean; json?: boolean },
): Promise<void> {
  const told: object[] = [];
  for (const agentId of asked.agents) {
    const reason = asked.memories.offReason(asked.config, agentId);
    if (reason !== undefined) {
      if (asked.json !== true) print(`${agentId}: memory is disabled: ${reason}`);
      continue;
    }
    const one = await withMemory(asked, agentId, async (memory) => {
      if (asked.index === true) await memory.sync({ reason: "cli" });
      const probe = asked.deep === true || asked.index === true;
      return {
        agentId,
        status: hostStatus(memory),
        ...(probe && { embeddingProbe: await memory.probeEmbeddingAvailability() }),
      };
    });
    told.push(one);
    if (asked.json !== true) printStatus(one);
  }
  if (asked.json === true) print(JSON.stringify(told, undefined, 2));
  else if (isBesideMemoryCore(asked.api)) print(besideMemoryCoreNotice);
}

export async function index(
  asked: Asked & { agents: readonly string[]; force?: boolean; verbose?: boolean },
): Promise<void> {
  const failed: string[] = [];
  for (const agentId of asked.agents) {
    if (asked.memories.offReason(asked.config, agentId) !== undefined) {
      print(`${agentId}: memory is disabled`);
      continue;
    }
    await withMemory(asked, agentId, async (memory) => {
      const report = await memory.sync({ reason: "cli", force: asked.force });
      if (report === undefined) return;
      const { added, changed, removed, unchanged } = report;
      print(`${agentId}: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged`);
      if (asked.verbose === true) print(`  ${memory.status().dbPath ?? ""}`);
      for (const { path, reason } of report.failed) failed.push(`${visibleName(path)}: ${visibleMessage(reason)}`);
    });
  }
  if (failed.length > 0) throw new Error(`not indexed:\n  ${failed.join("\n  ")}`);
}

export async function search(
  asked: Asked & {
    agentId: string;
    query?: string | undefined;
    maxResults?: string;
    minScore?: string;
    json?: boolean;
  },
): Promise<void> {
  const { query = "", agentId, json } = asked;
  if (query.trim() === "")
    throw new MemoryError("INVALID_ARGUMENT", 'say what to look for: openclaw memory search "port of the database"');
  const limits = withinLimits({
    ...(asked.maxResults !== undefined && { maxResults: numberOf("--max-results", asked.maxResults) }),
    ...(asked.minScore !== undefined && { minScore: numberOf("--min-score", asked.minScore) }),
  });
  if (asked.memories.offReason(asked.config, agentId) !== undefined)
    return print(json === true ? JSON.stringify({ agentId, status: "disabled" }) : `${agentId}: memory is disabled`);
  await withMemory(asked, agentId, async (memory) => {
    const { results, report } = await memory.ask(query, limits);
    const { state, reason, action } = report;
    const isStale = state !== "ok" && {
      stale: true,
      warning: reason ?? state,
      ...(action !== undefined && { action }),
    };
    if (json === true) return print(JSON.stringify({ results, ...isStale }, undefined, 2));
    for (const { score, path, startLine, endLine, snippet } of results)
      print(`${score.toFixed(3)} ${visibleName(path)}:${startLine}-${endLine}\n${visibleMessage(snippet)}\n`);
    if (results.length === 0) print("No matches.");
    if (isStale !== false) process.stderr.write(`memory: ${isStale.warning}\n`);
  });
}

async function withMemory<Value>(
  { memories, config }: Asked,
  agentId: string,
  use: (memory: Memory) => Promise<Value>,
): Promise<Value> {
  const memory = await memories.openOnce(config, agentId, (line) => process.stderr.write(`memory: ${line}\n`));
  try {
    return await use(memory);
  } finally {
    await memory.close();
  }
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new MemoryError("INVALID_ARGUMENT", `${flag} takes a number, and got ${JSON.stringify(text)}`);
}

function printStatus({ agentId, status: facts, embeddingProbe }: StatusOf): void {
  const { provider, model, files = 0, chunks = 0, workspaceDir, dbPath, dirty, lastSyncError, custom } = facts;
  const rows: [string, string | undefined][] = [
    ["Provider", `${provider}${model === undefined ? "" : ` (${model})`}`],
    ["Searched by", custom?.searchMode],
    ["Indexed", `${files} files · ${chunks} chunks`],
    ["Dirty", dirty === undefined ? undefined : dirty ? "yes" : "no"],
    ["Store", dbPath],
    ["Workspace", workspaceDir],
    ["Embeddings", embeddingProbe && (embeddingProbe.ok ? "ready" : (embeddingProbe.error ?? "unavailable"))],
    ["Last error", lastSyncError],
  ];
  print(`Memory (${agentId}), by memslot`);
  for (const [label, value] of rows) if (value !== undefined) print(`${label}: ${visibleMessage(value)}`);
}

interface StatusOf {
  agentId: string;
  status: HostStatus;
  embeddingProbe?: { ok: boolean; error?: string | undefined };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
