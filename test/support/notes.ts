/** Texts that take a chunk of the usual size, or two of 50 tokens. Each has a word of its own, in its first part. */
export function twoPartNote(index: number, word = `word${index}`): string {
  const filler = (from: number): string =>
    Array.from({ length: 9 }, (_, place) => `filler${(from + place) % 90}`).join(" ");
  return `# Note ${index}\n\nThe kitten knows ${word}. ${filler(index * 7)}\n\nThe piano of number ${index} sounds. ${filler(index * 11)}\n`;
}

/** So many of them, a hundred to a folder. */
export function twoPartNotes(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [noteName(index), twoPartNote(index)]));
}

export function noteName(index: number): string {
  return `memory/part-${Math.floor(index / 100)}/note-${index}.md`;
}
