/** What `memslot connect` puts into one file, and how it is taken out again. Both take and give the whole text. */
export interface TextEdit {
  /** Puts it there; the same text where it is there already. Throws `UnusableFile`. An absent file is an empty text. */
  put(text: string): string;
  /** Takes it out, and nothing else; the same text where it is not there. Throws `UnusableFile`. */
  remove(text: string): string;
  /** Whether the text that `remove` left is empty, so that a file created for it can be deleted. */
  isEmpty(text: string): boolean;
}

/** A file that cannot be edited as it is: it is left alone. The message says why, and the line where there is one. */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile";
  /** Counted from 1. */
  readonly line: number | undefined;

  constructor(problem: string, line?: number) {
    super(problem);
    this.line = line;
  }
}

/** The line of a position, counted from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** How a file is written, beside what it says: kept by every edit. */
export interface TextForm {
  /** A byte order mark, or nothing. */
  readonly mark: string;
  readonly lineEnd: "\n" | "\r\n";
}

const mark = "\uFEFF";

/** Takes the byte order mark off, and says which line ends most lines have. */
export function formOf(text: string): { form: TextForm; body: string } {
  const hasMark = text.startsWith(mark);
  const body = hasMark ? text.slice(mark.length) : text;
  const returns = body.split("\r\n").length - 1;
  const breaks = body.split("\n").length - 1;
  return { form: { mark: hasMark ? mark : "", lineEnd: returns * 2 > breaks ? "\r\n" : "\n" }, body };
}

/** A new text with the line ends of a file. */
export function inForm(text: string, { lineEnd }: TextForm): string {
  return text.replaceAll(/\r?\n/gu, lineEnd);
}

/** A value as `JSON.parse` makes it: the objects of some parsers have no prototype, by which none would equal one of ours. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}
