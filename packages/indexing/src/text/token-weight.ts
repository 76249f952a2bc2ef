import { isDense } from "@memslot/core";

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

/** The same index, or the one before it where it would fall inside a surrogate pair. */
export function surrogateSafe(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return index > 0 && index < text.length && unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}
