export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Quotes a text for sh if it contains special characters. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_./:@%+=,-]+$/u.test(text) ? text : quoted(text);
}
