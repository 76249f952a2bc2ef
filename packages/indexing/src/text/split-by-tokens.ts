import { isDense } from "@memslot/core/host";

export { estimateTokens } from "@memslot/core";

/** How far one can go from `start` within `tokens`, as an index into the text; never inside a surrogate pair. */
export function indexAtTokens(text: string, start: number, tokens: number): number {
  let used = 0;
  let index = start;
  for (; index < text.length; index++) {
    used += isDense(text.charCodeAt(index)) ? 0.7 : 0.25;
    if (used > tokens) break;
  }
  return surrogateSafe(text, index);
}

export function surrogateSafe(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return index > 0 && index < text.length && unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}

const sentenceEnd = /[.!?。！？；;…](?=\s|$|\P{ASCII})/gu;
const softBreak = /[\s,，、:：]/gu;

/** Cuts a long line into pieces of at most `tokens`, at sentences or words if possible. */
export function* splitLongLine(line: string, tokens: number, overlap: number): Generator<string> {
  let start = 0;
  while (start < line.length) {
    const limit = indexAtTokens(line, start, tokens);
    const last = limit >= line.length;
    const half = start + Math.floor((limit - start) / 2);
    const end = last ? line.length : (lastBreak(line, half, limit) ?? Math.max(limit, start + 1));
    const piece = line.slice(start, end).trim();
    if (piece !== "") yield piece;
    if (last) return;
    const share = overlap / tokens;
    const earliest = end - Math.floor((end - start) * share);
    start = share > 0 ? (firstBreak(line, earliest, end - 1) ?? end) : end;
  }
}

function firstBreak(line: string, from: number, to: number): number | undefined {
  return breaks(line, from, to)[0];
}

function lastBreak(line: string, from: number, to: number): number | undefined {
  return breaks(line, from, to).at(-1);
}

function breaks(line: string, from: number, to: number): number[] {
  // The character after a full stop decides whether a sentence ends.
  const window = line.slice(from, to + 1);
  const endsOf = (pattern: RegExp): number[] =>
    Array.from(window.matchAll(pattern), (match) => from + match.index + match[0].length).filter((end) => end <= to);
  const sentences = endsOf(sentenceEnd);
  return sentences.length > 0 ? sentences : endsOf(softBreak);
}
