/** No word of a text begins with these: they mark what a word ends with, as it is and from its last letter to its first. */
const endingMark = "~-";
const backwardMark = "~<";

/** The term of a word that may end with another one. What is found by it counts less than the word itself. */
export function endingTerm(word: string): string {
  return endingMark + word;
}

/** The term of a compound: its letters from the last to the first, so that the terms of its ends are beginnings of it. */
export function backwardTerm(word: string): string {
  return backwardMark + [...word].toReversed().join("");
}

export function isEnding(term: string): boolean {
  return term.startsWith(endingMark) || term.startsWith(backwardMark);
}

/** What Arabic and Hebrew write as one with a word: the article with what is before it, and other particles, one letter each. */
const scripts = [
  { letters: /^[\u0620-\u06ff]/u, article: /^[وف]?(?:[بك]?ال|لل)(?=.{3})/u, particle: /^[وفبلكس](?=.{3})/u },
  { letters: /^[\u05d0-\u05ea]/u, article: /^[ושכמבל]{0,2}ה(?=.{3})/u, particle: /^[ושכמבל](?=.{3})/u },
];

/**
 * A word of Arabic or Hebrew script without its article, or, as the first letter may be one of the word, what is left without
 * one and two particles.
 */
export function withoutParticles(word: string): { noun?: string | undefined; rests: string[] } | undefined {
  const script = scripts.find(({ letters }) => letters.test(word));
  if (script === undefined) return undefined;
  const noun = word.replace(script.article, "");
  if (noun !== word) return { noun, rests: [] };
  const first = word.replace(script.particle, "");
  const second = first.replace(script.particle, "");
  return { rests: [...new Set([first, second])].filter((rest) => rest !== word) };
}
