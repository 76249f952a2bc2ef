import type { ChunkIndex, ChunkRow } from "../chunk-index.ts";
import { isAsked } from "../chunk-store.ts";
import { linksIn } from "../listing/note-links.ts";
import { createLinkResolver } from "../listing/resolve-link.ts";
import { headingOf } from "../text/chunk-markdown.ts";
import movedWords from "./moved-words.json" with { type: "json" };
import type { MovedNote } from "./rank.ts";
import type { SearchedSource } from "./search-outcome.ts";

/** Bytes and words of a stub at most, and results that are looked at for stubs. */
const maxBytes = 600;
const maxWords = 30;
const maxRows = 20;

const moved = new RegExp(
  movedWords
    .map((words) => (/^\p{Script=Han}/u.test(words) ? words : `(?<!\\p{L})${words.replaceAll(".", "\\.")}(?!\\p{L})`))
    .join("|"),
  "iu",
);

/** Finds the stubs among the best chunks, each with the chunks of its target, as far as these may be searched. */
export async function movedNotes(
  rows: readonly ChunkRow[],
  store: Pick<ChunkIndex, "listChunks" | "listFiles">,
  places: readonly SearchedSource[],
): Promise<MovedNote[]> {
  const stubs = rows.slice(0, maxRows).flatMap((row) => {
    const link = linkOfStub(row);
    return link === undefined ? [] : [{ row, link }];
  });
  if (stubs.length === 0) return [];
  const resolve = createLinkResolver((await store.listFiles()).filter(({ source }) => source === "memory"));
  const found = stubs.map(async ({ row, link }) => {
    const { path } = resolve(row.path, link);
    const place = places.find(({ source }) => source === row.source);
    if (path === undefined || path === row.path || place === undefined) return [];
    const { source, scope } = place;
    if (!isAsked({ path, source }, { sources: [source], scope })) return [];
    const target = await store.listChunks({
      sources: [source],
      scope: { within: [path], without: [] },
      withText: true,
    });
    return target.length === 0 ? [] : [{ stub: row.id, rows: target }];
  });
  return (await Promise.all(found)).flat();
}

/** The one link of a short note that says that its text has moved, or that is nothing but the link. */
function linkOfStub({ text: whole, noteBytes = Infinity }: ChunkRow): ReturnType<typeof linksIn>[number] | undefined {
  if (noteBytes > maxBytes) return undefined;
  const lines = whole.split("\n").filter((line) => headingOf(line) === undefined);
  const links = linksIn(lines);
  const [link] = links;
  if (link === undefined || links.some(({ target }) => target !== link.target)) return undefined;
  const text = lines.join(" ");
  const around = text.split(/\s*(?:\[\[.*?\]\]|\[[^\]]*\]\([^)]*\))\s*/u).join(" ");
  const words = around.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length <= 1 || (words.length <= maxWords && moved.test(`${text} ${around}`)) ? link : undefined;
}
