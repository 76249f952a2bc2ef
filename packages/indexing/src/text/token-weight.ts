/**
 * An estimate of how many tokens a text has for an embedding model, without its tokenizer: a quarter of a token for
 * each character, as for English, and 0.7 for each character of a script written without spaces, where the tokenizers
 * of current models give 0.6 to 1.
 */
export function estimateTokens(text: string): number {
  let dense = 0;
  for (let index = 0; index < text.length; index++) if (isDense(text.charCodeAt(index))) dense++;
  return (text.length - dense) * 0.25 + dense * 0.7;
}

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

function isDense(unit: number): boolean {
  return (
    (unit >= 0x2e80 && unit <= 0x9fff) || // CJK, kana, bopomofo
    (unit >= 0xac00 && unit <= 0xd7af) || // Hangul
    (unit >= 0xf900 && unit <= 0xfaff) || // CJK compatibility
    (unit >= 0xff00 && unit <= 0xffef) || // full-width forms
    (unit >= 0x0e00 && unit <= 0x0eff) || // Thai, Lao
    (unit >= 0xd800 && unit <= 0xdfff) // outside the basic plane
  );
}
