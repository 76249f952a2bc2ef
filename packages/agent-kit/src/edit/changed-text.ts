import { MemoryError } from "@memslot/core";
import { curatedBudget } from "../notes/append-note.ts";
import { noteProblem } from "../notes/note-text.ts";

/** Where exactly one text stands in another. Throws `INVALID_ARGUMENT` where it does not, or more than once. */
export function onlyPlace(text: string, old: string, relPath: string): number {
  const at = text.indexOf(old);
  if (at < 0)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `old does not stand in ${relPath}: give the text exactly as the file has it, without the frame, with its spaces`,
    );
  if (text.indexOf(old, at + 1) >= 0)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `old stands more than once in ${relPath}: give more of the lines around it`,
    );
  return at;
}

/** A text with a part replaced, and the whole lines that are touched by it, as they were and as they will be. */
interface SplicedText {
  text: string;
  linesBefore: string;
  linesAfter: string;
}

export function splice(text: string, at: number, length: number, by: string): SplicedText {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const lineEnd = text.indexOf("\n", at + length);
  const end = lineEnd < 0 ? text.length : lineEnd;
  const [lead, rest] = [text.slice(start, at), text.slice(at + length, end)];
  return {
    text: text.slice(0, at) + by + text.slice(at + length),
    linesBefore: text.slice(start, end),
    linesAfter: lead + by + rest,
  };
}

/**
 * Refuses lines that could not have been appended: their whole is looked at, as hostile signs can be put together of parts
 * that are harmless. More headings or code blocks than before are none of an agent's. Throws `INVALID_ARGUMENT`.
 */
export function checkLines({ text, linesBefore, linesAfter }: SplicedText, relPath: string): void {
  // Where nothing is left of them, there is nothing to be looked at.
  const problem = linesAfter.trim() === "" ? undefined : noteProblem({ text: linesAfter, tags: [] });
  if (problem !== undefined) throw new MemoryError("INVALID_ARGUMENT", `the lines as they would be: ${problem.error}`);
  if (countOf(linesAfter, heading) > countOf(linesBefore, heading))
    throw new MemoryError("INVALID_ARGUMENT", "new would begin a heading: write it as a line without #");
  if (countOf(linesAfter, fence) !== countOf(linesBefore, fence))
    throw new MemoryError(
      "INVALID_ARGUMENT",
      "new would begin or end a code block of the file: leave the number of its fences as it is",
    );
  const grows = linesAfter.length > linesBefore.length;
  if (/^memory\.md$/iu.test(relPath) && grows && text.length > curatedBudget)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `${relPath} would have ${text.length} characters, more than the ${curatedBudget} that a session starts with: shorten it`,
    );
}

const heading = /^ {0,3}#{1,6}(?=[ \t]|$)/u;
const fence = /^ {0,3}(?:`{3}|~{3})/u;

function countOf(text: string, pattern: RegExp): number {
  return text.split("\n").filter((line) => pattern.test(line)).length;
}

const item =
  /^(?<mark>[ \t]*(?:[-*+]|\d{1,9}[.)]) (?:\[.\] )?)?(?<stamp>(?:\d{2}:\d{2}|\d{4,6}-\d{2}-\d{2}) )?(?<said>.*)$/u;

/**
 * The present text and, below it, the lines that it takes the place of, struck and linked to it: `[[#^id]]` leads to the
 * line that ends with `^id`, as editors of notes read it. Throws `INVALID_ARGUMENT` for lines that cannot be struck.
 */
export function superseding(old: string, text: string, { id, day }: { id: string; day: string }): string {
  const lines = old.split("\n");
  for (const line of lines) {
    if (line.includes("~~")) throw refused("holds struck text already");
    if (/^ {0,3}(?:#{1,6}(?=[ \t]|$)|`{3}|~{3})|^\s*\||^(?:---|\+\+\+)\s*$/u.test(line))
      throw refused("is a heading, a table, front matter or the edge of a code block");
  }
  const { mark = "" } = item.exec(lines[0] ?? "")?.groups ?? {};
  const [first = "", ...rest] = text.split("\n");
  const said = item.exec(first.trim())?.groups?.["said"] ?? first;
  const indent = " ".repeat(mark.length);
  const present = [`${mark}${mark === "" ? "" : `${day} `}${said}`, ...rest.map((line) => indent + line.trimStart())];
  const struck = lines.map((line, index) => {
    const { mark: own = "", stamp = "", said: words = "" } = item.exec(line)?.groups ?? {};
    const lead = own || (/^\s*/u.exec(words)?.[0] ?? "");
    const what = words.trim();
    const link = index === lines.length - 1 ? ` (superseded ${day}: [[#^${id}]])` : "";
    return what === "" ? line : `${lead}${stamp}~~${what}~~${link}`;
  });
  return [...present.slice(0, -1), `${present.at(-1) ?? ""} ^${id}`, ...struck].join("\n");
}

function refused(why: string): MemoryError {
  return new MemoryError(
    "INVALID_ARGUMENT",
    `a line of old ${why}, and cannot be superseded: edit it without supersedes`,
  );
}
