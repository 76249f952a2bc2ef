import { connectMarkers } from "@memslot/indexing/host";

/** Inserts something into a file, and removes it again. Both take and return the whole text. */
export interface TextEdit {
  /** Inserts it; the same text if it is there already. Throws `UnusableFile`. An absent file is an empty text. */
  put(text: string): string;
  /** Removes it, and nothing else; the same text if it is not there. Throws `UnusableFile`. */
  remove(text: string): string;
  /** Whether the text that `remove` left is empty, so that a file created for it can be deleted. */
  isEmpty(text: string): boolean;
}

/** A file that cannot be edited and is left unchanged. The message gives the reason; `line` is counted from 1. */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile";
  readonly line: number | undefined;

  constructor(problem: string, line?: number) {
    super(problem);
    this.line = line;
  }
}

/** The line number of a position, from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

interface TextForm {
  readonly mark: string;
  readonly lineEnd: "\n" | "\r\n";
}

const mark = "\uFEFF";

/** Splits off the byte order mark and detects the line ends of most lines. */
export function formOf(text: string): { form: TextForm; body: string } {
  const hasMark = text.startsWith(mark);
  const body = hasMark ? text.slice(mark.length) : text;
  const returns = body.split("\r\n").length - 1;
  const breaks = body.split("\n").length - 1;
  return { form: { mark: hasMark ? mark : "", lineEnd: returns * 2 > breaks ? "\r\n" : "\n" }, body };
}

function inForm(text: string, { lineEnd }: TextForm): string {
  return text.replaceAll(/\r?\n/gu, lineEnd);
}

/** A value as `JSON.parse` returns it: some parsers make objects without a prototype, which equal no other object. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

interface Markers {
  readonly begin: string;
  readonly end: string;
}

export const tomlMarkers: Markers = { begin: "# memslot connect: begin", end: "# memslot connect: end" };

/** A block of lines at the end of a text file, between two marker lines. The rest stays byte for byte. */
export function markedBlock(lines: readonly string[], { begin, end }: Markers = connectMarkers): TextEdit {
  const block = [begin, ...lines, end].join("\n");
  return {
    put(text) {
      const { form, body } = formOf(text);
      const there = placeOf(body, { begin, end });
      const wanted = inForm(block, form);
      if (there !== undefined && there.end < body.length)
        return form.mark + body.slice(0, there.start) + wanted + body.slice(there.end);
      // The block ends with a line end, as other programs append lines. A file that had none gets no empty line before it.
      const bare = formOf(remove(text)).body;
      return `${form.mark}${bare}${bare === "" ? "" : form.lineEnd}${wanted}${form.lineEnd}`;
    },
    remove,
    isEmpty: (text) => formOf(text).body.trim() === "",
  };

  function remove(text: string): string {
    const { form, body } = formOf(text);
    const there = placeOf(body, { begin, end });
    if (there === undefined) return text;
    const after = body.slice(there.end);
    const before = body.slice(0, there.start);
    // With the empty line that was inserted before it. Earlier versions wrote no line end where the file had none.
    if (after === "") return form.mark + before.replace(/(?:\r?\n){1,2}$/u, "");
    const rest = after.replace(/^\r?\n/u, "");
    if (rest === "") return form.mark + before.replace(/\r?\n$/u, "");
    return form.mark + before.replace(/(\r?\n)\r?\n$/u, "$1") + rest;
  }
}

function placeOf(body: string, { begin, end }: Markers): { start: number; end: number } | undefined {
  const begins = linesLike(body, begin);
  const ends = linesLike(body, end);
  const [start] = begins;
  const [stop] = ends;
  if (start === undefined && stop === undefined) return undefined;
  if (start === undefined || stop === undefined || begins.length > 1 || ends.length > 1 || stop < start)
    throw new UnusableFile(
      `the lines "${begin}" and "${end}" must each occur once, in this order`,
      lineAt(body, start ?? stop ?? 0),
    );
  return { start, end: stop + end.length };
}

function linesLike(body: string, line: string): number[] {
  const found: number[] = [];
  for (let at = body.indexOf(line); at >= 0; at = body.indexOf(line, at + line.length)) {
    const isStart = at === 0 || body[at - 1] === "\n";
    if (isStart && /^[\t ]*(?:\r?\n|$)/u.test(body.slice(at + line.length))) found.push(at);
  }
  return found;
}

/** A file of its own, recognised by `mark`. Another file of this name is left unchanged. */
export function wholeFile(content: string, mark: string): TextEdit {
  return {
    put(text) {
      if (text.trim() !== "" && !text.includes(mark))
        throw new UnusableFile("another file of this name exists, which memslot has not written");
      return content;
    },
    remove: (text) => (text.includes(mark) ? "" : text),
    isEmpty: (text) => text.trim() === "",
  };
}
