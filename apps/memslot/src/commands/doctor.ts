import { stat } from "node:fs/promises";
import {
  type AgentConfig,
  type HealthPart,
  type Memory,
  type MemoryProviderStatus,
  isAbort,
  loadConfig,
  messageOf,
} from "@memslot/core";
import { findFolder } from "../open/find-notes-folder.ts";
import { chooseAgent, disabledReason } from "../open/choose-agents.ts";
import { byteSize } from "../format/units.ts";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { checkConnections } from "../doctor/connection-checks.ts";
import { type DoctorCheck, failed, failedBy, formatCheck, passed, warned } from "../doctor/doctor-check.ts";
import { ExitCode, UsageError } from "../terminal/exit-code.ts";
import { describeOutage, describeStandby, describeReranker } from "../format/describe-status.ts";
import { checkEmbeddings } from "../doctor/embedding-checks.ts";
import { checkIndex, checkSync, checkWriter, checkSurvey } from "../doctor/index-checks.ts";
import { describeHealth } from "../format/describe-excluded-notes.ts";
import { liveSearch } from "../doctor/search-check.ts";
import { withMemory } from "../open/with-memory.ts";

/** `memslot doctor`: checks everything from Node to a live search, with the next step for each failure. */
export async function doctor(context: CommandContext, options: CommonOptions): Promise<number> {
  const checks: DoctorCheck[] = [];
  // Connections are checked even if the memory does not open.
  for (const chain of [examine(context, options), checkConnections(context)]) {
    try {
      for await (const check of chain) checks.push(check);
    } catch (error) {
      if (isAbort(error) || error instanceof UsageError) throw error;
      checks.push(failedBy(error));
    }
  }
  const ok = checks.every(({ status }) => status !== "fail");
  if (options.json === true) context.output.printJson({ ok, checks });
  else for (const check of checks) context.output.print(formatCheck(check, context.output.style));
  return ok ? ExitCode.ok : ExitCode.error;
}

async function* examine(context: CommandContext, options: CommonOptions): AsyncGenerator<DoctorCheck> {
  // The launcher has rejected older versions.
  yield passed("node", `${process.versions.node} on ${process.platform} ${process.arch}`);
  const config = await loadConfig({
    cwd: context.cwd,
    env: context.env,
    configPath: context.configPath,
    workspace: context.workspace,
    found: findFolder(context),
  });
  yield passed("config", config.file ?? "no file, defaults only (memslot init creates one)");
  for (const notice of config.notices) yield warned("config", notice);
  const agent = chooseAgent(config, options.agent);
  const disabled = disabledReason(config, agent);
  if (disabled !== undefined) {
    yield warned("slot", `memory is off for agent "${agent.id}": ${disabled}`);
    return;
  }
  yield await checkWorkspace(agent.workspaceDir);
  yield* await withMemory(context, config, agent, (memory) => examineMemory(context, memory, agent));
}

async function checkWorkspace(workspaceDir: string): Promise<DoctorCheck> {
  const next = "Create the folder (memslot init does), or pass another one with --workspace DIR.";
  try {
    const stats = await stat(workspaceDir);
    return stats.isDirectory()
      ? passed("workspace", workspaceDir)
      : failed("workspace", `${workspaceDir} is not a folder`, next);
  } catch (error) {
    return failed("workspace", messageOf(error), next);
  }
}

async function examineMemory(context: CommandContext, memory: Memory, agent: AgentConfig): Promise<DoctorCheck[]> {
  const { signal } = context;
  const checks: DoctorCheck[] = [];
  checks.push(checkSlot(memory.status()), await checkSync(context, memory), checkWriter(memory));
  checks.push(await checkIndex(memory, signal));
  const embeddings = await memory.probeEmbeddingAvailability({ signal });
  const vector = await memory.probeVectorAvailability({ signal });
  const health = await memory.health({ signal });
  const status = memory.status();
  checks.push(...checkSurvey(health.survey, status), checkStore(status), checkFts(status), checkVector(status, vector));
  checks.push(...checkEmbeddings(status, agent, embeddings), ...checkReranker(status));
  for (const notice of status.custom?.notices ?? []) checks.push(warned("store", notice));
  checks.push(await liveSearch(memory, signal), checkHealth(health));
  return checks;
}

/** The result of `memory.health()`. The checks of each part name the next step. */
function checkHealth(health: HealthPart): DoctorCheck {
  const isKnown = health.state !== "ok" && health.state !== "unknown";
  if (!isKnown) return passed("health", describeHealth(health));
  return warned("health", describeHealth(health), health.state === "empty" ? health.action : undefined);
}

function checkSlot(status: MemoryProviderStatus): DoctorCheck {
  const { backend, fallback } = status;
  const standby = describeStandby(status);
  // A fallback to another name is one of embedding providers.
  if (fallback === undefined || (fallback.to ?? backend) !== backend)
    return passed("slot", standby === undefined ? backend : `${backend}, standby: ${standby}`);
  return warned("slot", `${fallback.from} is not in use, ${backend} answers instead: ${describeOutage(fallback)}`);
}

/** The reranker, if one is configured. The live search shows whether it answers. */
function checkReranker(status: MemoryProviderStatus): DoctorCheck[] {
  const { rerank } = status;
  if (rerank === undefined) return [];
  if (rerank.id !== undefined) return [passed("reranker", describeReranker(status) ?? rerank.id)];
  const next = 'Correct memorySearch.query.rerank, or set memorySearch.query.rerank.provider to "none".';
  return [failed("reranker", `${rerank.requested} does not work: ${rerank.reason}`, next)];
}

function checkStore({ dbPath, storage }: MemoryProviderStatus): DoctorCheck {
  const size = storage === undefined ? "" : ` (${byteSize(storage.databaseBytes + storage.walBytes)})`;
  return passed("store", `${dbPath ?? "managed by the backend"}${size}`);
}

function checkFts({ fts }: MemoryProviderStatus): DoctorCheck {
  if (fts === undefined) return passed("fts", "not reported by this backend");
  if (fts.available) return passed("fts", "ready");
  return warned(
    "fts",
    fts.enabled ? `unavailable: ${fts.error ?? "no reason given"}` : "off",
    "Only vector search works.",
  );
}

function checkVector({ vector, provider, backend }: MemoryProviderStatus, available: boolean): DoctorCheck {
  if (vector?.enabled === false) {
    const isSetting = backend === "memory-core";
    return passed("vector", isSetting ? "off by memorySearch.store.vector.enabled" : "not used by this backend");
  }
  if (available) return passed("vector", provider === "none" ? "ready, unused without an embedding provider" : "ready");
  if (vector === undefined) return passed("vector", "not reported by this backend");
  const reason = vector.loadError ?? "no reason given";
  return warned(
    "vector",
    `no vector index, linear scan instead: ${reason}`,
    "Results are the same, but slower with many notes.",
  );
}
