import type { ChunkIndex, ChunkRow, FileRecord } from "../chunk-index.ts";
import type { MemoryPassage } from "@memslot/core";
import { namesIn } from "../text/note-context.ts";
import { linksIn, type WrittenLink } from "./note-links.ts";

/** What the texts of an indexed note say of it beside what they say. */
export interface NoteFacts {
  title: string | undefined;
  aliases: readonly string[];
  tags: readonly string[];
  /** The day that its name or its front matter says, as `YYYY-MM-DD`. */
  day: string | undefined;
  passages: readonly MemoryPassage[];
  lines: number;
  links: readonly WrittenLink[];
}

/** Notes whose texts are at hand at once. */
const readAtOnce = 200;
const isDay = /^\d{4}-\d{2}-\d{2}$/u;

/**
 * Gives the facts of notes by their paths. The texts of a note are asked for once, and again when its content or the way
 * it was cut has changed; only the facts are kept.
 */
export function createNoteFacts(
  store: Pick<ChunkIndex, "listChunks">,
): (files: readonly FileRecord[], signal: AbortSignal) => Promise<ReadonlyMap<string, NoteFacts>> {
  let known = new Map<string, { state: string; facts: NoteFacts }>();

  async function look(files: readonly FileRecord[], signal: AbortSignal): Promise<ReadonlyMap<string, NoteFacts>> {
    const next: typeof known = new Map();
    const unread: FileRecord[] = [];
    for (const file of files) {
      const before = known.get(file.path);
      if (before?.state === stateOf(file)) next.set(file.path, before);
      else unread.push(file);
    }
    for (let from = 0; from < unread.length; from += readAtOnce) {
      signal.throwIfAborted();
      const some = unread.slice(from, from + readAtOnce);
      const scope = { within: some.map(({ path }) => path), without: [] };
      const rows = await store.listChunks({ sources: ["memory"], scope, withText: true });
      const byPath = Map.groupBy(rows, ({ path }) => path);
      for (const file of some)
        next.set(file.path, { state: stateOf(file), facts: factsOf(byPath.get(file.path) ?? []) });
    }
    known = next;
    return new Map([...next].map(([path, { facts }]) => [path, facts]));
  }

  // One after another: two that begin at once would ask for the same texts.
  let turn: Promise<unknown> = Promise.resolve();
  return async (files, signal) => {
    const own = turn.then(() => look(files, signal));
    turn = own.catch(() => undefined);
    return await own;
  };
}

function stateOf({ hash, recipe }: FileRecord): string {
  return `${hash} ${recipe}`;
}

function factsOf(rows: readonly ChunkRow[]): NoteFacts {
  const lines: string[] = [];
  const names = rows.map(({ context }) => namesIn(context));
  for (const { startLine, text } of rows)
    for (const [index, line] of text.split("\n").entries()) lines[startLine - 1 + index] ??= line;
  const whole = Array.from(lines, (line) => line ?? "");
  const titles = names[0]?.titles ?? [];
  const day = titles.find((title) => isDay.test(title));
  return {
    title: titles.find((title) => !isDay.test(title)) ?? firstHeading(whole),
    aliases: names[0]?.aliases ?? [],
    tags: [...new Set(names.flatMap(({ tags }) => tags))],
    day,
    passages: rows.map(({ startLine, endLine }) => ({ startLine, endLine })),
    lines: rows.reduce((last, { endLine }) => Math.max(last, endLine), 0),
    links: linksIn(whole),
  };
}

function firstHeading(lines: readonly string[]): string | undefined {
  const heading = lines.find((line) => /^#{1,6}\s/u.test(line));
  return (
    heading
      ?.replace(/^#+\s+/u, "")
      .replace(/\s+#+\s*$/u, "")
      .trim() || undefined
  );
}
