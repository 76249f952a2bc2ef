import type { NoteIndex } from "../note-index.ts";
import type { ChunkRow } from "../index-row-types.ts";
import { isAsked, onlyIn } from "../chunk-store.ts";
import { createLinkResolver, linksIn, type WrittenLink } from "../scan/note-links.ts";
import { headingOf } from "../text/note-head.ts";
import { nameOfNote } from "../text/note-context.ts";
import words from "./moved-words.json" with { type: "json" };
import type { MovedNote } from "./rank.ts";
import type { SearchedSource } from "./search-outcome.ts";

/** Limits of a stub: its bytes, the different words beside its phrase, and the words between phrase and link. */
const maxBytes = 600;
const maxWords = 6;
const maxBetween = 3;
const maxRows = 20;

const apart = /[^\p{L}\p{M}\p{N}]+/gu;
const spaced = (text: string): string => ` ${text.normalize().toLowerCase().replaceAll(apart, " ").trim()} `;
const whole = (words: string): string => (/^[\u2e80-\u9fff]/u.test(words) ? words : `(?<= )${words}(?= )`);
const moved = new RegExp(words.moved.map(whole).join("|"), "gu");
const said = new RegExp([...words.moved, ...words.page].map(whole).join("|"), "gu");
const countOf = (text: string): number => new Set(text.match(/[\u2e80-\u9fff]{1,2}|[^ \u2e80-\u9fff]+/gu)).size;

/** Finds the stubs among the best chunks, each with the chunks of its target, as far as these may be searched. */
export async function movedNotes(
  rows: readonly ChunkRow[],
  store: Pick<NoteIndex, "listChunks" | "listFiles">,
  places: readonly SearchedSource[],
): Promise<MovedNote[]> {
  const stubs = rows.slice(0, maxRows).flatMap((row) => readStub(row) ?? []);
  if (stubs.length === 0) return [];
  const resolve = createLinkResolver((await store.listFiles()).filter(({ source }) => source === "memory"));
  const found = stubs.map(async ({ row, link, rest }) => {
    const { path } = resolve(row.path, link);
    const place = places.find(({ source }) => source === row.source);
    if (path === undefined || path === row.path || place === undefined) return [];
    const sources = [place.source];
    if (!isAsked({ path, source: place.source }, { sources, scope: place.scope })) return [];
    const targets = await store.listChunks({ sources, scope: onlyIn([path]), withText: true });
    return [{ stub: row.id, rest, rows: targets }];
  });
  return (await Promise.all(found)).flat();
}

/** Parses a stub: a short note with one link and a phrase of moving, or only a link. `rest` is its other text. */
function readStub(row: ChunkRow): { row: ChunkRow; link: WrittenLink; rest: string } | undefined {
  if (row.noteBytes === undefined || row.noteBytes > maxBytes || !row.text.includes("[")) return undefined;
  const body = row.text.replace(/^---\n[^]*?\n---(?=\n|$)/u, "");
  const lines = body.split("\n");
  const [link, ...links] = linksIn(lines);
  if (link === undefined || links.some(({ target }) => target !== link.target)) return undefined;
  const [before = "", alias, label, ...after] = body.split(/\[\[[^\]|]*\|?(.*?)\]\]|\[([^\]]*)\]\([^)]*\)/u);
  const shown = spaced(alias ?? label ?? "").trimEnd();
  const title = lines.flatMap((line) => headingOf(line)?.title ?? [])[0] ?? "";
  const names = [title, nameOfNote(row.path) ?? ""].map((name) => whole(spaced(name).trim())).join("|");
  const own = spaced(before).replaceAll(new RegExp(names, "gu"), "").trimEnd();
  const start = `${shown} `.search(moved) < 0 ? own : own + shown;
  const around = start + spaced(after.join(" "));
  const rest = around.replaceAll(said, "");
  const isMoved = around.matchAll(moved).some(({ 0: phrase, index }) => {
    const between = around.slice(Math.min(index + phrase.length, start.length), Math.max(index, start.length));
    return countOf(between) <= maxBetween;
  });
  return countOf(rest) <= (isMoved ? maxWords : 1) ? { row, link, rest } : undefined;
}
