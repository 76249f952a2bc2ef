import folds from "./folds.json" with { type: "json" };

const asciiOnly = /^[\x20-\x7e]*$/;
// Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs and stretched letters, the dots of borrowed sounds in
// Devanagari and Gurmukhi: written or left out at will. The frames of keycaps, what is invisible, and the white space that
// some letters are made of when they are taken apart.
export const leftOut: RegExp =
  /\u0640|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u093c\u0a3c\u20d0-\u20ff\p{Variation_Selector}\u00ad\s]/gu;
/** Letters that stand for each other in one language or on one keyboard, and the ones that terms have. */
const otherLetters: ReadonlyMap<string, string> = new Map(Object.entries(folds));
const otherLetter = new RegExp(`[${Object.keys(folds).join("")}]`, "gu");
const otherDigit = /(?![0-9])\p{Nd}/gu;
const digit = /\p{Nd}/u;
const fromOtherDigits = /[\u0660-\uffff]/;

/** Lower case, without accents, with the digits 0 to 9, as terms are. */
export function foldWord(word: string): string {
  const lower = word.toLowerCase();
  if (asciiOnly.test(lower)) return lower;
  // Mathematical letters have no lower case of their own.
  const plain = lower.normalize("NFKD").toLowerCase().replaceAll(leftOut, "");
  return asciiDigits(plain.replaceAll(otherLetter, (letter) => otherLetters.get(letter) ?? letter)).normalize("NFC");
}

/** The same text with the digits 0 to 9 in place of those of other scripts. Digits outside the basic plane stay, so that no offset changes. */
export function asciiDigits(text: string): string {
  if (!fromOtherDigits.test(text)) return text;
  return text.replaceAll(otherDigit, (character) => {
    if (character.length > 1) return character;
    const code = character.charCodeAt(0);
    let zero = code;
    // Unicode has the ten digits of a script one after the other.
    while (code - zero < 9 && digit.test(String.fromCharCode(zero - 1))) zero--;
    return String(code - zero);
  });
}

/** Whether a UTF-16 unit is a decimal digit of any script. */
export function isDigit(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= firstOtherDigit && digit.test(String.fromCharCode(unit)));
}

const firstOtherDigit = 0x660;
