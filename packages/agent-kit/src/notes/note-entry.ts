import { tidyTags, tidyText, withoutListMark } from "./note-text.ts";

/** What `memory_append` writes: a list item of one stamp, text and tags. */
export interface NoteEntry {
  /** Its lines, without line ends. */
  readonly lines: readonly string[];
}

/** Lines that a heading or a code block begins with, also where they are indented by up to three spaces. */
const opensBlock = /^ {0,3}(?:#{1,6}(?=[ \t]|$)|`{3}|~{3})/;

/** Stamps of the daily logs and of the curated file. */
const stamped = /^- (?:\d{2}:\d{2}|\d{4,6}-\d{2}-\d{2}) (.*)$/;

/**
 * Every line but the first is indented, so that none of them can begin a heading, a code block or front matter of the
 * file: they belong to the list item and end with it.
 */
export function noteEntry(note: { stamp: string; text: string; tags: readonly string[] }): NoteEntry {
  const [first = "", ...rest] = tidyText(note.text).split("\n");
  const tags = tidyTags(note.tags).map((tag) => ` #${tag}`);
  return { lines: [`- ${note.stamp} ${first}${tags.join("")}`, ...rest.map(indented)] };
}

function indented(line: string): string {
  if (line === "") return "";
  // Four spaces, because readers that know nothing of lists take a mark behind two for the beginning of a block.
  return opensBlock.test(`  ${line}`) ? `    ${line}` : `  ${line}`;
}

/** The lines, counted from 1, of an entry that says the same, whatever its stamp. */
export function findSame(
  lines: readonly string[],
  entry: NoteEntry,
): { startLine: number; endLine: number } | undefined {
  const wanted = contentOf(entry.lines);
  for (let start = 0; start < lines.length; start++) {
    if (!stamped.test(lines[start] ?? "")) continue;
    const end = endOfEntry(lines, start);
    if (saySame(contentOf(lines.slice(start, end)), wanted)) return { startLine: start + 1, endLine: end };
  }
  return undefined;
}

/** The line after the last one that belongs to the list item. */
export function endOfEntry(lines: readonly string[], start: number): number {
  let end = start + 1;
  for (let index = end; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (line.trim() === "") continue;
    if (!line.startsWith("  ")) break;
    end = index + 1;
  }
  return end;
}

interface EntryContent {
  /** The first line without stamp, tags and list mark. */
  said: string;
  /** Tags in order, and the other lines. */
  rest: string;
}

function contentOf([first = "", ...others]: readonly string[]): EntryContent {
  let said = (stamped.exec(first)?.[1] ?? first).normalize("NFC").trim();
  const tags: string[] = [];
  for (;;) {
    const word = said.slice(said.lastIndexOf(" ") + 1);
    if (word.length === said.length || !/^#[\p{L}\p{M}\p{N}_-]+$/u.test(word)) break;
    tags.push(word);
    said = said.slice(0, -word.length).trimEnd();
  }
  const lines = others.map((line) => line.normalize("NFC").trimEnd());
  return { said: withoutListMark(said), rest: JSON.stringify([tidyTags(tags).toSorted(), lines]) };
}

/** A number at the beginning of one of the two is that of a list; of both, it may be a day: `3. October`. */
function saySame(a: EntryContent, b: EntryContent): boolean {
  const [withoutA, withoutB] = [a, b].map(({ said }) => said.replace(/^\d{1,3}[.)] +/, ""));
  return a.rest === b.rest && (a.said === b.said || withoutA === b.said || a.said === withoutB);
}

/** Where exactly this entry stands in a text with LF line ends: the last place, as it was written at the end. */
export function findWritten(text: string, entry: NoteEntry): { startLine: number; endLine: number } | undefined {
  const written = entry.lines.join("\n");
  for (let index = text.lastIndexOf(written); index >= 0; index = text.lastIndexOf(written, index - 1)) {
    const after = text[index + written.length];
    if (after === undefined || after === "\n") {
      const startLine = text.slice(0, index).split("\n").length;
      return { startLine, endLine: startLine + entry.lines.length - 1 };
    }
    if (index === 0) break;
  }
  return undefined;
}
