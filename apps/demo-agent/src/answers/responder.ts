import type { Memory, MemorySearchResult, SearchReport, UnsearchedFiles } from "@memslot/core";
import { formatCitation } from "@memslot/agent-kit";
import { type NoteUnit, noteUnits } from "./note-units.ts";
import { type CandidateUnit, type UnitMatch, matchUnits } from "./question-match.ts";

/**
 * Measured on sample-workspace.questions.json: right lines cover .6 of the question (one .54), wrong ones at most .58.
 */
const answerCoverage = 0.6;
/** Below this, a line shares no more than a common word with the question. */
const weakCoverage = 0.3;

const maxResults = 8;
const maxQuotes = 3;
/** A further line is quoted if it is nearly as good as the first. */
const furtherShare = 0.75;
/** Lines read above a result, for its heading, and after it. */
const linesAbove = 80;
const linesBelow = 3;

/** Questions and their answers in a flush digest are not notes. */
const echo = /^\d{2}:\d{2} (?:assistant: |user: .*[?？]$)/;

/**
 * Answers without a language model: searches, and quotes matching lines with citations. `offReason`: why memory is off.
 */
export async function respond(question: string, { memory, offReason, signal }: RespondOptions): Promise<string> {
  const phrases = phrasesFor(question);
  if (memory === undefined) return phrases.off(offReason);
  const { results, report } = await memory.ask(question, { maxResults, signal });
  const matches = matchUnits(question, await unitsAround(memory, results, signal));
  const lines = composed(question, matches, results, report, phrases);
  // The answer may be in files that are not searched.
  if (report.unsearched !== undefined && lines[0] !== phrases.found) lines.push(phrases.unsearched(report.unsearched));
  if (report.state !== "ok") lines.push("", phrases.notWhole(report.state, report.reason));
  return lines.join("\n");
}

interface RespondOptions {
  memory: Memory | undefined;
  offReason?: string | undefined;
  signal: AbortSignal;
}

export function citationsOf(answer: string): string[] {
  return [...answer.matchAll(/^ {2}(\S.*#L\d+-L\d+)$/gm)].map(([, citation = ""]) => citation);
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
    const leastScore = furtherShare * best.score;
    const good = matches.filter(({ coverage, score }) => coverage >= answerCoverage && score >= leastScore);
    return [phrases.found, ...good.slice(0, maxQuotes).flatMap((match) => quote(question, match))];
  }
  if (best !== undefined && best.coverage >= weakCoverage) return [phrases.weak, ...quote(question, best)];
  if (report?.mode === "keyword") return [phrases.nothing, phrases.wordsOnly];
  // Vector search may have found a note without any word of the question.
  const [first] = results;
  const near = matches.find(({ path, unit }) => {
    if (first?.vectorScore === undefined || path !== first.path) return false;
    return unit.endLine >= first.startLine && unit.startLine <= first.endLine;
  });
  return near === undefined ? [phrases.nothing] : [phrases.weak, ...quote(question, near)];
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

function leadOf(path: string, unit: NoteUnit): string {
  const day = /(?:^|\/)(\d{4}-\d{2}-\d{2})[^/]*\.md$/.exec(path)?.[1];
  const characters = [...unit.surroundings];
  const above = characters.length > 80 ? `${characters.slice(0, 80).join("")}…` : unit.surroundings;
  const heading = unit.headings.at(-1);
  // The heading of many daily logs is their day.
  const parts = [heading?.startsWith(day ?? "\n") ? undefined : day, heading, above];
  return parts.filter((part) => part !== undefined && part !== "").join(" › ");
}

async function unitsAround(
  memory: Memory,
  results: readonly MemorySearchResult[],
  signal: AbortSignal,
): Promise<CandidateUnit[]> {
  const found = new Map<string, CandidateUnit>();
  const windows = await Promise.all(results.map((result) => unitsOf(memory, result, signal)));
  for (const [index, { path, score }] of results.entries()) {
    for (const unit of windows[index] ?? []) {
      const key = `${path}\n${unit.startLine}`;
      if (!found.has(key)) found.set(key, { path, unit, searchScore: score });
    }
  }
  return [...found.values()];
}

/** A user's line in a transcript: a question is found in place of its answer. */
function statement(line: string): string {
  return /^User: .*[^?？\s]$/.test(line) ? `- ${line}` : "";
}

async function unitsOf(memory: Memory, result: MemorySearchResult, signal: AbortSignal): Promise<NoteUnit[]> {
  const from = Math.max(1, result.startLine - linesAbove);
  const to = result.endLine + linesBelow;
  const lines: string[] = [];
  // A read returns a limited window and the start of the next one.
  for (let next: number | undefined = from; next !== undefined && next <= to;) {
    const read = await memory.readFile({ path: result.path, from: next, lines: to - next + 1, signal });
    // The lines after the counted ones are a notice.
    const part = read.text.split("\n").slice(0, read.lines ?? 0);
    lines.push(...(result.source === "memory" ? part : part.map(statement)));
    next = read.nextFrom !== undefined && read.nextFrom > next ? read.nextFrom : undefined;
  }
  const units = noteUnits(lines.join("\n"), from);
  return units.filter((unit) => unit.endLine >= result.startLine && !echo.test(unit.text));
}

const maxChars = 320;

function excerpt(question: string, text: string): string {
  if (text.length <= maxChars) return text;
  const sentences = sentencesOf(text);
  const candidates = sentences.map((sentence, index) => ({
    path: "",
    searchScore: 0,
    unit: { startLine: index, endLine: index, text: sentence, headings: [], surroundings: "" },
  }));
  let first = matchUnits(question, candidates)[0]?.unit.startLine ?? 0;
  let last = first;
  const lengthOf = (from: number, to: number): number => sentences.slice(from, to + 1).join("").length;
  while (last + 1 < sentences.length && lengthOf(first, last + 1) <= maxChars) last += 1;
  while (first > 0 && lengthOf(first - 1, last) <= maxChars) first -= 1;
  const quoted = sentences
    .slice(first, last + 1)
    .join("")
    .trim();
  return `${first > 0 ? "… " : ""}${quoted}${last + 1 < sentences.length ? " …" : ""}`;
}

function sentencesOf(text: string): string[] {
  return [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)].map(({ segment }) => segment);
}

/** Fixed phrases of the responder, by language. */
interface Phrases {
  found: string;
  weak: string;
  nothing: string;
  /** Why an existing note may not have been found. */
  wordsOnly: string;
  /** Notes in the workspace that are not part of the memory. */
  unsearched: (unsearched: UnsearchedFiles) => string;
  notWhole: (state: string, reason: string | undefined) => string;
  off: (reason: string | undefined) => string;
}

function phrasesFor(question: string): Phrases {
  return /\p{Script=Han}/u.test(question) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(question)
    ? chinese
    : english;
}

const english: Phrases = {
  found: "From the notes:",
  weak: "Memory holds no clear answer to this. The nearest line, a weak match:",
  nothing: "Memory holds nothing on this.",
  wordsOnly: "(The search is by words: a note that says it in other words is not found.)",
  unsearched: ({ files, more }) =>
    `(Markdown files below the workspace that are not searched: ${more ? "more than " : ""}${files}. Set memorySearch.notes to "all", or name their folders in memorySearch.extraPaths.)`,
  notWhole: (state, reason) =>
    `Note: memory is ${state}, so this may not be all${reason === undefined ? "" : `: ${reason}`}.`,
  off: (reason) => `Memory is off${reason === undefined ? "" : ` (${reason})`}, so there is nothing to answer from.`,
};

const chinese: Phrases = {
  found: "笔记里写着：",
  weak: "记忆里没有明确的答案。最接近的一条，只是弱匹配：",
  nothing: "记忆里没有这方面的内容。",
  wordsOnly: "（只按字词查找，换个说法也许能找到。）",
  unsearched: ({ files, more }) =>
    `（工作区里还有 ${files} 个${more ? "以上的" : ""} Markdown 文件没有被搜索：把 memorySearch.notes 设为 "all"，或把它们的文件夹写进 memorySearch.extraPaths。）`,
  notWhole: (state, reason) => `注意：记忆的状态是 ${state}，可能不全${reason === undefined ? "" : `：${reason}`}。`,
  off: (reason) => `记忆已关闭${reason === undefined ? "" : `（${reason}）`}，没有可以回答的依据。`,
};
