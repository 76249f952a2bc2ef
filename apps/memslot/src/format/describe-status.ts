import type { MemoryProviderStatus, SyncReport, MemoryFallback, RerankReport, WriterStatus } from "@memslot/core";
import { byteSize, localTime } from "./units.ts";
import { counted } from "../open/scan-summary.ts";
import { phaseOf } from "../terminal/progress.ts";

export function describeGeneration({ generation }: MemoryProviderStatus): string | undefined {
  if (generation === undefined) return undefined;
  const built = generation.builtAt === undefined ? "" : `, built ${localTime(generation.builtAt)}`;
  return `${generation.id}${built}`;
}

export function describeRebuild({ generation }: MemoryProviderStatus): string | undefined {
  const next = generation?.next;
  if (next === undefined) return undefined;
  const of = next.totalFiles === undefined ? counted(next.files, "file") : `${next.files} of ${next.totalFiles} files`;
  const waiting = next.waitingFor === undefined ? "" : `; ${next.waitingFor}`;
  return `index version ${next.id}, ${of}, started ${localTime(next.startedAt)}${waiting}`;
}

export function describeAtWork({ writer }: MemoryProviderStatus): string | undefined {
  return writer && describeWriter(writer);
}

/** How changes are detected, and why not in a better way. */
export function describeWatch({ watch }: MemoryProviderStatus): string | undefined {
  if (watch === undefined) return undefined;
  const { mode, reason, folders } = watch;
  const what = mode === "recursive" ? "root" : "folder";
  const watched = mode === "off" ? "off" : folders === undefined ? mode : `${counted(folders, what)} watched`;
  return reason === undefined ? watched : `${watched}: ${reason}`;
}

export function describeFreshness({ freshness }: MemoryProviderStatus): string | undefined {
  if (freshness === undefined) return undefined;
  const { by, reason } = freshness;
  const how = {
    events: "live, from the file watcher",
    sweep: "checked with a full scan on every search",
    sync: "not checked on search",
  }[by];
  return reason === undefined ? how : `${how}: ${reason}`;
}

export function describeLastSync({ lastSync }: MemoryProviderStatus): string | undefined {
  if (lastSync === undefined) return undefined;
  const { finishedAt, reason, durationMs, report } = lastSync;
  const took = `${(durationMs / 1000).toFixed(1)} s`;
  return `${localTime(finishedAt)} (${reason}, ${took}): ${describeCounts(report) || "no notes"}`;
}

/** The counts of a sync: `2 added, 5 unchanged`. Empty if there were no files. */
export function describeCounts(report: SyncReport): string {
  const counts = [
    [report.added, "added"],
    [report.changed, "changed"],
    [report.removed, "removed"],
    [report.unchanged, "unchanged"],
    [report.failed.length, "failed"],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(", ");
}

export function describeLastError({ lastError }: MemoryProviderStatus): string | undefined {
  return lastError && `${lastError.message} (${localTime(lastError.at)})`;
}

/** Each source with its number of indexed files and chunks, and its size. */
export function describeSources({ sourceCounts = [] }: MemoryProviderStatus): string | undefined {
  if (sourceCounts.length === 0) return undefined;
  return sourceCounts
    .map(({ source, files, chunks, bytes, eligible, waiting = 0 }) => {
      const of = typeof eligible === "number" ? `${files}/${eligible} files` : counted(files, "file");
      const size = bytes === undefined ? "" : ` · ${byteSize(bytes)}`;
      const due = waiting === 0 ? "" : ` · ${waiting} with changes below the thresholds`;
      return `${source} ${of} · ${counted(chunks, "chunk")}${size}${due}`;
    })
    .join(", ");
}

/** The index file, its size, and how much `memory compact` frees. */
export function describeStore({ dbPath, storage }: MemoryProviderStatus): string | undefined {
  if (dbPath === undefined || storage === undefined) return dbPath;
  const { databaseBytes, walBytes, reusableBytes } = storage;
  const free = reusableBytes === undefined || reusableBytes === 0 ? "" : `, ${byteSize(reusableBytes)} of it free`;
  return `${dbPath} (${byteSize(databaseBytes + walBytes)}${free})`;
}

export function describeCache({ cache, storage }: MemoryProviderStatus): string | undefined {
  if (cache === undefined) return undefined;
  if (!cache.enabled) return "off";
  const entries = cache.entries ?? storage?.embeddingCacheEntries;
  if (entries === undefined) return "on";
  const cap = cache.maxEntries === undefined ? "" : ` of at most ${cache.maxEntries}`;
  const bytes = storage?.embeddingCacheBytes;
  return `${counted(entries, "vector")}${cap}${bytes === undefined || bytes === 0 ? "" : ` (${byteSize(bytes)})`}`;
}

export function describeBatch({ batch }: MemoryProviderStatus): string | undefined {
  if (batch === undefined || !batch.enabled) return undefined;
  const { concurrency, pollIntervalMs, timeoutMs, wait } = batch;
  const end = wait ? `waits up to ${Math.round(timeoutMs / 60_000)} min` : "does not wait";
  return `on, ${concurrency} at a time, polled every ${pollIntervalMs / 1000} s, ${end}`;
}

/** Whether vector search answers, as far as checked. */
export function describeMeaning({ vector, provider, embedding }: MemoryProviderStatus): string | undefined {
  if (provider === "none" || vector === undefined || !vector.enabled) return undefined;
  const state = vector.index?.state ?? "unverified";
  if (vector.semanticAvailable === undefined || state === "unverified") return "not checked (vectors not counted)";
  const vectors = {
    empty: "no vectors yet",
    complete: `all chunks${embedding?.quarantined?.length ? " but rejected ones" : ""} are embedded`,
    incomplete: "some chunks are not embedded",
  }[state];
  if (embedding?.sameVectors !== undefined) return `does not answer: ${embedding.sameVectors}`;
  const { weight, quality } = embedding?.meaning ?? {};
  const measured = weight === undefined ? "" : `, weight ${weight.toFixed(3)}, quality ${quality?.toFixed(2)}`;
  return `${vector.semanticAvailable ? "answers" : "does not answer"} (${vectors}${measured})`;
}

/** The host of the provider and the origin of its key. */
export function describeEndpoint({ embedding }: MemoryProviderStatus): string | undefined {
  if (embedding?.host === undefined) return undefined;
  return embedding.keySource === undefined ? embedding.host : `${embedding.host} (key from ${embedding.keySource})`;
}

export function describeAnsweredBy({ embedding }: MemoryProviderStatus): string | undefined {
  return embedding?.answeredBy && `${embedding.answeredBy.provider} ${embedding.answeredBy.model}`;
}

export function describePending({ embedding }: MemoryProviderStatus): string | undefined {
  return embedding?.pending && `${counted(embedding.pending.chunks, "chunk")}: ${embedding.pending.reason}`;
}

/** Why requests are paused, and until when. */
export function describeCircuit({ embedding }: MemoryProviderStatus): string | undefined {
  if (embedding?.circuit === undefined) return undefined;
  const { kind, reason, nextProbeAt } = embedding.circuit;
  return `open (${kind}), retry at ${localTime(nextProbeAt)}: ${reason}`;
}

export function describeBudget({ embedding }: MemoryProviderStatus): string | undefined {
  const { usedToday, tokensPerDay } = embedding?.budget ?? {};
  return tokensPerDay === undefined ? undefined : `${usedToday} of ${tokensPerDay} tokens used today`;
}

export function describeJobs({ embedding }: MemoryProviderStatus): string | undefined {
  const jobs = (embedding?.jobs ?? []).map(
    ({ id, texts, submittedAt }) => `${id} (${counted(texts, "text")}, since ${localTime(submittedAt)})`,
  );
  return jobs.length === 0 ? undefined : jobs.join(", ");
}

export function describeQuarantined({ embedding }: MemoryProviderStatus): string[] {
  return (embedding?.quarantined ?? []).map(
    ({ path, startLine, endLine, reason }) => `${path}#L${startLine}-L${endLine}: ${reason}`,
  );
}

export function describeFallback(fallback: MemoryFallback): string {
  const { from, to } = fallback;
  return `${from}${to === undefined ? "" : ` → ${to}`}: ${describeOutage(fallback)}`;
}

export function describeOutage({ reason, since, retryAt }: MemoryFallback): string {
  const times = [
    since === undefined ? undefined : `since ${localTime(since)}`,
    retryAt === undefined ? undefined : `retry at ${localTime(retryAt)}`,
  ].filter((time) => time !== undefined);
  return times.length === 0 ? reason : `${reason} (${times.join(", ")})`;
}

/** The standby of the backend; undefined if there is none, or if it is the active one. */
export function describeStandby({ backend, spare }: MemoryProviderStatus): string | undefined {
  if (spare === undefined || spare.backend === backend) return undefined;
  return spare.open ? `${spare.backend}, open` : `${spare.backend}, opened on demand`;
}

/** Number of results that `--explain` lists. */
const MOST_PLACES = 12;

export function describeReranker({ rerank }: MemoryProviderStatus): string | undefined {
  if (rerank === undefined) return undefined;
  const { id, model, host, keySource, requested, reason } = rerank;
  if (id === undefined) return `none (requested: ${requested}): ${reason}`;
  const where = host === undefined ? "" : ` at ${host}`;
  return `${id} ${model ?? ""}${where}${keySource === undefined ? "" : ` (key from ${keySource})`}`;
}

/** What a reranker did for a search: one line, then the results that it moved. */
export function describeRerank({ state, reason, id, model, candidates, cached, ms, order = [] }: RerankReport): string {
  const who = [id, model].filter(Boolean).join(" ");
  if (state !== "done") return `${who}, ${state}: ${reason ?? "no reason given"}`;
  const how = cached ? "cached" : `${ms.toFixed(1)} ms`;
  const places = order.slice(0, MOST_PLACES).map(({ path, startLine, before, after, score, rerankScore }) => {
    const from = before === after ? `${after}.` : `${after}. (was ${before}.)`;
    return `  ${from.padEnd(14)} ${path}:${startLine}  score ${score.toFixed(3)}, reranked ${rerankScore.toFixed(3)}`;
  });
  return [`${who}, ${candidates} candidates, ${how}`, ...places].join("\n");
}

/** The process that writes to the index: `process 1234 is indexing (cli): 120 of 500 files, since …`. */
export function describeWriter(writer: WriterStatus): string {
  const { pid, host, reason, since, completed, total } = writer;
  const { phase, unit } = phaseOf(writer, "indexing");
  const who = pid === process.pid ? "this process" : `process ${pid}${host === undefined ? "" : ` on ${host}`}`;
  const doing = phase === "indexing" ? `is indexing (${reason})` : `is ${phase} (${reason})`;
  const far = completed === undefined || total === undefined ? "" : `: ${completed} of ${total}${unit}`;
  return `${who} ${doing}${far}, since ${localTime(since)}`;
}
