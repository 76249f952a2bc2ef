import type { MapNote, MemoryMap, MemoryPluginContext, MemorySearchManager, NearPassage } from "@memslot/core";
import type { NoteIndex } from "../note-index.ts";
import type { ChunkRow } from "../index-row-types.ts";
import type { MappedPassages } from "../ledger/ledger.ts";
import { type KeywordQuery, onlyIn, spaceName, type VectorSpace } from "../chunk-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { isoDate, localDay } from "../text/times/calendar.ts";
import { timeOfPath } from "../text/times/note-days.ts";
import { chunkHash } from "../text/chunk-markdown.ts";
import { queryTerms } from "../text/query-terms.ts";
import { isObject, jsonOf, textAt } from "../json-values.ts";

const mostGrowth = 1.5;
/** Words used to find similar passages. */
const wordsAsked = 40;
const textCharacters = 160;

/** The map of a memory, and what is near one of its passages. Absent if the index cannot draw one. */
export function createMemoryMap(
  store: NoteIndex,
  vectors: Embedder | undefined,
  { settings: { sources }, readOnly = false }: Pick<MemoryPluginContext, "settings" | "readOnly">,
): Pick<MemorySearchManager, "map" | "near"> {
  async function filledSpace(): Promise<VectorSpace | undefined> {
    const space = await vectors?.primary.knownSpace();
    return space !== undefined && (await store.spaceStats(space)).embedded > 0 ? space : undefined;
  }

  return {
    async map({ query, dimensions, signal }) {
      const space = await filledSpace();
      const name = `space:map:${dimensions}:${space === undefined ? "words" : spaceName(space)}`;
      const { chunks } = await store.stats();
      const kept = keptIn(await store.noted(name), chunks);
      const asked = query === undefined || space === undefined ? query : await placed(space, query, signal);
      signal.throwIfAborted();
      const mapped = await store.mapPassages({ space, query: asked, axes: kept, dimensions });
      if (!readOnly && kept === undefined && mapped.axes !== undefined)
        await store.note(name, JSON.stringify({ chunks, axes: mapped.axes }));
      return mapOf(mapped, space === undefined ? "words" : "meaning");
    },

    async near({ relPath, startLine, limit, signal }) {
      const row = await rowAt(relPath, startLine);
      if (row === undefined) return undefined;
      const space = await filledSpace();
      const vector = space && (await store.vectorOf(space, chunkHash(row)));
      signal.throwIfAborted();
      const asked = { sources: [...sources], limit: limit + 1 };
      const { rows } =
        space !== undefined && vector !== undefined
          ? await store.searchVector({ ...asked, space, vector }, { signal })
          : await withSharedWords(row, asked, signal);
      return rows
        .filter(({ id }) => id !== row.id)
        .slice(0, limit)
        .map((near) => nearOf(near));
    },
  };

  async function placed(space: VectorSpace, query: string, signal: AbortSignal): Promise<Float32Array | undefined> {
    const embedded = await vectors?.embedQuery(query, signal).catch(() => undefined);
    return embedded !== undefined && spaceName(embedded.space) === spaceName(space) ? embedded.vector : undefined;
  }

  /** Searches with words that occur in other passages too; unique words would match only this passage. */
  async function withSharedWords(
    row: ChunkRow,
    asked: Omit<KeywordQuery, "terms">,
    signal: AbortSignal,
  ): Promise<{ rows: ChunkRow[] }> {
    const terms = queryTerms(row.text.slice(0, 2_000)).slice(0, wordsAsked);
    if (terms.length === 0) return { rows: [] };
    const { rows, documentFrequencies } = await store.searchKeyword({ ...asked, terms }, { signal });
    if (rows.some(({ id }) => id !== row.id)) return { rows };
    const shared = terms.filter((_, index) => (documentFrequencies[index] ?? 0) > 1);
    return shared.length === 0 ? { rows } : await store.searchKeyword({ ...asked, terms: shared }, { signal });
  }

  async function rowAt(path: string, startLine: number): Promise<ChunkRow | undefined> {
    const rows = await store.listChunks({ sources: [...sources], scope: onlyIn([path]), withText: true });
    return rows.find((row) => row.path === path && row.startLine === startLine);
  }
}

function keptIn(text: string | undefined, chunks: number): string | undefined {
  const kept = jsonOf(text);
  const of = isObject(kept) ? Number(kept["chunks"]) : 0;
  const serves = of > 0 && chunks <= mostGrowth * of && of <= mostGrowth * chunks;
  return serves ? textAt(kept, "axes") : undefined;
}

function mapOf({ files, file, axes: _axes, fine, ...points }: MappedPassages, by: MemoryMap["by"]): MemoryMap {
  const notes = files.map(({ path, source, mtimeMs }): MapNote => {
    const day = timeOfPath(path)?.from ?? localDay(new Date(Math.max(0, mtimeMs)));
    return { path, source, day: isoDate(day) };
  });
  const bytes = fine && Buffer.from(fine.buffer, fine.byteOffset, fine.byteLength);
  return { by, notes, note: file, ...points, fine: bytes?.toString("base64") };
}

function nearOf({ path, source, startLine, endLine, text }: ChunkRow): NearPassage {
  const line = text.split("\n").find((each) => /[\p{L}\p{N}]/u.test(each)) ?? "";
  return { path, source, startLine, endLine, text: line.trim().slice(0, textCharacters).toWellFormed() };
}
