import { headingOf } from "../../text/chunk-markdown.ts";
import { namesIn } from "../../text/note-context.ts";
import { surrogateSafe } from "../../text/token-weight.ts";
import { isConversation, type LineRange } from "@memslot/core";
import type { Candidate } from "../rank.ts";
import type { Piece } from "./pieces.ts";

/** The longest text of a result, in UTF-16 units: 700 together with the frame that a tool sets around it. */
const maxSnippetLength = 678;
const maxHeadingLength = 80;

/** Stands for what was left out. */
const gap = "…";

/** Lines of one note that are shown together. */
export interface Passage {
  startLine: number;
  endLine: number;
  /** The lines that are shown; undefined where lines have no numbers of their own. */
  lines: LineRange[] | undefined;
  heading: string | undefined;
  snippet: string;
  pieces: readonly Piece[];
}

/** The text of a transcript is not made of the lines of its file: its chunks keep their own range. */
export function hasOwnLines({ row }: Candidate): boolean {
  return !isConversation(row);
}

/** Number of the line of a piece in its file. */
function lineOf({ candidate, at }: Piece): number {
  return candidate.row.startLine + at;
}

export function inOrder(a: Piece, b: Piece): number {
  return lineOf(a) - lineOf(b) || a.start - b.start || (a.candidate.row.id < b.candidate.row.id ? -1 : 1);
}

/** A passage in the wider lines that it was found in: `…` at its beginning and its end stands for what is left out there. */
export function within(passage: Passage, startLine: number, endLine: number): Passage {
  const before = startLine < passage.startLine ? `${gap}\n` : "";
  const behind = endLine > passage.endLine ? `\n${gap}` : "";
  return { ...passage, startLine, endLine, snippet: `${before}${passage.snippet}${behind}` };
}

/** Makes passages of the chosen pieces of one note, in their order: a new one where the text of one has no room left. */
export function passagesOf(pieces: readonly Piece[]): Passage[] {
  const passages: Passage[] = [];
  let begun: Piece[] = [];
  for (const piece of pieces) {
    const longer = [...begun, piece];
    if (begun.length > 0 && textOf(longer).length > maxSnippetLength - 2 * (gap.length + 1)) {
      passages.push(passageOf(begun));
      begun = [piece];
    } else begun = longer;
  }
  if (begun.length > 0) passages.push(passageOf(begun));
  return passages;
}

function passageOf(pieces: readonly Piece[]): Passage {
  const first = pieces[0] as Piece;
  const snippet = textOf(pieces);
  const heading = headingAbove(first);
  const whole = { snippet, heading, pieces };
  if (!hasOwnLines(first.candidate)) {
    const { startLine, endLine } = first.candidate.row;
    return { startLine, endLine, lines: undefined, ...whole };
  }
  const ranges = rangesOf(pieces);
  const startLine = ranges[0]?.[0] ?? lineOf(first);
  return { startLine, endLine: ranges.at(-1)?.[1] ?? startLine, lines: ranges, ...whole };
}

/** The lines that are shown. Empty ones between two that are shown are shown too. */
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

/** Whether anything but empty lines was left out between two pieces. */
function isGap(before: Piece, next: Piece): boolean {
  const [from, to] = [lineOf(before), lineOf(next)];
  if (to <= from + 1) return false;
  const { candidate } =
    [before, next].find(({ candidate: { row } }) => row.startLine <= from && row.endLine >= to) ?? {};
  if (candidate === undefined) return true;
  const first = candidate.row.startLine;
  return candidate.lines.slice(from + 1 - first, to - first).some((line) => line.trim() !== "");
}

function textOf(pieces: readonly Piece[]): string {
  const shown: string[] = [];
  let before: Piece | undefined;
  for (const piece of pieces) {
    const isSameLine = before !== undefined && lineOf(before) === lineOf(piece);
    const follows = isSameLine && before?.candidate === piece.candidate && piece.start === endOf(before);
    if (follows) shown.push(piece.text);
    else {
      if (before !== undefined) {
        if (before.isCut) shown.push(gap);
        shown.push(isSameLine ? "" : isGap(before, piece) ? `\n${gap}\n` : between(before, piece));
      }
      if (piece.start > 0 && !(isSameLine && before?.isCut)) shown.push(gap);
      shown.push(piece.text);
    }
    before = piece;
  }
  if (before?.isCut) shown.push(gap);
  return shown.join("");
}

function endOf({ start, text }: Piece): number {
  return start + text.length;
}

/** Line ends between two pieces, with the empty lines that stand there. */
function between(before: Piece, next: Piece): string {
  return "\n".repeat(Math.max(1, hasOwnLines(next.candidate) ? lineOf(next) - lineOf(before) : next.at - before.at));
}

/** The heading that a piece stands under: of its chunk, or above that. */
function headingAbove({ candidate, at, isHeading }: Piece): string | undefined {
  if (isHeading) return undefined;
  let title: string | undefined;
  for (let index = at - 1; index >= 0 && title === undefined; index--)
    title = headingOf(candidate.lines[index] ?? "")?.title;
  title ??= namesIn(candidate.row.context).titles.at(-1);
  if (title === undefined || title === "" || candidate.row.path.includes(title)) return undefined;
  return title.length > maxHeadingLength
    ? `${title.slice(0, surrogateSafe(title, maxHeadingLength - 1))}${gap}`
    : title;
}
