import type { Believed } from "./confidence.ts";
import type { Answer } from "./plain-fts.ts";
import type { EvidenceLines, VaultQuestion } from "./vault.ts";

/** What came of one question: the first six results, and how sure the answer is of itself. */
export interface Asked extends Believed {
  question: VaultQuestion;
  first: boolean;
  inSix: boolean;
  recall: number;
}

export const isAnswerable = ({ question }: Asked): boolean => question.evidence.length > 0;

/** So many lines of one piece of evidence are enough: a long note that was asked for by name need not be shown whole. */
const linesEnough = 10;

/** What the first six results of a question are worth. */
export function judge(question: VaultQuestion, results: readonly Answer[], sure: Omit<Believed, "held">): Asked {
  const right = new Set(question.evidence.map((place) => place.path));
  return {
    question,
    first: results.slice(0, 1).some((result) => right.has(result.path)),
    inSix: results.some((result) => right.has(result.path)),
    recall: mean(question.evidence.map((place) => shareFound(place, results))),
    held: question.evidence.some((place) => shareFound(place, results) > 0),
    ...sure,
  };
}

function shareFound(place: EvidenceLines, results: readonly Answer[]): number {
  const lines = Array.from({ length: place.endLine - place.startLine + 1 }, (_, index) => place.startLine + index);
  const found = lines.filter((line) =>
    results.some((result) => result.path === place.path && result.startLine <= line && result.endLine >= line),
  );
  return Math.min(1, found.length / Math.min(lines.length, linesEnough));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
