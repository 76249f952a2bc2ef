import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChunkStore, FileChunks, QueryTerm, VectorSpace } from "@memslot/indexing";
import { onTestFinished } from "vitest";
import { type LanceStoreSettings, openLanceStore } from "@memslot/memory-lancedb";

/** A folder that is deleted when the test has ended. */
export async function tempFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "memslot-memory-lancedb-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Opens a store that is closed when the test has ended. */
export async function open(stateDir: string, given: Partial<LanceStoreSettings> = {}): Promise<Required<ChunkStore>> {
  const signal = AbortSignal.timeout(120_000);
  const { store } = await openLanceStore({ lance: {}, agentId: "main", stateDir, mayCreate: true, signal, ...given });
  onTestFinished(() => store.close());
  return store;
}

/** Where the index of the agent `main` lies. */
export function indexFolder(stateDir: string): string {
  return join(stateDir, "memory", "lancedb", "main");
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
export function fileOf(path: string, texts: readonly string[], source = "memory"): FileChunks {
  for (const text of texts) textsByHash.set(sha256(text), text);
  const chunks = texts.map((text, index) => ({
    startLine: index + 1,
    endLine: index + 1,
    text,
    context: "",
    terms: text,
    hash: sha256(text),
  }));
  return { path, source, hash: sha256(texts.join("\n")), recipe: "1", chunks };
}

export function words(...terms: string[]): QueryTerm[] {
  return terms.map((term) => ({ term, prefix: false }));
}

/** The texts of the chunks that hold one of the terms. */
export async function find(store: ChunkStore, ...terms: string[]): Promise<string[]> {
  const query = { terms: words(...terms), sources: ["memory", "sessions"], limit: 100_000 };
  return (await store.searchKeyword(query)).rows.map(textOf);
}

export function spaceOf(model: string, dimensions = 8): VectorSpace {
  return { provider: "fake", model, providerKey: "", dimensions };
}

/** Numbers from 0 to 1 that look random and are the same in every run. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The same unit vector for the same text. */
export function vectorOf(text: string, dimensions = 8): Float32Array {
  const random = randomFrom(Number.parseInt(sha256(text).slice(0, 8), 16));
  const raw = Float32Array.from({ length: dimensions }, () => random() + random() - 1);
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

/** Bytes of all files below a folder. */
export function bytesBelow(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
