import type { Table } from "@lancedb/lancedb";
import type { FileKey } from "@memslot/indexing";
import { rowsOf } from "../lance/arrow-rows.ts";

/**
 * Where each reading is a request, a table of at most so many rows is kept in memory: words and vectors, too. A search is
 * then made without asking the place for more than whether something has changed.
 */
export const inMemoryAtMost = 10_000;

export interface ListedChunk extends FileKey {
  startLine: number;
  hash: string;
  /** Its words, where they are kept in memory. */
  terms?: string | undefined;
}

export interface ListedFile extends FileKey {
  hash: string;
  recipe: string;
  chunks: readonly ListedChunk[];
}

/** Files as a write leaves them. With `fromLine` only the chunks from there on are new. */
export interface FileChange {
  key: FileKey;
  /** Absent: it goes. */
  file?: ListedFile | undefined;
  fromLine: number;
}

/**
 * The files of a build and where their chunks stand, as they are in one version of its table. Changes that this process
 * makes itself are put in, so that nothing is read again for them.
 */
export class Listing {
  readonly files: Map<string, ListedFile> = new Map();
  chunkCount: number = 0;
  version: number;
  /** Whether the words are there, too. */
  hasWords: boolean;
  #byHash: Map<string, ListedChunk[]> | undefined;

  constructor(version: number, hasWords: boolean) {
    this.version = version;
    this.hasWords = hasWords;
  }

  /** The chunks of each text. */
  byHash(): ReadonlyMap<string, readonly ListedChunk[]> {
    if (this.#byHash) return this.#byHash;
    this.#byHash = new Map();
    for (const { chunks } of this.files.values()) for (const chunk of chunks) this.#add(chunk);
    return this.#byHash;
  }

  put(file: ListedFile): void {
    this.remove(file);
    this.files.set(keyOf(file), file);
    this.chunkCount += file.chunks.length;
    for (const chunk of file.chunks) this.#add(chunk);
  }

  remove(key: FileKey): void {
    const before = this.files.get(keyOf(key));
    if (!before) return;
    this.files.delete(keyOf(key));
    this.chunkCount -= before.chunks.length;
    for (const chunk of before.chunks) {
      const rest = this.#byHash?.get(chunk.hash)?.filter((other) => other !== chunk) ?? [];
      if (rest.length > 0) this.#byHash?.set(chunk.hash, rest);
      else this.#byHash?.delete(chunk.hash);
    }
  }

  /** False where somebody else has written in between: it has to be read again. */
  apply(version: number, changes: readonly FileChange[]): boolean {
    if (version !== this.version + 1) return false;
    this.version = version;
    for (const { key, file, fromLine } of changes) {
      const kept = this.files.get(keyOf(key))?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
      if (file) this.put({ ...file, chunks: [...kept, ...file.chunks] });
      else this.remove(key);
    }
    // It has outgrown them.
    if (this.files.size + this.chunkCount > inMemoryAtMost) this.hasWords = false;
    if (!this.hasWords) for (const { file } of changes) for (const chunk of file?.chunks ?? []) delete chunk.terms;
    return true;
  }

  #add(chunk: ListedChunk): void {
    const own = this.#byHash?.get(chunk.hash);
    if (own) own.push(chunk);
    else this.#byHash?.set(chunk.hash, [chunk]);
  }
}

export function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}

/** A chunk without its words. */
export function placeOf({ source, path, startLine, hash }: ListedChunk): ListedChunk {
  return { source, path, startLine, hash };
}

export function chunkRow({ source, path, startLine, hash }: ListedChunk): string {
  return JSON.stringify([source, path, startLine, hash]);
}

export function fileRow({ source, path, hash, recipe }: Omit<ListedFile, "chunks">): string {
  return JSON.stringify([source, path, { hash, recipe }]);
}

/** The chunk that a row tells of; undefined for one of a file. */
export function chunkOf(row: string): ListedChunk | undefined {
  const [source, path, startLine, hash] = (JSON.parse(row) ?? []) as [string, string, unknown, string];
  return typeof startLine === "number" ? { source, path, startLine, hash } : undefined;
}

/** What is written meanwhile is not in it, or is read again the next time. */
async function readListing(table: Table, version: number, keepsWords: boolean): Promise<Listing> {
  const hasWords = keepsWords && (await table.countRows()) <= inMemoryAtMost;
  const files = new Map<string, FileKey & { facts?: Pick<ListedFile, "hash" | "recipe">; chunks: ListedChunk[] }>();
  const columns = hasWords ? ["row", "terms"] : ["row"];
  for await (const { row, terms } of rowsOf<{ row: string; terms?: string }>(table.query().select(columns))) {
    const [source, path, third, hash] = (JSON.parse(row) ?? []) as [string, string | undefined, unknown, string];
    if (path === undefined) continue;
    const key = keyOf({ source, path });
    const file = files.get(key) ?? { source, path, chunks: [] };
    files.set(key, file);
    if (typeof third === "number")
      file.chunks.push({ source, path, startLine: third, hash, ...(hasWords && { terms }) });
    else file.facts = third as Pick<ListedFile, "hash" | "recipe">;
  }
  const listing = new Listing(version, hasWords);
  for (const { facts, ...file } of files.values()) if (facts) listing.put({ ...file, ...facts });
  return listing;
}

/** Listings of builds that were read, the last two. */
export class Listings {
  readonly #known = new Map<string, Listing>();
  readonly #reading = new Map<string, Promise<Listing>>();
  readonly #keepsWords: boolean;

  constructor(keepsWords: boolean) {
    this.#keepsWords = keepsWords;
  }

  /** Of the version at which the table is open. */
  async of(name: string, table: Table): Promise<Listing> {
    const version = await table.version();
    const known = this.#known.get(name);
    if (known?.version === version) return known;
    const running = `${name} ${version}`;
    const reading =
      this.#reading.get(running) ??
      readListing(table, version, this.#keepsWords).finally(() => this.#reading.delete(running));
    this.#reading.set(running, reading);
    const listing = await reading;
    this.#known.delete(name);
    this.#known.set(name, listing);
    for (const old of this.#known.keys()) if (this.#known.size > 2) this.#known.delete(old);
    return listing;
  }

  /** Called after each write of this process. */
  follow(name: string, version: number, changes: readonly FileChange[]): void {
    if (this.#known.get(name)?.apply(version, changes) !== true) this.#known.delete(name);
  }

  forget(): void {
    this.#known.clear();
  }
}
