import type { MemorySource } from "@memslot/core";
import type { FileKey, FileRecord } from "@memslot/indexing";
import type { Table } from "@lancedb/lancedb";
import { rowsOf } from "./arrow-rows.ts";
import { type ChangeLog, createChangeLog } from "./change-log.ts";

/** A chunk without its text. */
export interface ListedChunk {
  id: number;
  path: string;
  source: MemorySource;
  startLine: number;
  endLine: number;
  hash: string;
  /** Of its text (UTF-8). */
  bytes: number;
}

export interface ListedFile extends FileKey {
  /** Of the row with the facts. */
  id: number;
  facts: FileFacts;
  chunks: readonly ListedChunk[];
}

/** What the row of a file holds besides its name. */
export interface FileFacts extends Omit<FileRecord, "path" | "source"> {
  /** How many chunks it has. */
  chunks: number;
}

/**
 * All files and chunks of a build, as they are in one version of its table. Changes that this process makes itself are
 * put in: whoever has it open sees them from then on.
 */
export interface ChunkListing {
  readonly version: number;
  readonly files: ReadonlyMap<string, ListedFile>;
  readonly chunkCount: number;
  /** Files that have two rows, or chunks without a file: what the next sync does again. */
  readonly faults: readonly FileKey[];
  /** The chunks of each text. */
  byHash(): ReadonlyMap<string, readonly ListedChunk[]>;
  /** The texts that have come or gone since it was read. */
  readonly log: ChangeLog;
  /** False where somebody else has written in between: it has to be read again. */
  apply(change: ListingChange): boolean;
}

/** A change that this process has made itself, so that nothing has to be read again for it. */
export interface ListingChange {
  version: number;
  put: readonly ListedFile[];
  removed: readonly FileKey[];
}

interface ListedRow {
  id: number;
  source: string;
  path: string;
  start_line: number;
  end_line: number;
  bytes: number;
  hash: string | null;
  facts: string | null;
}

export function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source.toWellFormed(), path.toWellFormed()]);
}

/** Of a build that nothing has been written to. */
export function emptyListing(): ChunkListing {
  return listingOf(0, new Map(), []);
}

/** Reads all rows but their texts. What is written meanwhile is not in it, or is read again the next time. */
export async function readListing(table: Table, version: number): Promise<ChunkListing> {
  const files = new Map<string, { file?: Omit<ListedFile, "chunks">; chunks: ListedChunk[] }>();
  const faults = new Map<string, FileKey>();
  // Most rows are of the same file as the one before.
  let last: { path: string; source: string; entry: { file?: Omit<ListedFile, "chunks">; chunks: ListedChunk[] } } = {
    path: "",
    source: "",
    entry: { chunks: [] },
  };
  const query = table.query().select(["id", "source", "path", "start_line", "end_line", "bytes", "hash", "facts"]);
  for await (const row of rowsOf<ListedRow>(query)) {
    const { id, source, path } = row;
    if (last.path !== path || last.source !== source) {
      const key = keyOf(row);
      const entry = files.get(key) ?? { chunks: [] };
      files.set(key, entry);
      last = { path, source, entry };
    }
    const { entry } = last;
    if (row.facts === null) {
      const { start_line: startLine, end_line: endLine, bytes } = row;
      entry.chunks.push({ id, path, source, startLine, endLine, bytes, hash: row.hash ?? "" });
    } else {
      if (entry.file) faults.set(keyOf(row), { path, source });
      entry.file = { id, path, source, facts: JSON.parse(row.facts) as FileFacts };
    }
  }
  const whole = new Map<string, ListedFile>();
  for (const [key, { file, chunks }] of files) {
    const place = file ?? chunks[0];
    if (!place) continue;
    if (!file || file.facts.chunks !== chunks.length) faults.set(key, { path: place.path, source: place.source });
    if (file) whole.set(key, { ...file, chunks });
  }
  return listingOf(version, whole, [...faults.values()]);
}

function listingOf(
  firstVersion: number,
  files: Map<string, ListedFile>,
  firstFaults: readonly FileKey[],
): ChunkListing {
  const log = createChangeLog();
  let version = firstVersion;
  let faults = firstFaults;
  let byHash: Map<string, ListedChunk[]> | undefined;
  let chunkCount = 0;
  for (const { chunks } of files.values()) chunkCount += chunks.length;

  function add(chunk: ListedChunk): void {
    const own = byHash?.get(chunk.hash);
    if (own) own.push(chunk);
    else byHash?.set(chunk.hash, [chunk]);
  }

  function take(chunk: ListedChunk): void {
    const rest = byHash?.get(chunk.hash)?.filter(({ id }) => id !== chunk.id) ?? [];
    if (rest.length > 0) byHash?.set(chunk.hash, rest);
    else byHash?.delete(chunk.hash);
  }

  /** `file` is undefined where it goes. */
  function put(key: string, file: ListedFile | undefined): void {
    const before = files.get(key);
    const [old, now] = [before?.chunks ?? [], file?.chunks ?? []];
    for (const chunk of old) take(chunk);
    for (const chunk of now) add(chunk);
    for (const { hash } of [...old, ...now]) log.add(hash);
    chunkCount += now.length - old.length;
    if (file) files.set(key, file);
    else files.delete(key);
  }

  return {
    get version() {
      return version;
    },
    get chunkCount() {
      return chunkCount;
    },
    get faults() {
      return faults;
    },
    files,
    log,
    byHash() {
      if (byHash) return byHash;
      byHash = new Map();
      for (const { chunks } of files.values()) for (const chunk of chunks) add(chunk);
      return byHash;
    },
    apply(change) {
      if (change.version !== version + 1) return false;
      version = change.version;
      for (const key of change.removed) put(keyOf(key), undefined);
      for (const file of change.put) put(keyOf(file), file);
      if (faults.length === 0) return true;
      const touched = new Set([...change.removed, ...change.put].map(keyOf));
      faults = faults.filter((fault) => !touched.has(keyOf(fault)));
      return true;
    },
  };
}
