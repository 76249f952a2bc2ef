import { namesIn } from "../../text/note-context.ts";
import { indexAtTokens, surrogateSafe } from "../../text/split-by-tokens.ts";
import { type LineRange } from "@memslot/core";
import { answerTokens, isConversation, resultTokens } from "@memslot/core/host";
import type { Candidate } from "../rank.ts";
import { headingOf, mayHaveFrontMatter, silentLines } from "../../text/note-head.ts";
import { lineScore, matchLines, type WeightedTerm } from "../../text/bm25.ts";

const maxSnippetLength = 678;
const maxHeadingLength = 80;

const gap = "…";

export interface Passage {
  startLine: number;
  endLine: number;
  lines: LineRange[] | undefined;
  heading: string | undefined;
  snippet: string;
  /** What it takes of the budget of an answer, in estimated tokens. */
  tokens: number;
  pieces: readonly Piece[];
}

/** The text of a transcript is not made of the lines of its file: its chunks keep their own range. */
export function hasOwnLines({ row }: Candidate): boolean {
  return !isConversation(row);
}

function lineOf({ candidate, at }: Piece): number {
  return candidate.row.startLine + at;
}

export function inOrder(a: Piece, b: Piece): number {
  return lineOf(a) - lineOf(b) || a.start - b.start || (a.candidate.row.id < b.candidate.row.id ? -1 : 1);
}

/** A passage in the lines it was found in: `…` at both ends marks excluded text. */
export function within(passage: Passage, startLine: number, endLine: number): Passage {
  const before = startLine < passage.startLine ? `${gap}\n` : "";
  const behind = endLine > passage.endLine ? `\n${gap}` : "";
  return { ...passage, startLine, endLine, snippet: `${before}${passage.snippet}${behind}` };
}

/** Builds passages from chosen pieces, a new one when a text is full. Reuses equal ones of `known`. */
export function passagesOf(pieces: readonly Piece[], known: readonly Passage[] = []): Passage[] {
  const kept = new Map(known.map((passage) => [passage.pieces[0], passage]));
  const passages: Passage[] = [];
  let begun: Piece[] = [];
  let length = 0;
  const end = (): void => {
    const [first] = begun;
    if (first === undefined) return;
    const same = kept.get(first);
    const isSame = same?.pieces.length === begun.length && same.pieces.at(-1) === begun.at(-1);
    passages.push(isSame ? same : passageOf(begun));
  };
  for (const piece of pieces) {
    const before = begun.at(-1);
    const longer = length + piece.text.length + (before === undefined ? 0 : joint(before, piece).length);
    const isFull = before !== undefined && longer + ends(begun[0], piece) > maxSnippetLength - 2 * (gap.length + 1);
    if (isFull) end();
    length = isFull ? piece.text.length : longer;
    if (isFull) begun = [piece];
    else begun.push(piece);
  }
  end();
  return passages;
}

/** How much longer a text is for the marks where its first and its last line are cut. */
function ends(first: Piece | undefined, last: Piece): number {
  return (first !== undefined && first.start > 0 ? gap.length : 0) + (last.isCut ? gap.length : 0);
}

function passageOf(pieces: readonly Piece[]): Passage {
  const first = pieces[0] as Piece;
  const snippet = textOf(pieces);
  const heading = headingAbove(first);
  const whole = { snippet, heading, pieces, tokens: resultTokens({ snippet, heading }) };
  if (!hasOwnLines(first.candidate)) {
    const { startLine, endLine } = first.candidate.row;
    return { startLine, endLine, lines: undefined, ...whole };
  }
  const ranges = rangesOf(pieces);
  const startLine = ranges[0]?.[0] ?? lineOf(first);
  return { startLine, endLine: ranges.at(-1)?.[1] ?? startLine, lines: ranges, ...whole };
}

function rangesOf(pieces: readonly Piece[]): LineRange[] {
  const ranges: [number, number][] = [];
  let before: Piece | undefined;
  for (const piece of pieces) {
    const line = lineOf(piece);
    const last = ranges.at(-1);
    if (last !== undefined && before !== undefined && !isGap(before, piece)) last[1] = Math.max(last[1], line);
    else ranges.push([line, line]);
    before = piece;
  }
  return ranges;
}

export function isGap(before: Piece, next: Piece): boolean {
  const [from, to] = [lineOf(before), lineOf(next)];
  if (to <= from + 1) return false;
  const { candidate } =
    [before, next].find(({ candidate: { row } }) => row.startLine <= from && row.endLine >= to) ?? {};
  if (candidate === undefined) return true;
  const first = candidate.row.startLine;
  for (let line = from + 1; line < to; line++) if ((candidate.lines[line - first] ?? "").trim() !== "") return true;
  return false;
}

function textOf(pieces: readonly Piece[]): string {
  const [first, last] = [pieces[0], pieces.at(-1)];
  const texts = pieces.map((piece, at) => (at === 0 ? "" : joint(pieces[at - 1] as Piece, piece)) + piece.text);
  return [first !== undefined && first.start > 0 ? gap : "", ...texts, last?.isCut === true ? gap : ""].join("");
}

/** The joint of a piece with the one that stood before it last: most stay the same while pieces are added. */
const joints = new WeakMap<Piece, { before: Piece; text: string }>();

/** What stands between two pieces: line ends with the empty lines there, and marks for what is excluded. */
function joint(before: Piece, next: Piece): string {
  const known = joints.get(next);
  if (known?.before === before) return known.text;
  const text = makeJoint(before, next);
  joints.set(next, { before, text });
  return text;
}

function makeJoint(before: Piece, next: Piece): string {
  const isSameLine = lineOf(before) === lineOf(next);
  if (isSameLine && before.candidate === next.candidate && next.start === before.start + before.text.length) return "";
  const lines = hasOwnLines(next.candidate) ? lineOf(next) - lineOf(before) : next.at - before.at;
  const between = isSameLine ? "" : isGap(before, next) ? `\n${gap}\n` : "\n".repeat(Math.max(1, lines));
  return `${before.isCut ? gap : ""}${between}${next.start > 0 && !(isSameLine && before.isCut) ? gap : ""}`;
}

function headingAbove({ candidate, isHeading, title: own }: Piece): string | undefined {
  if (isHeading) return undefined;
  const title = own ?? namesIn(candidate.row.context).titles.at(-1);
  if (title === undefined || title === "" || candidate.row.path.includes(title)) return undefined;
  return title.length > maxHeadingLength
    ? `${title.slice(0, surrogateSafe(title, maxHeadingLength - 1))}${gap}`
    : title;
}

/** Titles above the best line, outermost first; those above its chunk only where no heading in the chunk ends them. */
export function sectionsAbove({ pieces }: Pick<Passage, "pieces">): string[] {
  const { candidate, at, isHeading } = pieces.reduce((best, piece) => (piece.score > best.score ? piece : best));
  const lines = candidate.lines.slice(0, at + 1).filter((line) => line.trim() !== "");
  const open: { title: string; level: number }[] = [];
  const headings = lines.flatMap((line) => headingOf(line) ?? []);
  for (const heading of headings) {
    while ((open.at(-1)?.level ?? 0) >= heading.level) open.pop();
    open.push(heading);
  }
  const outer = headingOf(lines[0] ?? "")?.level ?? Infinity;
  const isInContext = headings.every(({ level }) => level >= outer);
  if (isHeading) open.pop();
  return [...(isInContext ? namesIn(candidate.row.context).titles : []), ...open.map(({ title }) => title)];
}

export interface Piece {
  candidate: Candidate;
  at: number;
  /** Where it begins in its line, and whether there is more of the line behind it. */
  start: number;
  isCut: boolean;
  text: string;
  /** How much of the query it answers, with what its neighbours give it. */
  score: number;
  isHeading: boolean;
  /** Title of the last heading above it in its chunk. */
  title: string | undefined;
}

const maxPieceTokens = 100;
/** Share of the better neighbour's weight. */
const neighbourShare = 0.3;
const farShare = 0.1;
/** What a question hands to the line that answers it. */
const answerShare = 0.8;
/** Bonus of a line whose label matches (`Anna: …`), as a share of the query weight. */
const labelShare = 0.1;
/** Up to the colon: at most 40 characters, behind bullets and emphasis. */
const label = /^[^\p{L}\p{N}]{0,12}([^:：]{1,40})(?::[\s*_]|：)/u;

export function isQuestion(text: string): boolean {
  return /[?？]["'”’」)\s]*$/u.test(text);
}

/** The pieces of a chunk in order, at most `maxTokens` each. Front matter only if it matches. */
export function piecesOf(candidate: Candidate, terms: readonly WeightedTerm[], maxTokens: number): Piece[] {
  const pieces = allPiecesOf(candidate, terms, maxTokens);
  const { row, lines, matches } = candidate;
  if (row.startLine !== 1 || !mayHaveFrontMatter(lines)) return pieces;
  const silent = silentLines(lines);
  if (silent.size === 0) return pieces;
  const end = Math.max(...silent);
  const holdsWord = (at: number): boolean => (matches.lines[at]?.counts.size ?? 0) > 0;
  return pieces.filter(({ at }) => at > end || (holdsWord(at) && !silent.has(at)));
}

export function allPiecesOf(candidate: Candidate, terms: readonly WeightedTerm[], maxTokens: number): Piece[] {
  const limit = Math.min(maxPieceTokens, maxTokens);
  const pieces: Piece[] = [];
  const own: number[] = [];
  const ideal = terms.reduce((sum, { idf }) => sum + idf, 0);
  let title: string | undefined;
  for (const [at, line] of candidate.lines.entries()) {
    if (line.trim() === "") continue;
    const above = title;
    const heading = headingOf(line)?.title;
    title = heading ?? title;
    const parts = answerTokens(line) <= limit ? [line] : [...cutLine(line, limit)];
    const isWhole = parts.length === 1;
    const { lines } = isWhole ? candidate.matches : matchLines(parts, "", terms, candidate.scan);
    let start = 0;
    for (const [index, text] of parts.entries()) {
      const isCut = index + 1 < parts.length;
      const isHeading = isWhole && heading !== undefined;
      pieces.push({ candidate, at, start, isCut, text, score: 0, isHeading, title: above });
      const matches = lines[isWhole ? at : index];
      own.push(matches === undefined ? 0 : lineScore(matches, terms));
      start += text.length;
    }
  }
  const handed = own.map((score, index) => {
    const before = pieces[index - 1];
    return score + (before !== undefined && isQuestion(before.text) ? answerShare * (own[index - 1] ?? 0) : 0);
  });
  const better = (index: number, far: number): number => Math.max(handed[index - far] ?? 0, handed[index + far] ?? 0);
  for (const [index, piece] of pieces.entries()) {
    const named = own[index] === 0 ? undefined : label.exec(piece.text)?.[1];
    const isNamed = named !== undefined && matchLines([named], "", terms, candidate.scan).counts.size > 0;
    const near = (handed[index] ?? 0) + neighbourShare * better(index, 1);
    const far = near === 0 ? 0 : farShare * better(index, 2);
    piece.score = near + far + (isNamed ? labelShare * ideal : 0);
  }
  return pieces;
}

export const sentenceEnd: RegExp = /[.!?;]["'”’)\]]*\s|[。！？；…]["'”’」』)）]*/gu;
/** A long line in parts of whole sentences where they fit, each at most `limit` tokens. */
function* cutLine(line: string, limit: number): Generator<string> {
  const aim = limit / 2;
  const ends = [...line.matchAll(sentenceEnd)].map((match) => match.index + match[0].length);
  let start = 0;
  let end = 0;
  for (const next of [...ends, line.length]) {
    if (end > start && answerTokens(line.slice(start, next)) > aim) {
      yield* cutWords(line.slice(start, end), limit);
      start = end;
    }
    end = next;
  }
  yield* cutWords(line.slice(start), limit);
}

/** A sentence in parts of whole words, where it is too long to be one. */
function* cutWords(text: string, limit: number): Generator<string> {
  let start = 0;
  while (answerTokens(text.slice(start)) > limit) {
    const end = Math.max(start + 2, indexAtTokens(text, start, limit));
    const space = text.lastIndexOf(" ", end - 1);
    const at = space > start + (end - start) / 2 ? space + 1 : end;
    yield text.slice(start, at);
    start = at;
  }
  if (start < text.length) yield text.slice(start);
}

export function sectionsOf(pieces: readonly Piece[]): Piece[][] {
  const sections: Piece[][] = [[]];
  for (const piece of pieces) {
    if (piece.isHeading) sections.push([]);
    sections.at(-1)?.push(piece);
  }
  return sections;
}

export function isNextTo(a: Piece, b: Piece): boolean {
  return hasOwnLines(a.candidate) && !isGap(a, b);
}

export function goesOn(before: string, next: string): boolean {
  return /[\p{L}\p{N},;–-]\s*$/u.test(before) && /^\s*\p{Ll}/u.test(next);
}

export function idsOf(pieces: readonly Piece[]): Map<string, Piece> {
  const ids = new Map<string, Piece>();
  for (const piece of pieces) {
    const text = piece.text.trimEnd();
    const id = text.slice(text.lastIndexOf(" ") + 1);
    if (id.startsWith("^") && id !== text && !ids.has(id)) ids.set(id, piece);
  }
  return ids;
}

const indented = /^(\s*)(?:[-*+]|\d+[.)])\s/u;

/** For each piece the index of its parent list item or table head; else -1. */
export function parentsOf(pieces: readonly Piece[]): number[] {
  let head = -1;
  const open: { depth: number; at: number }[] = [];
  return pieces.map(({ text }, at) => {
    const isRow = /^\s*\|/u.test(text);
    head = isRow ? (head < 0 ? at : head) : -1;
    const depth = indented.exec(text)?.[1]?.length;
    if (depth !== undefined) {
      while ((open.at(-1)?.depth ?? -1) >= depth) open.pop();
      open.push({ depth, at });
    }
    if (isRow) return head === at ? -1 : head;
    return depth === undefined ? -1 : (open.at(-2)?.at ?? -1);
  });
}
