import type { VectorSpace } from "@memslot/indexing";
import { createFakeStore, type FakeStore } from "./fake-store.ts";

/** A fake store for tests of embedding, with the vectors of one space at hand. */
export interface SpaceStore extends FakeStore {
  readonly vectors: Map<string, Float32Array>;
  /** Why the provider refuses a text, by its hash. */
  readonly refused: Map<string, string>;
  /** Adds a file with these chunks. */
  add(texts: readonly string[], context?: string): Promise<void>;
}

export const space: VectorSpace = { provider: "scripted", model: "m1", providerKey: "", dimensions: 4 };

export function hashOf(text: string, context = ""): string {
  return `#${context}|${text}`;
}

export async function createSpaceStore(texts: readonly string[] = []): Promise<SpaceStore> {
  const fake = createFakeStore();
  let files = 0;
  Object.defineProperties(fake, {
    vectors: { get: () => fake.vectorsIn(space) },
    refused: { get: () => fake.refusedIn(space) },
  });
  const order = new Map<string, number>();
  const { pendingVectors } = fake;
  const store = Object.assign(fake as SpaceStore, {
    /** In the order in which the texts were added. */
    async pendingVectors(wanted: VectorSpace, limit: number) {
      const all = await pendingVectors(wanted, 1e6);
      return all.toSorted((a, b) => (order.get(a.hash) ?? 0) - (order.get(b.hash) ?? 0)).slice(0, limit);
    },
    async add(added: readonly string[], context = "") {
      const chunks = added.map((text, index) => ({
        startLine: index + 1,
        endLine: index + 1,
        text,
        context,
        terms: text,
        hash: hashOf(text, context),
      }));
      for (const { hash } of chunks) if (!order.has(hash)) order.set(hash, order.size);
      const path = `memory/${files++}.md`;
      await fake.replaceFiles([{ path, source: "memory", hash: path, mtimeMs: 1, size: 1, recipe: "r", chunks }]);
    },
  });
  if (texts.length > 0) await store.add(texts);
  store.calls.length = 0;
  return store;
}

/** Texts that differ, each of about so many characters. */
export function texts(count: number, length = 10, name = "t"): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index} `.padEnd(length, "x"));
}
