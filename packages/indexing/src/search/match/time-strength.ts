import { weakConfidence } from "@memslot/core";
import type { Days } from "../../text/times/calendar.ts";
import type { Candidate } from "../rank.ts";
import type { MatchStrength } from "./match-strength.ts";

/** Chunks that are looked at: those of the very time come first. */
const lookedAt = 12;
/** What notes of days near the time are worth where none is of the time itself. */
const nearShare = 0.5;
/** What is left of the rest of a question about a day that no calendar has. */
const noDayShare = 0.3;

/** How far what is shown answers a question that is nothing but a time: by whether it is of that time, or of days near it. */
export function timeStrength(shown: readonly Candidate[], periods: readonly Days[]): MatchStrength {
  if (shown.length === 0) return { confidence: 0, match: { level: "none" } };
  const best = Math.max(...shown.map(({ timeMatch }) => timeMatch));
  const isOfTime = shown.slice(0, lookedAt).some(({ days }) => days !== undefined && isWithinAny(days, periods));
  // What is shown was found by the words of the time.
  if (!isOfTime && best === 0) return { confidence: 0, match: { level: "none", reason: "no note is of that time" } };
  const confidence = isOfTime ? best : nearShare * best;
  if (!isOfTime)
    return { confidence, match: { level: "weak", reason: "no note is of that time; these are of days near it" } };
  return { confidence, match: { level: confidence < weakConfidence ? "weak" : "strong" } };
}

/** The same for a question about a day that there is not: nothing is of it, whatever else it holds. */
export function ofNoDay({ confidence }: MatchStrength, noDays: readonly string[]): MatchStrength {
  const reason = `there is no day ${noDays.map((text) => JSON.stringify(text)).join(" or ")}`;
  return { confidence: noDayShare * confidence, match: { level: "none", reason } };
}

function isWithinAny({ from, to }: Days, periods: readonly Days[]): boolean {
  return periods.some((period) => from <= period.to && to >= period.from);
}
