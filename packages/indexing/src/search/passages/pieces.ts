import { answerTokens } from "@memslot/core";
import { headingOf } from "../../text/chunk-markdown.ts";
import { mayHaveFrontMatter, silentLines } from "../../text/note-head.ts";
import { indexAtTokens } from "../../text/token-weight.ts";
import { lineScore, matchLines, type WeightedTerm } from "../line-scores.ts";
import type { Candidate } from "../rank.ts";

/** What passages are made of: a line of a chunk, or a part of one that is too long to be shown whole. */
export interface Piece {
  /** The chunk that it is of. */
  candidate: Candidate;
  /** Number of its line in the chunk, from 0. */
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

/** The longest line that is one piece, in estimated tokens. */
const maxPieceTokens = 100;
/** What a line gets of the better of its neighbours, and of the better of the lines behind them: context explains a match. */
const neighbourShare = 0.3;
const farShare = 0.1;
/** What a question hands to the line that answers it. */
const answerShare = 0.8;
/** What a line gets whose label holds a word of the query (`Anna: …`, `**Phone:** …`), as a share of the weight of all words of the query. */
const labelShare = 0.1;
/** Up to the colon: at most 40 characters, behind bullets and emphasis. */
const label = /^[^\p{L}\p{N}]{0,12}([^:：]{1,40})(?::[\s*_]|：)/u;

export function isQuestion(text: string): boolean {
  return /[?？]["'”’」)\s]*$/u.test(text);
}

/**
 * The pieces of a chunk in their order, without its empty lines. None is longer than `maxTokens`. Of front matter only what
 * is a thing that the note says, and holds a word of the query: the rest of it is no text.
 */
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

/** The same with all of its front matter. */
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
