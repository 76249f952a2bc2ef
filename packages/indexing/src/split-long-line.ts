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
    start = share > 0 ? (lastBreak(line, earliest, end - 1) ?? end) : end;
  }
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}

function lastBreak(line: string, from: number, to: number): number | undefined {
  const window = line.slice(from, to);
  for (const pattern of [sentenceEnd, softBreak]) {
    let last: number | undefined;
    for (const match of window.matchAll(pattern)) last = from + match.index + match[0].length;
    if (last !== undefined && last > from) return last;
  }
  return undefined;
}
