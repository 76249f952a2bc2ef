import type { Memory, MemorySearchResult, SearchReport } from "@memslot/core";
import { formatCitation } from "@memslot/agent-kit";
import type { Answerer } from "./answerer.ts";
import { excerpt } from "./excerpt.ts";
import { type NoteUnit, noteUnits } from "./note-units.ts";
import { type CandidateUnit, type UnitMatch, matchUnits } from "./question-match.ts";
import { type Phrases, phrasesFor } from "./responder-phrases.ts";

/**
 * Measured on sample-workspace.questions.json: the right line of a question that shares words with it holds .54 of the
 * question at least, and .6 in all but one; a wrong line, also of a question that the notes cannot answer, .58 at most.
 */
const answerCoverage = 0.6;
/** Under this, a line has no more than an everyday word in common with the question. */
const weakCoverage = 0.3;

const maxResults = 8;
const maxQuotes = 3;
/** A further line is quoted when it is nearly as good as the first. */
const furtherShare = 0.75;
/** Lines above a result that are read for the heading that it stands under, and lines after it. */
const linesAbove = 80;
const linesBelow = 3;

/**
 * Answers without a language model: searches, reads the lines around what was found, and quotes those that hold the
 * words of the question, each with its citation. `memory` is undefined where memory is off, for the reason given.
 */
export function createResponder(options: { memory: Memory | undefined; offReason?: string | undefined }): Answerer {
  return {
    answer: async (question, { signal }) => {
      const phrases = phrasesFor(question);
      const { memory } = options;
      if (memory === undefined) return phrases.off(options.offReason);
      let report: SearchReport | undefined;
      const results = await memory.search(question, { maxResults, signal, onDebug: (given) => (report = given) });
      const candidates = await unitsAround(memory, results, signal);
      const matches = matchUnits(question, candidates);
      const lines = composed(question, matches, results, report, phrases);
      if (report !== undefined && report.state !== "ok") lines.push("", phrases.notWhole(report.state, report.reason));
      return lines.join("\n");
    },
  };
}

function composed(
  question: string,
  matches: readonly UnitMatch[],
  results: readonly MemorySearchResult[],
  report: SearchReport | undefined,
  phrases: Phrases,
): string[] {
  const [best] = matches;
  if (best !== undefined && best.coverage >= answerCoverage) {
    const alsoGood = ({ score, coverage }: UnitMatch): boolean =>
      score >= furtherShare * best.score && coverage >= answerCoverage;
    const quoted = matches.slice(0, maxQuotes).filter(alsoGood);
    return [phrases.found, ...quoted.flatMap((match) => quote(question, match))];
  }
  if (best !== undefined && best.coverage >= weakCoverage) return [phrases.weak, ...quote(question, best)];
  // Search by meaning may have found what no word of the question leads to.
  const near = report?.mode === "keyword" ? undefined : nearestByMeaning(matches, results);
  if (near !== undefined) return [phrases.weak, ...quote(question, near)];
  return report?.mode === "keyword" ? [phrases.nothing, phrases.wordsOnly] : [phrases.nothing];
}

function nearestByMeaning(
  matches: readonly UnitMatch[],
  results: readonly MemorySearchResult[],
): UnitMatch | undefined {
  const [first] = results;
  if (first?.vectorScore === undefined) return undefined;
  return matches.find(
    ({ path, unit }) => path === first.path && unit.endLine >= first.startLine && unit.startLine <= first.endLine,
  );
}

function quote(question: string, { path, unit }: UnitMatch): string[] {
  const lead = leadOf(path, unit);
  return [
    "",
    ...(lead === "" ? [] : [lead]),
    `> ${excerpt(question, unit.text)}`,
    `  ${formatCitation({ path, ...unit })}`,
  ];
}

/** Where the line belongs: the day of a daily log, the nearest heading, the list item that it stands under. */
function leadOf(path: string, unit: NoteUnit): string {
  const day = /(?:^|\/)(\d{4}-\d{2}-\d{2})[^/]*\.md$/.exec(path)?.[1];
  const above =
    [...unit.surroundings].length > 80 ? `${[...unit.surroundings].slice(0, 80).join("")}…` : unit.surroundings;
  const heading = unit.headings.at(-1);
  // Many daily logs have their day as the heading.
  const parts = [heading?.startsWith(day ?? "\n") ? undefined : day, heading, above];
  return parts.filter((part) => part !== undefined && part !== "").join(" › ");
}

/** The units that the results touch, each once, with the best score that leads to it. */
async function unitsAround(
  memory: Memory,
  results: readonly MemorySearchResult[],
  signal: AbortSignal,
): Promise<CandidateUnit[]> {
  const found = new Map<string, CandidateUnit>();
  const windows = await Promise.all(results.map((result) => unitsOf(memory, result, signal)));
  for (const [index, result] of results.entries()) {
    for (const unit of windows[index] ?? []) {
      const key = `${result.path}\n${unit.startLine}`;
      if (!found.has(key)) found.set(key, { path: result.path, unit, searchScore: result.score });
    }
  }
  return [...found.values()];
}

async function unitsOf(memory: Memory, result: MemorySearchResult, signal: AbortSignal): Promise<NoteUnit[]> {
  const from = Math.max(1, result.startLine - linesAbove);
  const lines = await readLines(memory, result.path, from, result.endLine + linesBelow, signal);
  return noteUnits(lines.join("\n"), from).filter((unit) => unit.endLine >= result.startLine);
}

/** A read gives a window of limited size and says where more begins. */
async function readLines(
  memory: Memory,
  relPath: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  let next: number | undefined = from;
  while (next !== undefined && next <= to) {
    const read = await memory.readFile({ relPath, from: next, lines: to - next + 1, signal });
    // What comes after the counted lines is a notice.
    lines.push(...read.text.split("\n").slice(0, read.lines ?? 0));
    next = read.nextFrom !== undefined && read.nextFrom > next ? read.nextFrom : undefined;
  }
  return lines;
}
