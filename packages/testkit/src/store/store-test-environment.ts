import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type {
  Chunk,
  ChunkStore,
  FileChunks,
  FileFilter,
  FileKey,
  QueryTerm,
  ScoredChunk,
  StoreBuild,
  StoredFile,
  StoreFiles,
  VectorSpace,
} from "@memslot/indexing";
import { randomFrom } from "../helpers/seeded-random.ts";
import { type InMemoryStore, createInMemoryStore } from "../in-memory-store.ts";
import type { Check } from "../register-suite.ts";

/** Optional parts of a store. */
export type StoreNeed = "build" | "compact" | "revision" | "embedded" | "reopens";
export type StoreCheck = Check<StoreLab, StoreNeed>;

export const bothSources: readonly string[] = ["memory", "sessions"];
const dimensions = 24;
const hashBytes = 32;

/** 64 hexadecimal digits. Those of a short text are the text itself, so `textOf` can tell which chunk a row is. */
export function hashOf(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length > hashBytes) return createHash("sha256").update(text).digest("hex");
  return bytes.toString("hex").padEnd(2 * hashBytes, "0");
}

/** The short text of a row. */
export function textOf({ hash }: Pick<ScoredChunk, "hash">): string {
  return Buffer.from(hash, "hex").toString().replace(/\0+$/u, "");
}

/** A chunk whose words are those of its text. */
export function chunkOf(text: string, startLine = 1, own: Partial<Chunk> = {}): Chunk {
  const endLine = startLine + text.split("\n").length - 1;
  const terms = text.toLowerCase().replaceAll(/\s+/gu, " ");
  return { startLine, endLine, text, context: "", terms, hash: hashOf(text), ...own };
}

/** A file of the source `memory` with a chunk for each text, at the lines 1, 11, 21 and so on. */
export function note(path: string, ...texts: string[]): FileChunks {
  const chunks = texts.map((text, index) => chunkOf(text, index * 10 + 1));
  const hash = createHash("sha256").update(texts.join("\n")).digest("hex");
  return { path, source: "memory", hash, recipe: "1", chunks };
}

/** The same of the source `sessions`. */
export function session(path: string, ...texts: string[]): FileChunks {
  return { ...note(path, ...texts), source: "sessions" };
}

/** Many files of one text each. */
export function notes(count: number, text: (index: number) => string, folder = "many"): FileChunks[] {
  return Array.from({ length: count }, (_, index) => note(`${folder}/${index}.md`, text(index)));
}

/** A space of `dimensions`, and another one of the same width. */
export const one: VectorSpace = spaceOf("one", dimensions);
export const two: VectorSpace = spaceOf("two", dimensions);

function spaceOf(model: string, width: number): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions: width };
}

/** A vector of unit length that depends on the seed alone. */
export function vectorOf(seed: number, width: number = dimensions): Float32Array {
  const random = randomFrom(seed);
  const raw = Float32Array.from({ length: width }, () => random() * 2 - 1);
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** The vector of a text that is a number. */
export const byNumber = (text: string): Float32Array => vectorOf(Number(text));

export function exactly(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

export const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** The rows of both sources that contain one of the words. */
export async function rowsWith(store: ChunkStore, ...terms: string[]): Promise<readonly ScoredChunk[]> {
  return (await store.searchKeyword({ terms: exactly(...terms), sources: bothSources, limit: 5000 })).rows;
}

/** The short texts that contain one of the words, in alphabetical order. */
export async function textsWith(store: ChunkStore, ...terms: string[]): Promise<string[]> {
  return (await rowsWith(store, ...terms)).map(textOf).toSorted();
}

/** The short texts nearest to a vector of the space `one`, best first. */
export async function textsNear(store: ChunkStore, vector: Float32Array, limit = 10): Promise<string[]> {
  return (await store.searchVector({ space: one, vector, sources: bothSources, limit })).rows.map(textOf);
}

/** The listed files without `embedded`, in the order of paths and sources. */
async function listIn(files: Pick<StoreFiles, "listFiles">): Promise<StoredFile[]> {
  const listed = (await files.listFiles()).map(({ path, source, hash, recipe }) => ({ path, source, hash, recipe }));
  return listed.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
}

function namesOf(rows: readonly ScoredChunk[]): string[] {
  return rows.map(({ source, path, startLine, hash }) => `${source} ${path}:${startLine} ${hash}`).toSorted();
}

function assertRanked(rows: readonly ScoredChunk[], what: string): void {
  for (const [index, { score }] of rows.entries()) {
    assert.ok(Number.isFinite(score), `${what}: a score is ${score}`);
    assert.ok(score <= (rows[index - 1]?.score ?? score), `${what}: the rows are not in the order of their scores`);
  }
}

type Removed = string | FileKey;
const keyOf = (file: Removed): FileKey => (typeof file === "string" ? { path: file, source: "memory" } : file);

/** The build under test beside the same build of the reference. Each step compares both. */
export interface LabBuild {
  put(...files: FileChunks[]): Promise<void>;
  remove(...files: Removed[]): Promise<void>;
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

/**
 * The store under test beside the kit's own store in memory. Each step is done in both; afterwards both must list the same
 * files and give the same answers: which chunks contain a word, the counts, and the chunks near a vector with their scores.
 */
export class StoreLab {
  readonly #reference: InMemoryStore = createInMemoryStore();
  readonly #terms = new Set(["word"]);
  readonly #sources = new Set(bothSources);
  readonly #spaces = new Map<VectorSpace, Float32Array>();
  readonly #open: () => Promise<ChunkStore>;
  readonly #beside: ChunkStore[] = [];
  store: ChunkStore;

  constructor(store: ChunkStore, open: () => Promise<ChunkStore>) {
    this.store = store;
    this.#open = open;
  }

  /** Writes all files in one call. */
  async put(...files: FileChunks[]): Promise<void> {
    await this.#putInto([this.#reference, this.store], files);
    await this.agree();
  }

  async remove(...files: Removed[]): Promise<void> {
    for (const each of [this.#reference, this.store]) await each.removeFiles(files.map(keyOf));
    await this.agree();
  }

  /** Gives the vectors of these texts. */
  async embed(
    space: VectorSpace,
    texts: readonly string[],
    vectorFor: (text: string) => Float32Array = byNumber,
  ): Promise<void> {
    const entries = texts.map((text) => ({ hash: hashOf(text), vector: vectorFor(text) }));
    for (const each of [this.#reference, this.store]) await each.putVectors(space, entries);
    const known = [...this.#spaces.keys()].find((each) => JSON.stringify(each) === JSON.stringify(space)) ?? space;
    this.#spaces.set(known, entries.at(-1)?.vector ?? vectorOf(1, space.dimensions));
    await this.agree();
  }

  /** Starts or resumes a build in both stores. */
  async build(name: string): Promise<LabBuild> {
    const builds: StoreBuild[] = [await this.#reference.build(name), await buildOf(this.store, name)];
    const step = async (work: (build: StoreBuild) => Promise<void>, ends = false): Promise<void> => {
      for (const build of builds) await work(build);
      if (!ends) await sameFiles();
      await this.agree();
    };
    const sameFiles = async (): Promise<void> => {
      const [expected, listed] = await Promise.all(builds.map(listIn));
      assert.deepEqual(listed, expected, "the files of the next build");
    };
    await sameFiles();
    await this.agree();
    return {
      put: (...files) => step((build) => this.#putInto([build], files)),
      remove: (...files) => step((build) => build.removeFiles(files.map(keyOf))),
      finish: () => step((build) => build.finish(), true),
      abandon: () => step((build) => build.abandon(), true),
    };
  }

  /** Closes the store and opens it again on the same folder. */
  async reopen(): Promise<ChunkStore> {
    await this.store.close();
    this.store = await this.#open();
    await this.agree();
    return this.store;
  }

  /** Opens another store on the same folder, as another host would. It is closed after the check. */
  async openBeside(): Promise<ChunkStore> {
    const other = await this.#open();
    this.#beside.push(other);
    return other;
  }

  /** Compares everything that a caller can learn of the two stores. */
  async agree(): Promise<void> {
    const learn = async (store: ChunkStore): Promise<unknown> => [await listIn(store), (await store.stats()).chunks];
    assert.deepEqual(
      await learn(this.store),
      await learn(this.#reference),
      "the listed files and the number of chunks",
    );
    await this.words(exactly(...[...this.#terms].slice(0, 100)));
    for (const [space, vector] of this.#spaces) await this.near(space, vector);
  }

  /** Compares an answer to words: the rows without their order, and the counts. */
  async words(terms: readonly QueryTerm[], filter: Partial<FileFilter> = {}): Promise<void> {
    const query = { terms, sources: [...this.#sources], limit: 5000, ...filter };
    const [{ rows, ...counts }, expected] = [
      await this.store.searchKeyword(query),
      await this.#reference.searchKeyword({ ...query, limit: 5000 }),
    ];
    const asked = terms.map(({ term }) => term.slice(0, 40)).join(" ");
    // Which rows are the first of an answer with a limit is left to the store.
    const all = namesOf(expected.rows);
    const names = namesOf(rows);
    const right = all.length > query.limit ? all.filter((name) => names.includes(name)) : all;
    assert.deepEqual(names, right, `chunks with one of the words: ${asked}`);
    assert.equal(rows.length, Math.min(query.limit, all.length), `rows of ${asked}`);
    const { chunkCount, documentFrequencies, incomplete } = counts;
    assert.deepEqual([chunkCount, documentFrequencies], [expected.chunkCount, expected.documentFrequencies], asked);
    assert.equal(incomplete, undefined);
    assertRanked(rows, asked);
    assert.ok(
      rows.every(({ score }) => score > 0),
      `${asked}: a score is not positive`,
    );
  }

  /** Compares an answer to a vector: the rows and their scores, both best first. */
  async near(
    space: VectorSpace,
    vector: Float32Array,
    own: Partial<FileFilter> & { limit?: number } = {},
  ): Promise<void> {
    const query = { space, vector, sources: [...this.#sources], limit: 5000, ...own };
    const [{ rows }, expected] = [await this.store.searchVector(query), await this.#reference.searchVector(query)];
    assert.deepEqual(namesOf(rows), namesOf(expected.rows), `chunks near a vector of ${space.model}`);
    assertRanked(rows, `vectors of ${space.model}`);
    for (const [index, { score }] of rows.entries()) {
      const right = expected.rows[index]?.score ?? Number.NaN;
      assert.ok(Math.abs(score - right) < 1e-4, `place ${index + 1}: the score is ${score}, the cosine is ${right}`);
    }
  }

  async close(): Promise<void> {
    for (const other of this.#beside) await other.close();
    await this.store.close();
  }

  async #putInto(stores: readonly StoreFiles[], files: readonly FileChunks[]): Promise<void> {
    for (const { source, chunks } of files) {
      this.#sources.add(source);
      for (const { terms } of chunks) for (const term of terms.split(/\s+/u)) if (term) this.#terms.add(term);
    }
    for (const each of stores) await each.replaceFiles(files);
  }
}

async function buildOf(store: ChunkStore, name: string): Promise<StoreBuild> {
  return (await store.build?.(name)) ?? assert.fail('the store had "build" before and does not have it now');
}
