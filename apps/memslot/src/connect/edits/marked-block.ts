import { connectMarkers } from "@memslot/indexing/host";
import { type TextEdit, UnusableFile, formOf, inForm, lineAt } from "./text-form.ts";

/** The lines around a block. Whole lines, which stand in a file once. */
export interface Markers {
  readonly begin: string;
  readonly end: string;
}

/** Of Markdown files: nobody sees them in what is shown. */
export const markdownMarkers: Markers = connectMarkers;
/** Of TOML files. */
export const tomlMarkers: Markers = { begin: "# memslot connect: begin", end: "# memslot connect: end" };

/** A block of lines at the end of a text file, between two lines that mark it. The rest stays byte for byte. */
export function markedBlock(lines: readonly string[], { begin, end }: Markers): TextEdit {
  const block = [begin, ...lines, end].join("\n");
  return {
    put(text) {
      const { form, body } = formOf(text);
      const there = placeOf(body, { begin, end });
      const wanted = inForm(block, form);
      if (there !== undefined) return form.mark + body.slice(0, there.start) + wanted + body.slice(there.end);
      const gap = body === "" ? "" : body.endsWith("\n") ? form.lineEnd : form.lineEnd.repeat(2);
      // Without a line end at its end, the file had none before.
      return `${form.mark}${body}${gap}${wanted}${body === "" || body.endsWith("\n") ? form.lineEnd : ""}`;
    },
    remove(text) {
      const { form, body } = formOf(text);
      const there = placeOf(body, { begin, end });
      if (there === undefined) return text;
      const after = body.slice(there.end);
      const before = body.slice(0, there.start);
      // With the empty line that was put before it.
      if (after === "") return form.mark + before.replace(/(?:\r?\n){1,2}$/u, "");
      return form.mark + before.replace(/(\r?\n)\r?\n$/u, "$1") + after.replace(/^\r?\n/u, "");
    },
    isEmpty: (text) => formOf(text).body.trim() === "",
  };
}

function placeOf(body: string, { begin, end }: Markers): { start: number; end: number } | undefined {
  const begins = linesLike(body, begin);
  const ends = linesLike(body, end);
  const [start] = begins;
  const [stop] = ends;
  if (start === undefined && stop === undefined) return undefined;
  if (start === undefined || stop === undefined || begins.length > 1 || ends.length > 1 || stop < start)
    throw new UnusableFile(
      `the lines "${begin}" and "${end}" do not stand in it once each, in this order`,
      lineAt(body, start ?? stop ?? 0),
    );
  return { start, end: stop + end.length };
}

/** Where the lines begin that say just this. */
function linesLike(body: string, line: string): number[] {
  const found: number[] = [];
  for (let at = body.indexOf(line); at >= 0; at = body.indexOf(line, at + line.length)) {
    const isStart = at === 0 || body[at - 1] === "\n";
    if (isStart && /^[\t ]*(?:\r?\n|$)/u.test(body.slice(at + line.length))) found.push(at);
  }
  return found;
}

/** A file that belongs to this program alone, known by a text in it. One of the same name that lacks it is left alone. */
export function wholeFile(content: string, mark: string): TextEdit {
  return {
    put(text) {
      if (text.trim() !== "" && !text.includes(mark))
        throw new UnusableFile("another file of this name is there, which memslot has not written");
      return content;
    },
    remove: (text) => (text.includes(mark) ? "" : text),
    isEmpty: (text) => text.trim() === "",
  };
}
