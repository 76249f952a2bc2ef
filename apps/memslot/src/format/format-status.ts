import type { IndexCheck, IndexFinding, MemoryProviderStatus, MemorySearchSettings } from "@memslot/core";
import {
  describeAnsweredBy,
  describeBudget,
  describeCircuit,
  describeEndpoint,
  describeJobs,
  describePending,
  describeQuarantined,
  describeFallback,
  describeStandby,
  describeReranker,
  describeAtWork,
  describeBatch,
  describeCache,
  describeGeneration,
  describeLastError,
  describeLastSync,
  describeMeaning,
  describeRebuild,
  describeSources,
  describeStore,
  describeFreshness,
  describeWatch,
} from "./describe-status.ts";
import { describeHealth, describeUnsearched } from "./describe-excluded-notes.ts";
import { type Output, printable } from "../terminal/output.ts";
import { counted, describeFailure, otherIssues, type AgentStatus } from "../open/scan-summary.ts";
import { byteSize, table } from "./units.ts";

const MOST_ISSUES = 20;
const LABEL_WIDTH = 19;

type Row = readonly [label: string, value: string | undefined];

export interface FormatStatusOptions {
  settings: MemorySearchSettings;
  style: Output["style"];
  /** Repairs were requested. */
  fix: boolean;
}

/** The status of one agent as text. */
export function formatStatus(entry: AgentStatus, options: FormatStatusOptions): string {
  const { status, scan } = entry;
  const { settings, style } = options;
  const rows: Row[] = [
    ["Health", describeHealth(entry.health)],
    ["Next step", entry.health.action],
    ["Backend", status.backend],
    ["Standby", describeStandby(status)],
    ["Provider", describeProvider(status)],
    ["Model", status.model],
    ["Endpoint", describeEndpoint(status)],
    ["Reranker", describeReranker(status)],
    ["Skipped providers", status.embedding?.passedOver?.map(({ id, reason }) => `${id}: ${reason}`).join("; ")],
    ["Sources", (status.sources ?? settings.sources).join(", ")],
    ["Extra paths", status.extraPaths?.map((extra) => (typeof extra === "string" ? extra : extra.path)).join(", ")],
    ["Indexed", describeIndexed(entry)],
    ["By source", describeSources(status)],
    ["Not searched", entry.survey && describeUnsearched(entry.survey.unsearched)],
    ["Excluded", describeAccepted(entry)],
    ["Dirty", describeDirty(status)],
    ["Index version", describeGeneration(status)],
    ["Rebuild", describeRebuild(status)],
    ["Writer", describeAtWork(status)],
    ["Watching", describeWatch(status)],
    ["Freshness", describeFreshness(status)],
    ["Last sync", describeLastSync(status)],
    ["Last sync error", status.lastSyncError],
    ["Last error", describeLastError(status)],
    ["Index error", entry.indexError],
    ["Index check", describeCheck(entry)],
    ["Store", describeStore(status)],
    ["Workspace", status.workspaceDir],
    ["Search mode", describeMode(status)],
    ["Embeddings", describeProbe(entry)],
    ["Answered by", describeAnsweredBy(status)],
    ["Activity", status.embedding?.activity],
    ["Not embedded", describePending(status)],
    ["Circuit", describeCircuit(status)],
    ["Budget", describeBudget(status)],
    ["Batches", describeBatch(status)],
    ["Batch jobs", describeJobs(status)],
    ["Vector search", describeMeaning(status)],
    ["Vector store", describeVector(status)],
    ["Vector dims", status.vector?.dims?.toString()],
    ["FTS", describeFts(status)],
    ["Embedding cache", describeCache(status)],
    ["Fallback", status.fallback && describeFallback({ to: status.backend, ...status.fallback })],
  ];
  const excluded = entry.survey?.excluded.notes ?? [];
  const skipped = otherIssues(skippedRoots(status), excluded);
  const lines = rows.flatMap(([label, value]) =>
    value === undefined || value === "" ? [] : [`${`${label}:`.padEnd(LABEL_WIDTH)} ${printable(value)}`],
  );
  return [
    style("bold", `Memory of agent ${entry.agentId}`),
    ...lines,
    ...list("Excluded notes", excluded.map(describeFailure)),
    ...list("Folders not scanned", skipped),
    ...list(
      "Issues",
      otherIssues(scan.issues, excluded).filter((issue) => !skipped.includes(issue)),
    ),
    ...list(
      "Rejected by the provider; found by keyword search only until memory index --force",
      describeQuarantined(status),
    ),
    ...list("Notices", [...(status.custom?.notices ?? []), ...(status.custom?.remarks ?? [])]),
    ...(entry.check === undefined ? [] : formatCheck(entry.check, options)),
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
  const files = wasScanned(status)
    ? `${status.files ?? 0}/${scan.totalFiles} files`
    : counted(status.files ?? 0, "file");
  return `${files}${chunks}`;
}

function describeAccepted({ survey }: AgentStatus): string | undefined {
  const { byConfiguration = 0 } = survey?.excluded ?? {};
  return byConfiguration === 0 ? undefined : `${byConfiguration} by configuration (memorySearch.exclude)`;
}

function describeDirty(status: MemoryProviderStatus): string {
  if (status.dirty === undefined) return "not checked (memslot memory status --index checks it)";
  return status.dirty ? "yes: memslot memory index updates it" : "no";
}

function describeCheck({ check, checkError }: AgentStatus): string | undefined {
  if (checkError !== undefined) return `failed: ${checkError}`;
  if (check === undefined) return "not checked (memslot memory status --deep checks it)";
  return check.findings.length === 0 ? "not checked: not supported by this backend" : undefined;
}

function wasScanned({ roots = [] }: MemoryProviderStatus): boolean {
  return roots.length > 0;
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
    const size = dimensions === undefined ? "" : `, ${dimensions} dimensions`;
    return `ready${latencyMs === undefined ? "" : ` (${latencyMs} ms${size})`}`;
  }
  if (status.provider !== "none" && embeddingProbe !== undefined)
    return `unavailable: ${embeddingProbe.error ?? "no reason given"}`;
  if (status.provider !== "none") return "not tested (memslot memory status --deep tests it)";
  const why = status.custom?.providerUnavailableReason ?? embeddingProbe?.error;
  return `none${why === undefined ? "" : `: ${why}`}`;
}

function describeVector({ vector }: MemoryProviderStatus): string | undefined {
  if (vector === undefined) return undefined;
  if (!vector.enabled) return "off";
  const embedded = vector.embedded === undefined ? "" : `, ${counted(vector.embedded, "chunk")} embedded`;
  const engine = vector.engine === undefined ? "" : ` (${vector.engine})`;
  if (vector.available === true) return `ready${engine}${embedded}`;
  if (vector.loadError !== undefined) return `no vector index, linear scan instead: ${vector.loadError}${embedded}`;
  return vector.available === undefined
    ? `not tested (memslot memory status --deep tests it)${embedded}`
    : `unavailable${embedded}`;
}

function describeFts({ fts }: MemoryProviderStatus): string | undefined {
  if (fts === undefined) return undefined;
  if (!fts.enabled) return "off";
  return fts.available ? "ready" : `unavailable${fts.error === undefined ? "" : `: ${fts.error}`}`;
}

interface FormatCheckOptions {
  /** Repairs were requested. */
  fix: boolean;
  style: Output["style"];
}

function formatCheck({ findings, tables = [] }: IndexCheck, { fix, style }: FormatCheckOptions): string[] {
  const width = Math.max(0, ...findings.map(({ name }) => name.length));
  const lines = findings.map((finding) => {
    const { word, colour } = outcomeOf(finding);
    const message = [finding.message, finding.fixed].filter((part) => part !== undefined).join("; ");
    return `${style(colour, word.padEnd(6))} ${finding.name.padEnd(width)}  ${printable(message)}`;
  });
  // A finding that names its own next step needs no other.
  if (findings.some((finding) => !finding.ok && !finding.message.includes("memslot memory index --force")))
    lines.push(
      fix ? "Delete the index file; it is rebuilt from the notes." : "Run memslot memory status --fix to repair it.",
    );
  return [...block("Index check", lines), ...block("Tables", tableLines(tables))];
}

function outcomeOf({ ok, fixed }: IndexFinding): { word: string; colour: "green" | "yellow" | "red" } {
  if (!ok) return { word: "wrong", colour: "red" };
  return fixed === undefined ? { word: "ok", colour: "green" } : { word: "fixed", colour: "yellow" };
}

function tableLines(tables: NonNullable<IndexCheck["tables"]>): string[] {
  const rows = tables.map(({ name, bytes }) => [name, byteSize(bytes)]);
  return table(["", ""], rows, { right: [1] })
    .split("\n")
    .slice(1);
}

function block(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}
