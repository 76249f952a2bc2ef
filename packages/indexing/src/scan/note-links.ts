import path from "node:path";
import type { MemoryFile, NoteLink } from "@memslot/core";
import { proseLines, withoutCode } from "../text/note-head.ts";
import { foldedName, markdownEndings } from "./folder-rules.ts";

export interface WrittenLink extends Pick<NoteLink, "line" | "kind" | "target"> {
  text: string;
}

/** Longer lines are no prose, and what looks for links in them takes time. */
const longestLine = 10_000;
const longestText = 200;
const wikiLink = /\[\[([^[\]\n]+)\]\]/gu;
const markdownLink = /\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*))(?:\s+["'(][^\n]*?)?\s*\)/gu;
/** An address, or the mark of a picture that is in the note itself. */
const isElsewhere = /^(?:[a-z][a-z0-9+.-]*:|\/\/|\[…\]$)/iu;

/** Links to other notes, in their order; what is in code is none, and an address of the web is none. */
export function linksIn(lines: readonly string[]): WrittenLink[] {
  const links: WrittenLink[] = [];
  for (const [index, line] of proseLines(lines)) {
    if (line.length > longestLine || !line.includes("[")) continue;
    const text = withoutCode(line);
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

/** Finds link targets as Obsidian does: path, file name or alias; same folder, then shortest path first. */
export function createLinkResolver(
  files: readonly Pick<MemoryFile, "path" | "title" | "aliases">[],
): (from: string, link: Pick<NoteLink, "kind" | "target">) => Pick<NoteLink, "path" | "heading"> {
  const byPath = new Map<string, string>();
  const byName = new Map<string, string[]>();
  const byOtherName = new Map<string, string[]>();
  const add = (table: Map<string, string[]>, name: string, file: string): void => {
    const known = table.get(name);
    if (known === undefined) table.set(name, [file]);
    else known.push(file);
  };
  for (const { path: file, title, aliases = [] } of files) {
    byPath.set(foldedName(file), file);
    add(byName, path.posix.basename(withoutEnding(foldedName(file))), file);
    for (const name of title === undefined ? aliases : [...aliases, title]) add(byOtherName, foldedName(name), file);
  }
  const at = (place: string): string | undefined => {
    const wanted = foldedName(path.posix.normalize(place));
    for (const ending of ["", ...markdownEndings]) {
      const found = byPath.get(wanted + ending);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  function wiki(from: string, target: string): string | undefined {
    const folder = path.posix.dirname(from);
    const exact = at(target.replace(/^\/+/u, "")) ?? at(path.posix.join(folder, target));
    if (exact !== undefined) return exact;
    const wanted = withoutEnding(foldedName(target)).replace(/^\/+/u, "");
    const named = (byName.get(path.posix.basename(wanted)) ?? []).filter((file) =>
      `/${withoutEnding(foldedName(file))}`.endsWith(`/${wanted}`),
    );
    return nearest(named, folder) ?? nearest(byOtherName.get(foldedName(target)) ?? [], folder);
  }

  return (from, { kind, target }) => {
    const { place, heading } = parts(kind, target);
    if (place === "") return { path: from, heading };
    if (kind === "wiki") return { path: wiki(from, place), heading };
    const written = decoded(place);
    const own = written.startsWith("/") ? written.slice(1) : path.posix.join(path.posix.dirname(from), written);
    return { path: at(own), heading };
  };
}

function parts(kind: NoteLink["kind"], target: string): { place: string; heading: string | undefined } {
  const [before = "", ...headings] = target.split("#");
  const place = kind === "wiki" ? before.trim() : before.replace(/\?.*$/u, "");
  return { place, heading: decoded(headings.at(-1) ?? "") || undefined };
}

function nearest(files: readonly string[], folder: string): string | undefined {
  return files.toSorted(
    (a, b) =>
      Number(path.posix.dirname(b) === folder) - Number(path.posix.dirname(a) === folder) ||
      a.length - b.length ||
      (a < b ? -1 : 1),
  )[0];
}

function withoutEnding(name: string): string {
  const ending = markdownEndings.find((each) => name.endsWith(each));
  return ending === undefined ? name : name.slice(0, -ending.length);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A plain name that holds a `%`.
  }
}
