import type { AvailabilityProbe } from "./manager.ts";
import type { IndexCheck, MemorySurvey } from "./index-answers.ts";
import type { SessionAudience } from "./search.ts";
import type { SearchCondition, SearchReport, WordReading } from "./search-report.ts";
import { asSentence, joined, type Sentence, type SentenceMeaning, sentence } from "./sentences.ts";
import type { ExcludedNotes, MemoryProviderStatus } from "./status.ts";

/** Reliability of answers, from good to bad. `unknown`: not checked. `empty`: no notes. */
export type HealthState = "ok" | "unknown" | "empty" | "stale" | "degraded" | "unavailable";

export interface HealthPart extends SentenceMeaning {
  state: HealthState;
  /** A sentence without its full stop. Absent if there is nothing to report. */
  reason?: string | undefined;
  /** The next step, as sentences. */
  action?: string | undefined;
}

/** Health of a memory: the worst state of its parts, with their reasons. */
export interface MemoryHealth extends HealthPart {
  /** Whether all notes are searched. */
  files: HealthPart;
  /** Whether the index is undamaged and up to date. */
  index: HealthPart;
  /** Whether vector search works, if it is configured. */
  meaning: HealthPart;
  /** The survey that `files` is based on. */
  survey?: MemorySurvey | undefined;
}

export interface HealthFacts {
  status: MemoryProviderStatus;
  /** Which files of the workspace are memory, see `notesLayout`. */
  layout: "agent" | "all";
  survey?: MemorySurvey | undefined;
  check?: IndexCheck | undefined;
  probe?: AvailabilityProbe | undefined;
}

const states: readonly HealthState[] = ["ok", "unknown", "empty", "stale", "degraded", "unavailable"];
const ok: HealthPart = { state: "ok" };
const notChecked: HealthPart = { state: "unknown", ...sentence("check.none") };

/** Computes the health of a memory, which searches, commands and the page report. */
export function healthOf(facts: HealthFacts): MemoryHealth {
  const parts = { files: filesHealth(facts), index: indexHealth(facts), meaning: meaningHealth(facts) };
  const named = (["files", "index", "meaning"] as const).map((name) => [name, parts[name]] as const);
  const worst = states.findLast((state) => named.some(([, part]) => part.state === state)) ?? ok.state;
  const own = named.filter(([, { state }]) => state === worst && state !== "ok");
  const reasons = own.map(([name, { reason = "", ...part }]) =>
    part.code === "check.none" ? sentence(`check.none.${name}`) : sentenceIn({ ...part, reason }),
  );
  const action = own.map((part) => part[1].action).find((each) => each !== undefined);
  return { state: worst, ...allOf(reasons), action, ...parts, survey: facts.survey };
}

function filesHealth({ survey }: HealthFacts): HealthPart {
  if (survey === undefined) return notChecked;
  const why = allOf(excludedReasons(survey.excluded));
  if (survey.excluded.count === 0) return { ...ok, ...why };
  return { state: "degraded", ...why, action: sentence("next.accept").reason };
}

function indexHealth({ status, layout, survey, check }: HealthFacts): HealthPart {
  const { fts, files = 0, freshness, workspaceDir } = status;
  const [condition] = indexConditions(status, "private");
  const wrong = check?.findings.filter((finding) => !finding.ok) ?? [];
  if (check?.ok === false)
    return {
      state: "degraded",
      ...sentence("index.damaged"),
      ...allOf(wrong.map(({ name, message }) => sentence("list.named", { name, what: message }))),
      action: "Run `memslot memory status --fix`.",
    };
  if (condition?.state === "degraded") return condition;
  if (fts?.available === false)
    return { state: "degraded", ...sentence("index.noWords", { error: fts.error ?? "full-text search is off" }) };
  if (files === 0 && (survey?.notes ?? 0) > 0)
    return { state: "unknown", ...sentence("index.empty"), action: sentence("next.index").reason };
  if (files === 0) {
    const { why, next } = noNotes(workspaceDir, layout);
    return { state: "empty", ...why, action: next.reason };
  }
  if (status.lastSyncError !== undefined || (condition && freshness?.by === "sync"))
    return { ...condition, state: "stale", action: sentence("next.index").reason };
  return ok;
}

/** There is no note yet, and the next step. */
export function noNotes(
  workspaceDir: string | undefined,
  layout: HealthFacts["layout"],
): Record<"why" | "next", Sentence> {
  return {
    why: sentence("index.noNotes", { folder: workspaceDir ?? "the workspace" }),
    next: sentence(layout === "all" ? "next.writeAny" : "next.write"),
  };
}

/** The conditions that a status puts on answers. For a shared audience without error messages, which may name notes. */
export function indexConditions(
  { fallback, lastSyncError, dirty }: MemoryProviderStatus,
  audience: SessionAudience,
): SearchCondition[] {
  const conditions: SearchCondition[] = [];
  if (fallback) conditions.push({ state: "degraded", ...sentenceIn(fallback) });
  if (audience === "shared") {
    if (lastSyncError !== undefined || dirty === true) conditions.push({ state: "stale", ...sentence("files.late") });
  } else if (lastSyncError !== undefined)
    conditions.push({ state: "stale", ...sentence("sync.failed", { error: lastSyncError }) });
  else if (dirty === true) conditions.push({ state: "stale", ...sentence("files.changed") });
  return conditions;
}

function meaningHealth({ status, probe = status.embedding?.answered }: HealthFacts): HealthPart {
  const { provider, requestedProvider = "auto", embedding, vector, chunks = 0, custom } = status;
  const action = "Run `memslot doctor`: it asks the provider and names the next step.";
  const degraded = (why: string | Sentence): HealthPart => ({ state: "degraded", ...asSentence(why), action });
  if (provider === "none") {
    const isChosen = ["auto", "none"].includes(requestedProvider) && embedding?.code !== "embedding.failed";
    if (isChosen) return { ...ok, ...sentence("vectors.off") };
    const what = embedding ? sentenceIn(embedding) : (custom?.providerUnavailableReason ?? "not in use");
    return degraded(sentence("list.named", { name: requestedProvider, what }));
  }
  if (vector?.enabled === false && vector.index === undefined) return { ...ok, ...sentence("vectors.off") };
  if (probe?.ok === false)
    return degraded(sentence("provider.silent", { provider, error: probe.error ?? "no reason given" }));
  if (embedding?.sameVectors !== undefined) return degraded(embedding.sameVectors);
  if (embedding?.circuit)
    return degraded(sentence("list.named", { name: provider, what: sentenceIn(embedding.circuit) }));
  const { embedded = 0, index } = vector ?? {};
  const counts = { embedded, chunks };
  // Until the model has returned a vector, its space is unknown and there is nothing to count.
  const isMissing = index?.state === "incomplete" || (index?.state === "unverified" && embedded === 0);
  if (chunks > 0 && (embedding?.pending !== undefined || isMissing)) {
    const why = embedding?.pending && sentenceIn(embedding.pending);
    return degraded(
      why === undefined ? sentence("vectors.count", counts) : sentence("vectors.waiting", { ...counts, why }),
    );
  }
  if (probe?.ok === true) return { ...ok, ...sentence("vectors.count", counts) };
  if (chunks === 0 || index?.state === "unverified") return notChecked;
  return { state: "unknown", ...sentence("vectors.unasked", counts) };
}

/** Below this confidence the best result contains few of the query terms. */
export const weakConfidence = 0.4;
/** How many excluded notes a message names. */
export const namedNotes = 3;

/** Whether an answer is empty or its results match the query weakly. `found`: number of results. */
export function isPoor({ confidence, match }: SearchReport, found: number): boolean {
  return found === 0 || (match !== undefined && match.level !== "strong") || (confidence ?? 1) < weakConfidence;
}

/** That notes are not searched, with their names and reasons. */
export function skippedNotes({ count, notes }: ExcludedNotes): Sentence {
  const first = notes.slice(0, namedNotes);
  const more = count > first.length ? ` and ${count - first.length} more` : "";
  return sentence("files.skipped", {
    count,
    names: first.map(({ path }) => path).join(", ") + (more === "" ? "" : " …"),
    list: first.map(({ path, reason }) => `${path} (${reason})`).join(", ") + more,
  });
}

/** Names the notes that are not searched, with reasons, as a sentence without its full stop; `undefined` if all are. */
export function describeExcluded(excluded: ExcludedNotes): string | undefined {
  return allOf(excludedReasons(excluded))?.reason;
}

function excludedReasons(excluded: ExcludedNotes): Sentence[] {
  const { count, byConfiguration } = excluded;
  const found = count > 0 ? [skippedNotes(excluded)] : [];
  return byConfiguration > 0 ? [...found, sentence("files.chosen", { count: byConfiguration })] : found;
}

function allOf(reasons: readonly Sentence[]): Sentence | undefined {
  return reasons.length === 0 ? undefined : asSentence(joined("list.more", reasons));
}

/** Lists corrected terms as one sentence without its full stop. */
export function describeReadings(readings: readonly WordReading[]): string {
  return readings.map(({ word, as }) => `"${word}" was read as ${as}`).join(", ");
}

function conditionsOf({ state, reason, conditions }: SearchReport): readonly SearchCondition[] {
  if (Array.isArray(conditions)) return conditions.filter(isCondition);
  if (state !== "stale" && state !== "degraded") return [];
  return [{ state, reason: reason ?? `the memory is ${state}` }];
}

/** Adds conditions to a report: its state is the worst of all, its reason names each once, degraded ones first. */
export function withConditions(report: SearchReport, more: readonly SearchCondition[]): SearchReport {
  const known = conditionsOf(report);
  const conditions = [...new Map([...more, ...known].map((condition) => [condition.reason, condition])).values()];
  const added = more.filter(({ reason }) => !known.some((other) => other.reason === reason));
  if (added.length === 0) return { ...report, conditions };
  const degraded = conditions.filter(({ state }) => state === "degraded");
  const stale = conditions.filter(({ state }) => state === "stale");
  const worst = degraded.length > 0 ? "degraded" : "stale";
  // Reasons of the states `stale` and `degraded` are among the conditions.
  const own = report.state === "ok" || report.state === "unavailable" ? reasonsOf(report) : [];
  return withReasons({ ...report, state: report.state === "unavailable" ? "unavailable" : worst, conditions }, [
    ...degraded,
    ...stale,
    ...own,
  ]);
}

/** The parts of the reason of a report. */
export function reasonsOf({ reason, reasons = [] }: SearchReport): readonly Sentence[] {
  if (reasons.map((each) => each.reason).join("; ") === reason) return reasons;
  return reason === undefined ? [] : [{ reason }];
}

/** A report with these reasons, each once. */
export function withReasons(report: SearchReport, given: readonly Sentence[]): SearchReport {
  const reasons = [...new Map(given.map((each) => [each.reason, sentenceIn(each)])).values()];
  return {
    ...report,
    reason: reasons.map(({ reason }) => reason).join("; ") || undefined,
    reasons: reasons.length > 0 ? reasons : undefined,
  };
}

/** Copies only the reason, its code and its parameters. */
export function sentenceIn({ reason, code, params }: Sentence): Sentence {
  return { reason, ...(code !== undefined && { code }), ...(params !== undefined && { params }) };
}

function isCondition(value: unknown): value is SearchCondition {
  if (typeof value !== "object" || value === null) return false;
  const { state, reason } = value as Record<string, unknown>;
  return (state === "stale" || state === "degraded") && typeof reason === "string";
}
