import type { MemoryProviderStatus, MemorySearchSettings } from "@memslot/core";
import type { Output } from "./output.ts";
import {
  describeAnsweredBy,
  describeBudget,
  describeCircuit,
  describeEndpoint,
  describeJobs,
  describePending,
  describeQuarantined,
} from "./format-embedding.ts";
import { printable } from "./printable.ts";
import { counted } from "./report-failed-files.ts";
import type { AgentStatus } from "./scan-summary.ts";

const MOST_ISSUES = 20;
const LABEL_WIDTH = 16;

type Row = readonly [label: string, value: string | undefined];

/** The status of one agent for people, with the labels of the field. */
export function formatStatus(entry: AgentStatus, settings: MemorySearchSettings, style: Output["style"]): string {
  const { status, scan } = entry;
  const rows: Row[] = [
    ["Backend", status.backend],
    ["Provider", describeProvider(status)],
    ["Model", status.model],
    ["Endpoint", describeEndpoint(status)],
    ["Passed over", status.embedding?.passedOver?.map(({ id, reason }) => `${id}: ${reason}`).join("; ")],
    ["Sources", (status.sources ?? settings.sources).join(", ")],
    ["Extra paths", status.extraPaths?.map((extra) => (typeof extra === "string" ? extra : extra.path)).join(", ")],
    ["Indexed", describeIndexed(entry)],
    ["By source", describeSources(status)],
    ["Dirty", describeDirty(status)],
    ["Last sync", status.lastSync?.finishedAt],
    ["Last sync error", status.lastSyncError],
    ["Index error", entry.indexError],
    ["Store", describeStore(status)],
    ["Workspace", status.workspaceDir],
    ["Search mode", describeMode(status)],
    ["Embeddings", describeProbe(entry)],
    ["Answered by", describeAnsweredBy(status)],
    ["Doing", status.embedding?.activity],
    ["Without vector", describePending(status)],
    ["Circuit", describeCircuit(status)],
    ["Budget", describeBudget(status)],
    ["Batch jobs", describeJobs(status)],
    ["Vector store", describeVector(status)],
    ["Vector dims", status.vector?.dims?.toString()],
    ["FTS", describeFts(status)],
    ["Embedding cache", describeCache(status)],
    [
      "Fallback",
      status.fallback === undefined
        ? undefined
        : `${status.fallback.from} → ${status.fallback.to ?? status.backend}: ${status.fallback.reason}`,
    ],
  ];
  const lines = rows.flatMap(([label, value]) =>
    value === undefined || value === "" ? [] : [`${`${label}:`.padEnd(LABEL_WIDTH)} ${printable(value)}`],
  );
  return [
    style("bold", `Memory of agent ${entry.agentId}`),
    ...lines,
    ...list("Not looked at", skippedRoots(status)),
    ...list(
      "Issues",
      scan.issues.filter((issue) => !skippedRoots(status).includes(issue)),
    ),
    ...list("Refused by the embedding provider, found by words only", describeQuarantined(status)),
    ...list("Notices", [...(status.custom?.notices ?? [])]),
  ].join("\n");
}

function list(title: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  const rest = items.length - MOST_ISSUES;
  return [
    `${title}:`,
    ...items.slice(0, MOST_ISSUES).map((item) => `  ${printable(item)}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ];
}

function skippedRoots({ roots = [] }: MemoryProviderStatus): string[] {
  return roots.flatMap(({ path, state, reason }) =>
    state === "skipped" ? [reason === undefined ? path : `${path}: ${reason}`] : [],
  );
}

function describeProvider({ provider, requestedProvider }: MemoryProviderStatus): string {
  return requestedProvider === undefined || requestedProvider === provider
    ? provider
    : `${provider} (requested: ${requestedProvider})`;
}

function describeIndexed({ status, scan }: AgentStatus): string {
  const chunks = status.chunks === undefined ? "" : ` · ${counted(status.chunks, "chunk")}`;
  const files = wasLookedAt(status)
    ? `${status.files ?? 0}/${scan.totalFiles} files`
    : counted(status.files ?? 0, "file");
  return `${files}${chunks}`;
}

function describeDirty(status: MemoryProviderStatus): string {
  if (status.dirty === undefined) return "not checked (memslot memory status --index looks at the files)";
  return status.dirty ? "yes: memslot memory index brings it up to date" : "no";
}

/** Whether this process has compared the index with the files. */
function wasLookedAt({ roots = [] }: MemoryProviderStatus): boolean {
  return roots.length > 0;
}

function describeSources({ sourceCounts = [] }: MemoryProviderStatus): string | undefined {
  if (sourceCounts.length < 2) return undefined;
  return sourceCounts
    .map(({ source, files, chunks }) => `${source} ${counted(files, "file")} · ${counted(chunks, "chunk")}`)
    .join(", ");
}

function describeStore({ dbPath, storage }: MemoryProviderStatus): string | undefined {
  if (dbPath === undefined || storage === undefined) return dbPath;
  return `${dbPath} (${((storage.databaseBytes + storage.walBytes) / 1e6).toFixed(1)} MB)`;
}

function describeMode({ custom }: MemoryProviderStatus): string | undefined {
  if (custom?.searchMode === undefined) return undefined;
  return custom.searchMode === "keyword"
    ? "keyword (finds words, identifiers and CJK text as written)"
    : custom.searchMode;
}

function describeProbe({ status, embeddingProbe }: AgentStatus): string | undefined {
  if (embeddingProbe?.ok === true) {
    const { latencyMs, dimensions } = embeddingProbe;
    const size = dimensions === undefined ? "" : `, ${dimensions} numbers`;
    return `ready${latencyMs === undefined ? "" : ` (${latencyMs} ms${size})`}`;
  }
  if (status.provider !== "none" && embeddingProbe !== undefined)
    return `unavailable: ${embeddingProbe.error ?? "no reason given"}`;
  if (status.provider !== "none") return "not tried (memslot memory status --deep tries it)";
  const why = status.custom?.providerUnavailableReason ?? embeddingProbe?.error;
  return `none${why === undefined ? "" : `: ${why}`}`;
}

function describeVector({ vector }: MemoryProviderStatus): string | undefined {
  if (vector === undefined) return undefined;
  if (!vector.enabled) return "off";
  const embedded = vector.embedded === undefined ? "" : `, ${counted(vector.embedded, "chunk")} with a vector`;
  if (vector.available === true) return `ready${embedded}`;
  if (vector.loadError !== undefined)
    return `sqlite-vec is not used, vectors are compared one by one: ${vector.loadError}${embedded}`;
  return vector.available === undefined
    ? `not tried (memslot memory status --deep tries it)${embedded}`
    : `unavailable${embedded}`;
}

function describeFts({ fts }: MemoryProviderStatus): string | undefined {
  if (fts === undefined) return undefined;
  if (!fts.enabled) return "off";
  return fts.available ? "ready" : `unavailable${fts.error === undefined ? "" : `: ${fts.error}`}`;
}

function describeCache({ cache }: MemoryProviderStatus): string | undefined {
  if (cache === undefined) return undefined;
  if (!cache.enabled) return "off";
  const cap = cache.maxEntries === undefined ? "" : ` of at most ${cache.maxEntries}`;
  return cache.entries === undefined ? "on" : `${cache.entries} vectors${cap}`;
}
