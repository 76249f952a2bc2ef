/** Parts of a word as tokenizers cut them: a word with its capital, capitals alone, up to three digits, one character. */
const pieces = /\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{Lu}+|\p{N}{1,3}|[^]/gu;
const digitAfterSpace = /(?<=[ \t])\p{N}/gu;
/** Keys, hashes and ids: tokenizers do not know their letters as words. */
const id = /^(?=.*\d)(?=.*[A-Za-z])[\w+/=.-]{12,}$|[bcdfghjklmnpqrstvwxz]{5}|[A-Za-z]{20}/u;

/**
 * An upper bound for the tokens of a text, so that a limit holds: not below o200k_base for prose, tables, ids, numbers, emoji
 * and other alphabets, and at most 2.3 times as much. `answerTokens` is exact for prose only.
 */
export function tokensAtMost(text: string): number {
  let tokens = (text.match(/\n/gu)?.length ?? 0) + (text.match(digitAfterSpace)?.length ?? 0);
  for (const [word] of text.matchAll(/\S+/gu)) {
    const known = !id.test(word) && (word.match(/[a-z][A-Z]/gu)?.length ?? 0) < 3;
    for (const [piece] of word.matchAll(pieces)) tokens += pieceTokens(piece, known);
  }
  return tokens;
}

function pieceTokens(piece: string, known: boolean): number {
  if (/^[a-z]+$/iu.test(piece)) {
    if (!known || /^[A-Z]{2}/u.test(piece)) return Math.ceil(piece.length * 0.6 + 0.2);
    return piece.length <= 8 ? 1 : Math.ceil(piece.length / 5);
  }
  if (/^\p{N}/u.test(piece)) return piece.length === Buffer.byteLength(piece) ? 1 : Buffer.byteLength(piece) / 2;
  if (!/^[\p{L}\p{M}]/u.test(piece)) return [1, 1, 1.2, 1.6, 2.6][Buffer.byteLength(piece)] ?? 3;
  return [...piece].reduce((sum, letter) => sum + letterTokens(letter), 0.4);
}

function letterTokens(letter: string): number {
  const code = letter.codePointAt(0) ?? 0;
  if (/\p{M}/u.test(letter)) return code < 0x900 ? 1.2 : 0.6;
  if (code < 0x250) return 0.55;
  if (code < 0x800) return /\p{Lu}/u.test(letter) ? 0.85 : 0.36;
  if (code < 0xe00) return 0.6;
  return code > 0xffff ? 3 : 0.9;
}
