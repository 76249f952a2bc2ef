import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Numbers that look random and are the same in every run (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Writes `files` Markdown notes of `bytes` each into `folder`: words of an invented language in a natural distribution
 * of frequencies, headings, paragraphs and lists, and in each note one fact with a code that stands nowhere else.
 */
export function writeCorpus(folder: string, files: number, bytes = 4096): void {
  const random = randomNumbers(20_261);
  const consonants = "bdfgklmnprstvz";
  const vowels = "aeiou";
  const words = Array.from({ length: 8000 }, (_, index) => {
    let word = "";
    for (let syllable = 0; syllable < 2 + (index % 3); syllable++) {
      word += `${consonants[Math.floor(random() * consonants.length)]}${vowels[Math.floor(random() * vowels.length)]}`;
    }
    return word;
  });
  // A logarithmic draw gives frequencies that fall with the rank, as in real text.
  const word = (): string => words[Math.min(words.length - 1, Math.floor(words.length ** random()))] ?? "";
  const sentence = (): string => {
    const text = Array.from({ length: 6 + Math.floor(random() * 12) }, word).join(" ");
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  };
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < files; index++) {
    let text = `# Note ${index}\n\nThe access code of project zephyr${index} is ${accessCode(index)}.\n\n`;
    for (let part = 0; text.length < bytes; part++) {
      if (part % 4 === 0) text += `## ${sentence()}\n\n`;
      text += `${Array.from({ length: 4 }, sentence).join(" ")}\n\n`;
      if (part % 5 === 4) text += `- ${sentence()}\n- ${sentence()}\n\n`;
    }
    writeFileSync(path.join(folder, `note-${String(index).padStart(5, "0")}.md`), `${text.slice(0, bytes - 1)}\n`);
  }
}

/** The code that only the note of this number holds. */
export function accessCode(index: number): string {
  return `QX-${(index * 7919) % 100_003}`;
}
