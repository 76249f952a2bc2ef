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
