import { MemoryError } from "@memslot/core";

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
