import type { NoteLink } from "@memslot/core";

/** A link as it is written in a note, with the line around it. */
export interface WrittenLink extends Pick<NoteLink, "line" | "kind" | "target"> {
  /** The line, shortened. */
  text: string;
}

/** Longer lines are no prose, and what looks for links in them takes time. */
const longestLine = 10_000;
const longestText = 200;
const wikiLink = /\[\[([^[\]\n]+)\]\]/gu;
const markdownLink = /\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:\s+["'(][^\n]*?)?\s*\)/gu;
/** An address, or the mark of a picture that is in the note itself. */
const isElsewhere = /^(?:[a-z][a-z0-9+.-]*:|\/\/|\[…\]$)/iu;

/** Links to other notes, in their order; what stands in code is none, and an address of the web is none. */
export function linksIn(lines: readonly string[]): WrittenLink[] {
  const links: WrittenLink[] = [];
  let fence: string | undefined;
  for (const [index, line] of lines.entries()) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (fence !== undefined) {
      if (mark?.startsWith(fence) === true) fence = undefined;
      continue;
    }
    if (fence !== undefined || line.length > longestLine || !line.includes("[")) continue;
    const text = line.replaceAll(/`[^`]*`/gu, " ");
    const found: Pick<WrittenLink, "kind" | "target">[] = [];
    for (const [, inner = ""] of text.matchAll(wikiLink))
      found.push({ kind: "wiki", target: (inner.split("|")[0] ?? "").replace(/\\$/u, "").trim() });
    for (const [, inBrackets, plain] of text.matchAll(markdownLink)) {
      const target = inBrackets ?? plain ?? "";
      if (!isElsewhere.test(target)) found.push({ kind: "markdown", target });
    }
    const shown = line.trim();
    for (const link of found)
      if (link.target !== "")
        links.push({ ...link, line: index + 1, text: shown.slice(0, longestText).toWellFormed() });
  }
  return links;
}
