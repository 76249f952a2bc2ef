import { visibleText } from "@memslot/core";
import { unseenCharacter } from "@memslot/core/host";
import { redactSecrets, redactLines } from "@memslot/indexing/host";

/** Characters of one note. A fact is a sentence or two; a longer text is a document. */
const textLimit = 8_000;
const tagLimit = 8;
const tagLength = 40;

interface NoteProblem {
  readonly field: "text" | "tags";
  readonly error: string;
}

/** A text as it is kept: LF line ends, NFC, no white space at the ends of lines. */
export function tidyText(text: string): string {
  const lines = text.normalize("NFC").replaceAll(/\r\n?/g, "\n").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}

export function withoutListMark(text: string): string {
  return text.replace(/^(?:[-*+\u2022] +)?(?:\[ \] +)?/u, "");
}

export function flat(text: string): string {
  return withoutListMark(text.normalize("NFC").replaceAll(/\s+/g, " ").trim());
}

/** Each tag once, without the `#` that models like to write. */
export function tidyTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.normalize("NFC").trim().replace(/^#/, "")))];
}

/** Why a text cannot be a note: it would alter the file around it, imitate a delimiter, or be invisible. */
export function noteProblem({ text, tags = [] }: { text: string; tags?: readonly string[] }): NoteProblem | undefined {
  const error = textProblem(text);
  if (error !== undefined) return { field: "text", error };
  const tagError = tagsProblem(tags);
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

/** A foreign text as a note may have it: LF line ends, secrets masked, without control characters and prompt marks. */
export function copiedText(text: string): string {
  const clean = text
    .toWellFormed()
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\t\n]/gu, "");
  return visibleText(withoutPromptMarks(redactSecrets(clean))).trim();
}

const maxSlugLength = 40;

/** A few words as a part of a file name: lower-case ASCII letters and digits with `-` between; empty if none is left. */
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

/** Lines as `memory_get` counts them: none behind the last line end. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Marks of turns, roles and tools in prompts, by shape: `<|…|>`, common words in brackets, single tokens. */
const marks = [
  String.raw`<\|(?=[^\s<>\|]*\p{L})[^\s<>\|]{1,80}\|>`,
  String.raw`<<\/?SYS>>`,
  String.raw`\[\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS?|RESULTS?|CONTENT)|gMASK)\]`,
  String.raw`<\/?(?:(?:start|end|begin)_of_[a-z_]{1,40}|(?:fim|tool|function)_[a-z_]{1,40}|function=[\w.\-]{1,80})>`,
  String.raw`<\/?(?:bos|eos|sop|eop|unk|pad|(?:extra_id_|unused|SPECIAL_)\d{1,5}|[a-z]{2,20}_TOKEN)>`,
].join("|");
const anyMark = new RegExp(marks, "iv");

const angle = String.raw`(?:[<>\u02C2\u02C3\u1438\u1433]|[\p{Bidi_Mirrored}--\p{ASCII}])`;
const edge = new RegExp(
  String.raw`^[\s\-*+\|]*(?<signs>${angle}(?:\s?${angle})*).*?(?:\s|${angle})[0-9a-f]{12,64}$`,
  "iv",
);
const triple = /[\u22D8\u22D9\u2AF7\u2AF8]/;
const double = /[«»\u226A\u226B\u300A\u300B\u27EA\u27EB\u2AA1\u2AA2]/;

function promptMark(text: string): string | undefined {
  const folded = text.normalize("NFKC");
  const mark = anyMark.exec(folded)?.[0];
  if (mark !== undefined) return mark;
  // With its begin it strikes words out in HTML; alone it ends a turn.
  return folded.split("</s>").length > folded.split("<s>").length ? "</s>" : undefined;
}

/** A text without prompt marks: if it has one, all its brackets are removed. */
export function withoutPromptMarks(text: string): string {
  if (promptMark(text) === undefined) return text;
  return Array.from(text, (sign) => (/^[<>|[\]]$/.test(sign.normalize("NFKC")) ? " " : sign)).join("");
}

/** Whether a line looks like the delimiter of a recalled text: three characters like `<` or `>` and a key. */
function isFrameEdge(line: string): boolean {
  const signs = edge.exec(line.normalize("NFKC").trim())?.groups?.["signs"] ?? "";
  let count = 0;
  for (const sign of signs.replaceAll(/\s/g, "")) count += triple.test(sign) ? 3 : double.test(sign) ? 2 : 1;
  return count >= 3 && count < 7;
}
