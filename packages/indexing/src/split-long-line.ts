import { indexAtTokens } from "./token-weight.ts";

const sentenceEnd = /[.!?。！？；;…](?=\s|$|\P{ASCII})/gu;
const softBreak = /[\s,，、:：]/gu;

/**
 * Cuts a line that is too long for one chunk into pieces of at most `tokens`: after a sentence where one ends in the
 * second half of the piece, else after a space or comma there, else between two characters. Each piece begins up to
 * `overlap` tokens before the end of the one before, at such a place too.
 */
export function splitLongLine(line: string, tokens: number, overlap: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < line.length) {
    const limit = indexAtTokens(line, start, tokens);
    if (limit >= line.length) {
      pieces.push(line.slice(start));
      break;
    }
    const end = lastBreak(line, start + Math.floor((limit - start) / 2), limit) ?? Math.max(limit, start + 1);
    pieces.push(line.slice(start, end));
    const share = overlap / tokens;
    const earliest = end - Math.floor((end - start) * share);
    start = share > 0 ? (firstBreak(line, earliest, end - 1) ?? end) : end;
  }
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}

function firstBreak(line: string, from: number, to: number): number | undefined {
  return breaks(line, from, to)[0];
}

function lastBreak(line: string, from: number, to: number): number | undefined {
  return breaks(line, from, to).at(-1);
}

/** The ends of sentences in a part of the line, or where none ends, of words. */
function breaks(line: string, from: number, to: number): number[] {
  const window = line.slice(from, to);
  const endsOf = (pattern: RegExp): number[] =>
    Array.from(window.matchAll(pattern), (match) => from + match.index + match[0].length);
  const sentences = endsOf(sentenceEnd);
  return sentences.length > 0 ? sentences : endsOf(softBreak);
}
