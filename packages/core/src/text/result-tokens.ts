/**
 * An estimate of how many tokens a text has for a language or embedding model, without its tokenizer: a quarter of a token
 * for each character, as for English, and 0.7 for each character of a script written without spaces, where the tokenizers
 * of current models give 0.6 to 1.
 */
export function estimateTokens(text: string): number {
  let dense = 0;
  for (let index = 0; index < text.length; index++) if (isDense(text.charCodeAt(index))) dense++;
  return (text.length - dense) * 0.25 + dense * 0.7;
}

/** Whether a UTF-16 unit is of a script that is written without spaces: it weighs 0.7 tokens in place of 0.25. */
export function isDense(unit: number): boolean {
  return (
    (unit >= 0x2e80 && unit <= 0x9fff) || // CJK, kana, bopomofo
    (unit >= 0xac00 && unit <= 0xd7af) || // Hangul
    (unit >= 0xf900 && unit <= 0xfaff) || // CJK compatibility
    (unit >= 0xff00 && unit <= 0xffef) || // full-width forms
    (unit >= 0x0e00 && unit <= 0x0eff) || // Thai, Lao
    (unit >= 0xd800 && unit <= 0xdfff) // outside the basic plane
  );
}

/** Results of an answer for a model or a person, which is led by its budget of tokens: only so that it is no list of names. */
export const mostResults = 12;

/** What naming the place of a result costs, in tokens, wherever it is shown. */
export const placeTokens = 8;

/** What a result takes of the budget of an answer, in estimated tokens: its text, the heading above it and its place. */
export function resultTokens({ snippet, heading = "" }: { snippet: string; heading?: string | undefined }): number {
  return placeTokens + estimateTokens(snippet) + estimateTokens(heading);
}
