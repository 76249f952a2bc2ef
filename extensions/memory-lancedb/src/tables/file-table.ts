import type { Chunk, IndexedFile, FileKey, FileTable, FileRecord } from "@memslot/indexing";
import { type Cell, tableOf } from "./arrow-rows.ts";
import {
  type ChunkListing,
  type FileFacts,
  keyOf,
  type ListedChunk,
  type ListedFile,
  type ListingChange,
} from "./chunk-listing.ts";
import { allOf, anyOf, atLeast, equals, type Filter, isMissing, not, oneOf } from "./filter.ts";
import type { Generations } from "../generations.ts";
import { chunkColumns } from "./tables.ts";
import type { WriteQueue } from "./write-queue.ts";

/** Which build a call is about, asked at the beginning of its work, and what is to be done after a change of it. */
export interface FileTarget {
  generation(): Promise<number>;
  changed(generation: number): Promise<void>;
}

/** One file as several versions of it in one call leave it: the chunks that come, and the line from which old ones go. */
interface Replacement {
  file: Omit<FileRecord, "path" | "source">;
  path: string;
  source: string;
  chunks: readonly Chunk[];
  fromLine: number;
}

type Row = Record<string, Cell>;

/** The files of one build. */
export function createFileTable(input: {
  generations: Generations;
  writes: WriteQueue;
  /** A number for a row, which no other row has. */
  nextId: () => number;
  target: FileTarget;
}): FileTable {
  const { generations, writes, nextId, target } = input;

  async function write(
    work: (generation: number, listing: ChunkListing) => Promise<ListingChange | undefined>,
  ): Promise<void> {
    const written = await writes.run(async () => {
      const generation = await target.generation();
      const listing = await generations.listing(generation);
      try {
        const change = await work(generation, listing);
        if (change) generations.follow(generation, change);
        return change && generation;
      } catch (error) {
        generations.distrust(generation);
        throw error;
      }
    });
    if (written !== undefined) await target.changed(written);
  }

  /** Everything of the file that stays and comes, with the rows to write. */
  function replace(listing: ChunkListing, replacement: Replacement): { file: ListedFile; rows: Row[] } {
    const { path, source, fromLine, chunks } = replacement;
    const known = listing.files.get(keyOf(replacement));
    const kept = known?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
    const listed: ListedChunk[] = [...kept];
    const rows: Row[] = [];
    for (const { startLine, endLine, text, context, terms, hash } of chunks) {
      const id = nextId();
      const bytes = Buffer.byteLength(text);
      listed.push({ id, path, source, startLine, endLine, hash, bytes });
      // With the space before them each word, the first too, is found by its beginning.
      const words = { text, context, terms: ` ${terms}`, hash };
      rows.push({ ...rowOf(id, replacement), start_line: startLine, end_line: endLine, bytes, ...words });
    }
    const facts: FileFacts = { ...replacement.file, chunks: listed.length };
    const id = nextId();
    rows.push({ ...rowOf(id, replacement), facts: JSON.stringify(facts) });
    return { file: { id, path, source, facts, chunks: listed }, rows };
  }

  return {
    async listFiles() {
      const { files } = await generations.listing(await target.generation());
      return [...files.values()].map(storedFileOf);
    },

    async replaceFiles(files) {
      if (files.length === 0) return;
      const replacements = foldVersions(files);
      await write(async (generation, listing) => {
        const replaced = replacements.map((replacement) => replace(listing, replacement));
        const rows = tableOf(
          chunkColumns,
          replaced.flatMap((each) => each.rows),
        );
        const table = await generations.makeTable(generation);
        const put = replaced.map(({ file }) => file);
        const isFaulty = new Set(listing.faults.map(keyOf));
        const earlier = replacements.filter((each) => listing.files.has(keyOf(each)) || isFaulty.has(keyOf(each)));
        if (earlier.length === 0) return { version: (await table.add(rows)).version, put, removed: [] };
        const { version } = await table
          .mergeInsert("id")
          .whenNotMatchedInsertAll()
          .whenNotMatchedBySourceDelete({ where: superseded(earlier) })
          .execute(rows);
        return { version, put, removed: [] };
      });
    },

    async touchFiles(files) {
      if (files.length === 0) return;
      await write(async (generation, listing) => {
        const put: ListedFile[] = [];
        for (const { path, source, ...facts } of lastOfEach(files)) {
          const known = listing.files.get(keyOf({ path, source }));
          if (known) put.push({ ...known, facts: { ...facts, chunks: known.facts.chunks } });
        }
        const table = await generations.table(generation);
        if (!table || put.length === 0) return undefined;
        const rows = put.map((file) => ({ ...rowOf(file.id, file), facts: JSON.stringify(file.facts) }));
        const { version } = await table.mergeInsert("id").whenMatchedUpdateAll().execute(tableOf(chunkColumns, rows));
        return { version, put, removed: [] };
      });
    },

    async removeFiles(files) {
      if (files.length === 0) return;
      await write(async (generation, listing) => {
        const faulty = new Set(listing.faults.map(keyOf));
        const there = files.filter((file) => listing.files.has(keyOf(file)) || faulty.has(keyOf(file)));
        const table = await generations.table(generation);
        if (!table || there.length === 0) return undefined;
        const { version } = await table.delete(ofFiles(there));
        return { version, put: [], removed: there };
      });
    },
  };
}

function storedFileOf({ path, source, facts }: ListedFile): FileRecord {
  const { chunks: _chunks, ...stored } = facts;
  return { path, source, ...stored };
}

/** Rows of any of these files. */
function ofFiles(files: readonly FileKey[]): Filter {
  const bySource = Map.groupBy(files, ({ source }) => source);
  return anyOf(
    ...Array.from(bySource, ([source, own]) =>
      allOf(
        equals("source", source),
        oneOf(
          "path",
          own.map(({ path }) => path),
        ),
      ),
    ),
  );
}

/** The rows that go when these come: the old facts, and the chunks that begin at the line or later. */
function superseded(replacements: readonly Replacement[]): Filter {
  const [whole, tails] = [
    replacements.filter(({ fromLine }) => fromLine <= 1),
    replacements.filter(({ fromLine }) => fromLine > 1),
  ];
  return anyOf(
    ofFiles(whole),
    ...tails.map((tail) =>
      allOf(ofFiles([tail]), anyOf(not(isMissing("facts")), atLeast("start_line", tail.fromLine))),
    ),
  );
}

/** One after the other as they were given, each on what the one before has left. */
function foldVersions(files: readonly IndexedFile[]): Replacement[] {
  const folded = new Map<string, Replacement>();
  for (const { chunks, fromLine = 0, path, source, ...file } of files) {
    const key = keyOf({ path, source });
    const before = folded.get(key);
    const kept = before?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
    folded.set(key, {
      file,
      path: path.toWellFormed(),
      source: source.toWellFormed(),
      chunks: [...kept, ...chunks],
      fromLine: Math.min(fromLine, before?.fromLine ?? fromLine),
    });
  }
  return [...folded.values()];
}

function lastOfEach(files: readonly FileRecord[]): FileRecord[] {
  return [...new Map(files.map((file) => [keyOf(file), file])).values()];
}

function rowOf(id: number, { path, source }: FileKey): Row {
  return {
    id,
    source,
    path,
    start_line: 0,
    end_line: 0,
    bytes: 0,
    text: null,
    context: null,
    terms: null,
    hash: null,
    facts: null,
  };
}
