import type { LineMatches, WeightedTerm } from "./line-scores.ts";
import { lineScore } from "./line-scores.ts";
import { surrogateSafe } from "../text/token-weight.ts";
import type { TermScanner } from "../text/languages/chunk-terms.ts";
import { scanTerms } from "../text/words.ts";

/** The longest snippet, in UTF-16 units. */
export const maxSnippetLength = 700;

const gap = "…";
/** What a line gets of the better of its neighbours: a match is understood by what stands around it. */
const neighbourShare = 0.5;
/** What a question hands to the line that answers it. */
const answerShare = 0.5;

/**
 * The lines of a chunk that show best why it was found, whole and in their order, at most `limit` characters; `…` on a
 * line of its own stands for lines that were left out. Without a match it is the beginning of the text.
 */
export function snippetOf(
  lines: readonly string[],
  matches: readonly LineMatches[],
  terms: readonly WeightedTerm[],
  limit: number = maxSnippetLength,
  scan: TermScanner = scanTerms,
): string {
  const text = lines.join("\n");
  if (text.length <= limit) return text;
  const own = matches.map((line) => lineScore(line, terms));
  const handed = own.map(
    (score, index) => score + (/[?？]\s*$/.test(lines[index - 1] ?? "") ? answerShare * (own[index - 1] ?? 0) : 0),
  );
  const scores = handed.map(
    (score, index) => score + neighbourShare * Math.max(handed[index - 1] ?? 0, handed[index + 1] ?? 0),
  );

  const order = lines.map((_, index) => index).filter((index) => (lines[index] ?? "").trim() !== "");
  order.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const chosen = new Set<number>();
  for (const index of order) {
    if (chosen.size > 0 && (scores[index] ?? 0) === 0 && !chosen.has(index - 1) && !chosen.has(index + 1)) continue;
    chosen.add(index);
    if (lengthOf(lines, chosen) <= limit) continue;
    // The best line alone is too long: a part of it is the snippet.
    if (chosen.size === 1) return cutLine(lines[index] ?? "", terms, limit, scan);
    chosen.delete(index);
  }
  return render(lines, chosen);
}

function render(lines: readonly string[], chosen: ReadonlySet<number>): string {
  const parts: string[] = [];
  let previous = -1;
  for (const index of [...chosen].toSorted((a, b) => a - b)) {
    if (lines.slice(previous + 1, index).some((line) => line.trim() !== "")) parts.push(gap);
    parts.push(lines[index] ?? "");
    previous = index;
  }
  if (lines.slice(previous + 1).some((line) => line.trim() !== "")) parts.push(gap);
  return parts.join("\n");
}

function lengthOf(lines: readonly string[], chosen: ReadonlySet<number>): number {
  return render(lines, chosen).length;
}

/** The window of a long line with the heaviest matches, cut between words or after a sentence. */
function cutLine(line: string, terms: readonly WeightedTerm[], limit: number, scan: TermScanner): string {
  const weights = new Map(terms.flatMap(({ term, forms = [], idf }) => [term, ...forms].map((form) => [form, idf])));
  const marks: { start: number; end: number; weight: number; term: string }[] = [];
  scan(line, (term, start, end) => {
    const weight = weights.get(term) ?? prefixWeight(term, terms);
    if (weight > 0) marks.push({ start, end, weight, term });
  });
  const room = limit - 2 * gap.length;
  let best = { weight: -1, start: 0, end: 0 };
  for (const [index, first] of marks.entries()) {
    const seen = new Set<string>();
    let weight = 0;
    let end = first.end;
    for (const mark of marks.slice(index)) {
      if (mark.end - first.start > room) break;
      weight += mark.weight * (seen.has(mark.term) ? 0.25 : 1);
      seen.add(mark.term);
      end = mark.end;
    }
    if (weight > best.weight) best = { weight, start: first.start, end };
  }
  const spare = Math.max(0, room - (best.end - best.start));
  let start = Math.max(0, Math.min(best.start - Math.floor(spare / 2), line.length - room));
  let end = Math.min(line.length, start + room);
  if (start > 0) start = nextBoundary(line, start, Math.min(best.start, start + 60));
  if (end < line.length) end = previousBoundary(line, end, Math.max(best.end, end - 60));
  return `${start > 0 ? gap : ""}${line.slice(start, end).trim()}${end < line.length ? gap : ""}`;
}

function prefixWeight(term: string, terms: readonly WeightedTerm[]): number {
  return terms.find((entry) => entry.prefix && term.startsWith(entry.term))?.idf ?? 0;
}

const boundary = /[\s.,;:!?，。；：！？、]/;

function nextBoundary(line: string, from: number, to: number): number {
  for (let index = from; index < to; index++) if (boundary.test(line[index] ?? "")) return index + 1;
  // Forwards, so that the snippet does not become longer.
  return surrogateSafe(line, from) === from ? from : from + 1;
}

function previousBoundary(line: string, from: number, to: number): number {
  for (let index = from; index > to; index--) if (boundary.test(line[index - 1] ?? "")) return index;
  return surrogateSafe(line, from);
}
