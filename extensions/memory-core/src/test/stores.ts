import { createHash } from "node:crypto";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  ChunkIndex,
  IndexedFile,
  IndexKeywordAnswer,
  KeywordQuery,
  QueryTerm,
  VectorSpace,
  VectorQuery,
  IndexVectorAnswer,
} from "@memslot/indexing";
import { openDatabaseStore, type OpenedStore } from "@memslot/indexing/ledger-tables";
import { onTestFinished } from "vitest";
import { createCompanion } from "../companion.ts";
import type { VectorSettings } from "../vectors/engines/vector-settings.ts";
import { openStore, type SqliteStoreFaults, type SqliteStoreOptions } from "../sqlite-store.ts";

/** A folder that is deleted when the test has ended. */
export async function tempFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "memslot-memory-core-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function tempPath(): Promise<string> {
  return join(await tempFolder(), "state", "main.sqlite");
}

/** Opens a store that is closed when the test has ended. */
export async function open(
  path: string,
  given: Partial<SqliteStoreOptions> & SqliteStoreFaults = {},
): Promise<ChunkIndex> {
  const { busyTimeoutMs, disableFts, ...options } = given;
  const faults = {
    ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
    ...(disableFts === undefined ? {} : { disableFts }),
  };
  const store = await openStore({ path, vector: { enabled: true }, cacheMaxEntries: 50_000, ...options }, faults);
  onTestFinished(() => store.close());
  return store;
}

export type StoreHere = OpenedStore & {
  searchKeyword(query: KeywordQuery): IndexKeywordAnswer;
  searchVector(query: VectorQuery): IndexVectorAnswer;
  probeVector(): boolean;
};

/** The store on this thread, so that nothing happens between two calls. */
export function openHere(
  path: string,
  {
    enabled = true,
    busyTimeoutMs = 1000,
    cacheMaxEntries = 50_000,
    ...vector
  }: Partial<VectorSettings> & { busyTimeoutMs?: number; cacheMaxEntries?: number } = {},
): StoreHere {
  const tables = createCompanion({ disableFts: false, vector: { enabled, ...vector } });
  const options = { path, store: "memory-core", cacheMaxEntries, busyTimeoutMs };
  return openDatabaseStore(options, tables) as StoreHere;
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A file with one chunk for each text; the words of a chunk are those of its text. */
export function fileOf(path: string, texts: readonly string[], source = "memory"): IndexedFile {
  const chunks = texts.map((text, index) => ({
    startLine: index + 1,
    endLine: index + 1,
    text,
    context: "",
    terms: text,
    hash: sha256(text),
  }));
  return { path, source, hash: sha256(texts.join("\n")), mtimeMs: 1.5, size: 10, recipe: "1", chunks };
}

export function words(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

/** The texts of the chunks that hold one of the terms. */
export async function find(store: ChunkIndex, ...terms: string[]): Promise<string[]> {
  const { rows } = await store.searchKeyword({ terms: words(...terms), sources: ["memory", "sessions"], limit: 50 });
  return rows.map((row) => row.text);
}

export function spaceOf(model: string, dimensions = 8): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** The same unit vector for the same text. */
export function vectorOf(text: string, dimensions = 8): Float32Array {
  const raw = new Float32Array(dimensions);
  // A digest holds eight numbers.
  for (let from = 0; from < dimensions; from += 8) {
    const digest = createHash("sha256").update(`${text}:${from}`).digest();
    for (let at = from; at < Math.min(from + 8, dimensions); at++)
      raw[at] = digest.readInt32BE((at - from) * 4) / 2 ** 31;
  }
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** Gives every pending chunk the vector of its text, and says how many there were. */
export async function embedAll(store: ChunkIndex, space: VectorSpace): Promise<number> {
  const pending = await store.pendingVectors(space, 100_000);
  await store.putVectors(
    space,
    pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text, space.dimensions) })),
  );
  return pending.length;
}

/** The texts nearest to the vector of a text. */
export async function near(store: ChunkIndex, space: VectorSpace, text: string, limit = 5): Promise<string[]> {
  const query = { space, vector: vectorOf(text, space.dimensions), sources: ["memory", "sessions"], limit };
  return (await store.searchVector(query)).rows.map((row) => row.text);
}

/** The texts that are pending, in alphabetical order. */
export async function pendingTexts(store: ChunkIndex, space: VectorSpace): Promise<string[]> {
  return (await store.pendingVectors(space, 100_000)).map(({ text }) => text).toSorted();
}

/** What a check of the file says of the codes of its vectors. */
export async function lookAtVectors(path: string): Promise<string | undefined> {
  const store = await open(path);
  const findings = await store.upkeep?.check();
  await store.close();
  return findings?.find(({ name }) => name === "vectors")?.message;
}
