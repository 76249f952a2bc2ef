const cjk = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー";
const word = new RegExp(`[${cjk}]+|[\\p{L}\\p{M}\\p{N}_]+(?:[-./:@+#&'~=]+[\\p{L}\\p{M}\\p{N}_]+)*[+#]*`, "gu");
const isCjk = new RegExp(`^[${cjk}]`, "u");

/** As it is compared: capitals and the Unicode form make no difference. */
export const folded = (text) => text.toWellFormed().normalize("NFKC").toLowerCase();

/** The words of a text, each once: those of Chinese, Japanese and Korean as pairs of characters, and the rest whole and in parts. */
export function wordsOf(text) {
  const found = new Set();
  for (const [whole] of folded(text).matchAll(word)) {
    const characters = [...whole];
    if (isCjk.test(whole) && characters.length > 1)
      for (let at = 1; at < characters.length; at++) found.add(characters[at - 1] + characters[at]);
    else {
      found.add(whole);
      for (const part of whole.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []) found.add(part);
    }
  }
  return found;
}
