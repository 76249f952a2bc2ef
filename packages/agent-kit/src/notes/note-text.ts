import { unseenCharacter, visibleText } from "@memslot/core";
import { redactSecrets, redactLines } from "@memslot/indexing/host";
import { isFrameEdge, promptMark, withoutPromptMarks } from "./prompt-marks.ts";

/** Characters that one note may have. A fact is a sentence or two; what is longer is a document. */
const textLimit = 8_000;
const tagLimit = 8;
const tagLength = 40;

/** What is wrong with a note, and what to change. */
interface NoteProblem {
  readonly field: "text" | "tags";
  readonly error: string;
}

/** A text as it is kept: one kind of line end, one form of each letter, nothing at the ends of lines. */
export function tidyText(text: string): string {
  const lines = text.normalize("NFC").replaceAll(/\r\n?/g, "\n").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}

/** A text without the mark of a list item: `- X`, `* X` and `- [ ] X` say what `X` says. */
export function withoutListMark(text: string): string {
  return text.replace(/^(?:[-*+\u2022] +)?(?:\[ \] +)?/u, "");
}

/** Tags without the mark that models like to write, each once. */
export function tidyTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.normalize("NFC").trim().replace(/^#/, "")))];
}

/**
 * Why a text cannot become a note: what would change the meaning of the file around it, could pass for a citation or for
 * the end of a recalled text, or cannot be seen by a person who reads it.
 */
export function noteProblem(note: { text: string; tags: readonly string[] }): NoteProblem | undefined {
  const error = textProblem(note.text);
  if (error !== undefined) return { field: "text", error };
  const tagError = tagsProblem(note.tags);
  return tagError === undefined ? undefined : { field: "tags", error: tagError };
}

function textProblem(given: string): string | undefined {
  if (given.length > textLimit)
    return `text has ${numbered(given.length)} characters, and a note at most ${numbered(textLimit)}: shorten it, or split it into several notes`;
  const unseen = unseenCharacter(given.replaceAll(/\r\n?/g, "\n"));
  if (unseen !== undefined) return `text holds ${unseen}: leave it out`;
  const text = tidyText(given);
  if (text === "") return "text is empty: write the fact that is to be remembered";
  if (/^[^\p{L}\p{N}]*NO_REPLY[^\p{L}\p{N}]*$/iu.test(text))
    return "text is only NO_REPLY, which is an answer and not a note: give it as your reply, without calling a tool";
  if (/<!--|-->|--!>/.test(text))
    return 'text holds "<!--" or "-->", which begin and end an HTML comment: leave them out, and write an arrow as "->"';
  const mark = promptMark(text);
  if (mark !== undefined)
    return `text holds "${mark}", which marks a turn or a tool in the prompts of models: leave it out, or write its word without the brackets`;
  for (const line of text.split("\n")) {
    const problem = lineProblem(line.trim());
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function lineProblem(line: string): string | undefined {
  if (line === "---" || line === "+++")
    return `text has a line that is only "${line}", which would begin or end front matter: leave that line out`;
  if (/^(?:[-*+>] ?)*[*_]{0,2}source[*_]{0,2}[:：].*#L\d/i.test(line.normalize("NFKC")))
    return 'text has a line "Source: path#L1-L2", which only memory itself writes: leave that line out, or say in a sentence where it is from';
  if (isFrameEdge(line))
    return `text has a line "${line.slice(0, 3)} … key", which marks recalled notes: leave such lines out, and write down only what is new`;
  return undefined;
}

function tagsProblem(given: readonly string[]): string | undefined {
  const tags = tidyTags(given);
  if (tags.length > tagLimit) return `tags has ${tags.length} words, and a note at most ${tagLimit}: keep the best`;
  for (const tag of tags) {
    const unseen = unseenCharacter(tag);
    if (unseen !== undefined) return `a tag holds ${unseen}: leave it out`;
    if (!/^[\p{L}\p{M}\p{N}_-]+$/u.test(tag))
      return `tags may hold letters, digits, "-" and "_" only, not ${JSON.stringify(tag.slice(0, tagLength))}`;
    if ([...tag].length > tagLength) return `a tag of ${[...tag].length} characters is too long: at most ${tagLength}`;
  }
  return undefined;
}

function numbered(count: number): string {
  return count.toLocaleString("en-US");
}

/**
 * A text that others have written as it may stand in a note: LF line ends, without what looks like a secret, without
 * control characters and marks of prompts, and with what cannot be seen made visible.
 */
export function copiedText(text: string): string {
  const clean = text
    .toWellFormed()
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\t\n]/gu, "");
  // It may repeat whatever a model has read.
  return visibleText(withoutPromptMarks(redactSecrets(clean))).trim();
}

const maxSlugLength = 40;

/** A few words as a part of a file's name: lower-case ASCII letters and digits, with `-` between; empty where none is left. */
export function slugOf(words: unknown): string {
  if (typeof words !== "string") return "";
  const [clean = ""] = redactLines([words.slice(0, 1_000)]);
  const ascii = clean
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  return ascii
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, maxSlugLength + 1)
    .replace(/^-/, "")
    .slice(0, maxSlugLength)
    .replace(/-$/, "");
}

/** Lines as `memory_get` counts them: nothing comes after the last line break. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
