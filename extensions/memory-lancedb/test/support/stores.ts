import { createHash } from "node:crypto";
import path from "node:path";
import { type ObjectStorage, type ObjectStorageOptions, startObjectStorage } from "@memslot/fakes/object-storage";
import type { ChunkStore, FileChunks, QueryTerm, VectorSpace } from "@memslot/indexing";
import { type LanceOptions, type LanceStoreSettings, openLanceStore } from "@memslot/memory-lancedb";
import { tempFolder } from "@memslot/test-tools/files";
import { randomFrom } from "@memslot/test-tools/random";
import { onTestFinished } from "vitest";

export type Store = Required<ChunkStore>;

/** An S3 server that is stopped after the test. */
export async function startStorage(options: ObjectStorageOptions = {}): Promise<ObjectStorage> {
  const storage = await startObjectStorage(options);
  onTestFinished(() => storage.stop());
  return storage;
}

/** The options for a bucket of this storage. Few retries, so that a test of an outage does not take long. */
export function inBucket(storage: ObjectStorage, more: Record<string, string> = {}): LanceOptions {
  return {
    dbPath: "s3://notes/team",
    storageOptions: { ...storage.storageOptions(), client_max_retries: "1", client_retry_timeout: "2", ...more },
  };
}

/** Opens a store. The caller closes it. */
export async function openedIn(
  stateDir: string,
  lance: LanceOptions = {},
  given: Partial<LanceStoreSettings> = {},
): Promise<Store> {
  const signal = AbortSignal.timeout(120_000);
  return (await openLanceStore({ lance, agentId: "main", stateDir, mayCreate: true, signal, ...given })).store;
}

/** Opens a store in a folder. It is closed after the test. */
export async function open(stateDir: string, given: Partial<LanceStoreSettings> = {}): Promise<Store> {
  const store = await openedIn(stateDir, {}, given);
  onTestFinished(() => store.close());
  return store;
}

/** Opens a store in a bucket, as a host of its own. It is closed after the test. */
export async function openIn(storage: ObjectStorage, given: Partial<LanceStoreSettings> = {}): Promise<Store> {
  return await open(tempFolder(), { lance: inBucket(storage), ...given });
}

/** How many requests the storage gets while something is done. */
export async function requestsOf(storage: ObjectStorage, work: () => Promise<unknown>): Promise<number> {
  const before = storage.stats().requests;
  await work();
  return storage.stats().requests - before;
}

/** The folder of the index of the agent `main`. */
export function indexFolder(stateDir: string): string {
  return path.join(stateDir, "memory", "lancedb", "main");
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A store keeps no texts: those that were given here, by their hashes. */
const textsByHash = new Map<string, string>();

export function textOf({ hash }: { hash: string }): string {
  return textsByHash.get(hash) ?? hash;
}

/** A file with one chunk for each text; the words of a chunk are those of its text. */
export function fileOf(name: string, texts: readonly string[], source = "memory"): FileChunks {
  const chunks = texts.map((text, index) => {
    textsByHash.set(sha256(text), text);
    return { startLine: index + 1, endLine: index + 1, text, context: "", terms: text, hash: sha256(text) };
  });
  return { path: name, source, hash: sha256(texts.join("\n")), recipe: "1", chunks };
}

export function words(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

/** Searches by words. */
export async function ask(store: ChunkStore, ...terms: string[]): ReturnType<ChunkStore["searchKeyword"]> {
  return await store.searchKeyword({ terms: words(...terms), sources: ["memory", "sessions"], limit: 100_000 });
}

/** The texts of the chunks that hold one of the terms. */
export async function find(store: ChunkStore, ...terms: string[]): Promise<string[]> {
  return (await ask(store, ...terms)).rows.map(textOf);
}

export function spaceOf(model: string, dimensions = 8): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** The same unit vector for the same text. */
export function vectorOf(text: string, dimensions = 8): Float32Array {
  const random = randomFrom(Number.parseInt(sha256(text).slice(0, 8), 16));
  const number = (): number => random.below(1_000_000) / 1_000_000;
  const raw = Float32Array.from({ length: dimensions }, () => number() + number() - 1);
  const length = Math.hypot(...raw);
  return raw.map((value) => value / length);
}

/** Gives every chunk of the files the vector of its text. */
export async function embed(store: ChunkStore, space: VectorSpace, files: readonly FileChunks[]): Promise<void> {
  const texts = [...new Set(files.flatMap(({ chunks }) => chunks.map(({ text }) => text)))];
  for (let start = 0; start < texts.length; start += 2000) {
    const some = texts.slice(start, start + 2000);
    const entries = some.map((text) => ({ hash: sha256(text), vector: vectorOf(text, space.dimensions) }));
    await store.putVectors(space, entries);
  }
}

/** The texts nearest to the vector of a text. */
export async function near(store: ChunkStore, space: VectorSpace, text: string, limit = 5): Promise<string[]> {
  const query = { space, vector: vectorOf(text, space.dimensions), sources: ["memory", "sessions"], limit };
  return (await store.searchVector(query)).rows.map(textOf);
}
