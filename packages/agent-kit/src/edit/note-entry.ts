import { tidyTags, tidyText, withoutListMark } from "./validate-note.ts";

const opensBlock = /^ {0,3}(?:#{1,6}(?=[ \t]|$)|`{3}|~{3})/;

/** Stamps of the daily logs and of the curated file. */
const stamped = /^- (?:\d{2}:\d{2}|\d{4,6}-\d{2}-\d{2}) (.*)$/;

/** A list item of stamp, text and tags. Indents lines so that none begins a heading, code or front matter. */
export function noteEntry(note: { stamp: string; text: string; tags: readonly string[] }): string[] {
  const [first = "", ...rest] = tidyText(note.text).split("\n");
  const tags = tidyTags(note.tags).map((tag) => ` #${tag}`);
  return [`- ${note.stamp} ${first}${tags.join("")}`, ...rest.map(indented)];
}

function indented(line: string): string {
  if (line === "") return "";
  // Four spaces, because readers that ignore lists take a mark behind two spaces for the begin of a block.
  return opensBlock.test(`  ${line}`) ? `    ${line}` : `  ${line}`;
}

interface Lines {
  startLine: number;
  endLine: number;
}

/** Finds an entry with the same text and tags, whatever its stamp. Lines count from 1. */
export function findSame(lines: readonly string[], entry: readonly string[]): Lines | undefined {
  const wanted = contentOf(entry);
  for (let start = 0; start < lines.length; start++) {
    if (!stamped.test(lines[start] ?? "")) continue;
    const end = endOfEntry(lines, start);
    if (saySame(contentOf(lines.slice(start, end)), wanted)) return { startLine: start + 1, endLine: end };
  }
  return undefined;
}

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
  said: string;
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

/** A number at the begin of one text only is that of a list; at the begin of both it may be a day: `3. October`. */
function saySame(a: EntryContent, b: EntryContent): boolean {
  const [withoutA, withoutB] = [a, b].map(({ said }) => said.replace(/^\d{1,3}[.)] +/, ""));
  return a.rest === b.rest && (a.said === b.said || withoutA === b.said || a.said === withoutB);
}

export function findWritten(text: string, entry: readonly string[]): Lines | undefined {
  const written = entry.join("\n");
  for (let index = text.lastIndexOf(written); index >= 0; index = text.lastIndexOf(written, index - 1)) {
    const after = text[index + written.length];
    if (after === undefined || after === "\n") {
      const startLine = text.slice(0, index).split("\n").length;
      return { startLine, endLine: startLine + entry.length - 1 };
    }
    if (index === 0) break;
  }
  return undefined;
}
