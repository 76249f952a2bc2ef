import folds from "./folds.json" with { type: "json" };

const asciiOnly = /^[\x20-\x7e]*$/;
// Optional marks: accents, Hebrew points, Arabic vowel signs, Indic nukta; keycap frames, invisible characters and
// spaces from decomposition.
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

/** Replaces digits of other scripts by 0 to 9. Digits outside the basic plane stay, to keep offsets. */
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

export function isDigit(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= firstOtherDigit && digit.test(String.fromCharCode(unit)));
}

const firstOtherDigit = 0x660;

const endingMark = "~-";
const backwardMark = "~<";

/** Term of a word that may end a compound; weighs less than the word. */
export function endingTerm(word: string): string {
  return endingMark + word;
}

export function backwardTerm(word: string): string {
  return backwardMark + [...word].toReversed().join("");
}

export function isEnding(term: string): boolean {
  return term.startsWith(endingMark) || term.startsWith(backwardMark);
}

/** Arabic and Hebrew particles that are written together with a word. */
const scripts = [
  { letters: /^[\u0620-\u06ff]/u, article: /^[وف]?(?:[بك]?ال|لل)(?=.{3})/u, particle: /^[وفبلكس](?=.{3})/u },
  { letters: /^[\u05d0-\u05ea]/u, article: /^[ושכמבל]{0,2}ה(?=.{3})/u, particle: /^[ושכמבל](?=.{3})/u },
];

/** Removes the article of an Arabic or Hebrew word, or one or two particles. */
export function withoutParticles(word: string): { noun?: string | undefined; rests: string[] } | undefined {
  const script = scripts.find(({ letters }) => letters.test(word));
  if (script === undefined) return undefined;
  const noun = word.replace(script.article, "");
  if (noun !== word) return { noun, rests: [] };
  const first = word.replace(script.particle, "");
  const second = first.replace(script.particle, "");
  return { rests: [...new Set([first, second])].filter((rest) => rest !== word) };
}
