/** A text as one word for a shell of the family of `sh`. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The same, as it is where no shell takes any of it for a sign. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_./:@%+=,-]+$/u.test(text) ? text : quoted(text);
}
