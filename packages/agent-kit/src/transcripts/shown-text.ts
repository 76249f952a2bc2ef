import { redactSecrets } from "@memslot/indexing/host";

/** A text as it is shown to a person. */
export interface ShownText {
  text: string;
  /** Characters that it has in all, where not all of them are here. */
  characters?: number | undefined;
}

/** More of one text is not looked at: nobody reads on. */
const mostCharacters = 256 * 1024;

/** The beginning of a text, without what looks like a secret, as in every copy that leaves the user's files. */
export function shownText(text: string, limit: number): ShownText {
  const looked = text.slice(0, Math.min(mostCharacters, Math.max(limit * 2, limit + 4_000)));
  const redacted = redactSecrets(looked);
  if (text.length === looked.length && redacted.length <= limit) return { text: redacted };
  return { text: redacted.slice(0, limit).toWellFormed(), characters: text.length };
}

/** The first line with something on it, shortened. */
export function shownLine(text: string, limit: number): string {
  const line = /\S[^\n\r]*/u.exec(text)?.[0] ?? "";
  const shown = shownText(line, limit);
  return shown.characters === undefined ? shown.text : `${shown.text.trimEnd()} …`;
}
