import type { SearchCondition, SearchReport, WordReading } from "./report.ts";
import type { ExcludedNotes } from "./status.ts";

/** Under this confidence the best result holds little of what was asked. */
export const weakConfidence = 0.4;
/** Of many excluded notes so many are named. */
export const namedNotes = 3;

/** Whether an answer is empty, or its results do not hold what was asked for. */
export function isPoor({ confidence, match }: SearchReport, found: number): boolean {
  return found === 0 || (match !== undefined && match.level !== "strong") || (confidence ?? 1) < weakConfidence;
}

/** Which notes are not searched and why, in words without a full stop; undefined where all are. */
export function describeExcluded({ count, notes, byConfiguration }: ExcludedNotes): string | undefined {
  const first = notes.slice(0, namedNotes).map(({ path, reason }) => `${path} (${reason})`);
  const more = count > first.length ? ` and ${count - first.length} more` : "";
  const what = count === 1 ? "note or folder is" : "notes or folders are";
  const found = count > 0 && `${count} ${what} not searched: ${first.join(", ")}${more}`;
  const chosen = byConfiguration > 0 && `${byConfiguration} excluded by configuration`;
  return [found, chosen].filter(Boolean).join("; ") || undefined;
}

/** What a report says is the case. One without a list has at most the one thing that its state and reason tell. */
export function conditionsOf({ state, reason, conditions }: SearchReport): readonly SearchCondition[] {
  if (Array.isArray(conditions)) return conditions.filter(isCondition);
  if (state !== "stale" && state !== "degraded") return [];
  return [{ state, reason: reason ?? `the memory is ${state}` }];
}

/** A report that says more: its state is the worst of all, its reason names each of them once, degraded ones first. */
export function withConditions(report: SearchReport, more: readonly SearchCondition[]): SearchReport {
  const known = conditionsOf(report);
  const conditions = [...new Map([...more, ...known].map((condition) => [condition.reason, condition])).values()];
  const added = more.filter(({ reason }) => !known.some((other) => other.reason === reason));
  if (added.length === 0) return { ...report, conditions };
  const degraded = conditions.filter(({ state }) => state === "degraded");
  const stale = conditions.filter(({ state }) => state === "stale");
  const worst = degraded.length > 0 ? "degraded" : "stale";
  // Why nothing was found, or why nothing could be searched. The reason of another state is among the conditions.
  const own = report.state === "ok" || report.state === "unavailable" ? report.reason : undefined;
  const reasons = [...degraded, ...stale].map(({ reason }) => reason);
  return {
    ...report,
    state: report.state === "unavailable" ? "unavailable" : worst,
    reason: [...reasons, ...(own === undefined ? [] : [own])].join("; "),
    conditions,
  };
}

function isCondition(value: unknown): value is SearchCondition {
  if (typeof value !== "object" || value === null) return false;
  const { state, reason } = value as Record<string, unknown>;
  return (state === "stale" || state === "degraded") && typeof reason === "string";
}

/** Says how words of a question were read that stand in none of the notes, as one sentence without its full stop. */
export function describeReadings(readings: readonly WordReading[]): string {
  return readings.map(({ word, as }) => `"${word}" was read as ${as}`).join(", ");
}
