import path from "node:path";
import type { MemoryFileFacts, NoteBacklink } from "@memslot/core";
import type { FileRecord } from "../chunk-index.ts";
import type { NoteFacts } from "./note-facts.ts";
import { createLinkResolver } from "./resolve-link.ts";

const mostPassages = 2_000;
const mostLinks = 500;

/** What the index knows of one note; undefined where it is not indexed. `records` are those of all notes. */
export function describeFile(
  relPath: string,
  records: readonly FileRecord[],
  facts: ReadonlyMap<string, NoteFacts>,
): MemoryFileFacts | undefined {
  const wanted = path.posix.normalize(relPath.replace(/^\.\//u, ""));
  const own = facts.get(wanted);
  if (own === undefined) return undefined;
  const resolve = createLinkResolver(
    records.map((record) => {
      const { title, aliases } = facts.get(record.path) ?? {};
      return { path: record.path, title, aliases };
    }),
  );
  const links = own.links.map(({ text: _text, ...link }) => ({ ...link, ...resolve(wanted, link) }));
  const backlinks: NoteBacklink[] = [];
  for (const [from, { links: others }] of facts) {
    if (from === wanted) continue;
    for (const link of others)
      if (resolve(from, link).path === wanted) backlinks.push({ path: from, line: link.line, text: link.text });
  }
  return {
    path: wanted,
    passages: own.passages.slice(0, mostPassages),
    passageCount: own.passages.length,
    links: links.slice(0, mostLinks),
    linkCount: links.length,
    backlinks: backlinks
      .toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
      .slice(0, mostLinks),
    backlinkCount: backlinks.length,
  };
}
