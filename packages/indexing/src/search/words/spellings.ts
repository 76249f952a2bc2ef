import data from "./spellings.json" with { type: "json" };

const latin = "abcdefghijklmnopqrstuvwxyz";
const cyrillic = "абвгдежзийклмнопрстуфхцчшщъыьэюя";
/** A shorter word is one letter away from too many others. */
const minLength = 5;
const maxLength = 24;
/** Of a shorter word, the first letter is taken to be right. */
const firstLetterFrom = 7;

/**
 * The words that are one typing error away from this one, folded as it is: a letter too few, too many, another one, or two
 * neighbours the other way round (Damerau 1964). None for a word that is short, or in another script than Latin and Cyrillic.
 */
export function oneErrorAway(word: string): string[] {
  const alphabet = /^[a-zßøæłđ]+$/u.test(word) ? latin : /^[а-яё]+$/u.test(word) ? cyrillic : "";
  if (alphabet === "" || word.length < minLength || word.length > maxLength) return [];
  const from = word.length >= firstLetterFrom ? 0 : 1;
  const words = new Set<string>();
  for (let at = from; at <= word.length; at++) {
    const [head, tail] = [word.slice(0, at), word.slice(at)];
    if (tail !== "") words.add(head + tail.slice(1));
    for (const letter of alphabet) {
      words.add(head + letter + tail);
      if (tail !== "") words.add(head + letter + tail.slice(1));
    }
  }
  for (let at = 0; at + 1 < word.length; at++)
    words.add(word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2));
  words.delete(word);
  return [...words];
}

/** Letters that are written as two where a keyboard lacks them, and the one that is left of each without its mark. */
const spelledOut = data.spelledOut.map(([from = "", to = ""]) => [new RegExp(from, "g"), to] as const);
/** Letters that no keyboard of another language has, by the one that is written in their place. One of a word is enough. */
const barred: Readonly<Record<string, string>> = data.barred;
const inTwo: Readonly<Record<string, string>> = data.inTwo;

/** Other ways to write a word that holds, or lacks, letters with marks: `Mueller` for `Müller` and the other way round. */
export function otherSpellings(written: string, folded: string): string[] {
  const lower = written.normalize("NFC").toLowerCase();
  const words = [lower.replaceAll(/[äöüåøæß]/g, (letter) => inTwo[letter] ?? letter)];
  for (const [from, to] of spelledOut) words.push(folded.replaceAll(from, to));
  for (const [at, letter] of [...folded].entries()) {
    const other = barred[letter];
    if (other !== undefined) words.push(folded.slice(0, at) + other + folded.slice(at + 1));
  }
  return [...new Set(words)].filter((word) => word !== lower && word !== folded && word.length > 2);
}

/** Letters that hold the parts of a compound together in German and its neighbours. */
const links = ["", "s", "n", "en", "es", "er", "e"];
const minPart = 3;

/** The words that two neighbours of a question may be one word of. `isLinked`: in a language that joins them in either order. */
export function joinedWords(first: string, second: string, isLinked: boolean): string[] {
  if (first.length + second.length <= minPart) return [];
  if (!isLinked || first.length < minPart || second.length < minPart) return [first + second];
  return links.flatMap((link) => [first + link + second, second + link + first]);
}

/** The pairs of words that a compound may be made of, without what holds them together. */
export function splitWord(word: string, isLinked: boolean): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = minPart; at + minPart <= word.length; at++) {
    const [head, tail] = [word.slice(0, at), word.slice(at)];
    for (const link of isLinked ? links : [""]) {
      if (head.endsWith(link) && head.length - link.length >= minPart)
        pairs.push([head.slice(0, head.length - link.length), tail]);
    }
  }
  return pairs;
}
