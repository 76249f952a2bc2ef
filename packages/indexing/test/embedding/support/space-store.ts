import type { Chunk, ChunkIndex, IndexedFile, FileRecord, VectorSpace } from "@memslot/indexing";

export interface SpaceStore extends ChunkIndex {
  /** Hash and vector, of every space together. */
  readonly vectors: Map<string, Float32Array>;
  /** Hash and reason. */
  readonly refused: Map<string, string>;
  /** The names of all calls so far. */
  readonly calls: string[];
  /** Runs before a method answers; what it throws the method throws. */
  before: Partial<Record<keyof ChunkIndex, () => void | Promise<void>>>;
  /** The hashes of all chunks. */
  chunkHashes(): string[];
  /** Adds a file with these chunks. */
  add(texts: readonly string[], context?: string): Promise<void>;
}

/** Spaces are the same to it where their dimensions are. */
export const space: VectorSpace = { provider: "scripted", model: "m1", providerKey: "", dimensions: 4 };

/** Names a chunk as the fake store does. */
export function hashOf(text: string, context = ""): string {
  return `#${context}|${text}`;
}

/** Files, chunks and vectors in memory: what making vectors needs of a store. It answers no search. */
export async function createSpaceStore(texts: readonly string[] = []): Promise<SpaceStore> {
  const files = new Map<string, IndexedFile>();
  const vectors = new Map<string, Float32Array>();
  const refused = new Map<string, string>();
  const calls: string[] = [];
  const before: SpaceStore["before"] = {};

  async function enter(method: keyof ChunkIndex): Promise<void> {
    calls.push(method);
    await before[method]?.();
  }
  const chunks = (): Chunk[] => [...files.values()].flatMap((file) => [...file.chunks]);
  const isPending = ({ hash }: Chunk): boolean => !vectors.has(hash) && !refused.has(hash);
  const none = (): never => {
    throw new Error("this store answers no search");
  };

  const store: SpaceStore = {
    vectors,
    refused,
    calls,
    before,
    async add(added, context = "") {
      const own = added.map((text, index) => ({
        startLine: index + 1,
        endLine: index + 1,
        text,
        context,
        terms: text,
        hash: hashOf(text, context),
      }));
      const path = `memory/${files.size}.md`;
      files.set(path, { path, source: "memory", hash: path, mtimeMs: 1, size: 1, recipe: "r", chunks: own });
    },
    chunkHashes: () => chunks().map(({ hash }) => hash),
    async listFiles() {
      await enter("listFiles");
      return [...files.values()].map(({ path, source, hash, mtimeMs, size, recipe }): FileRecord => ({
        path,
        source,
        hash,
        mtimeMs,
        size,
        recipe,
      }));
    },
    async replaceFiles(replaced) {
      await enter("replaceFiles");
      for (const file of replaced) files.set(file.path, file);
    },
    async touchFiles(touched) {
      await enter("touchFiles");
      for (const file of touched) files.set(file.path, { chunks: [], ...files.get(file.path), ...file });
    },
    async removeFiles(removed) {
      await enter("removeFiles");
      for (const { path } of removed) files.delete(path);
    },
    async pendingVectors(_, limit) {
      await enter("pendingVectors");
      const pending = new Map(
        chunks()
          .filter(isPending)
          .map((chunk) => [chunk.hash, chunk]),
      );
      return [...pending.values()].slice(0, limit).map(({ hash, context, text }) => ({ hash, context, text }));
    },
    async putVectors({ dimensions }, entries) {
      await enter("putVectors");
      for (const { hash, vector } of entries) {
        if (vector.length !== dimensions) throw new RangeError("a vector of another length than the space's");
        vectors.set(hash, vector);
        refused.delete(hash);
      }
    },
    async knownVectors(_, hashes) {
      await enter("knownVectors");
      return hashes.filter((hash) => vectors.has(hash));
    },
    async quarantine(_, entries) {
      await enter("quarantine");
      for (const { hash, reason } of entries) refused.set(hash, reason);
    },
    async quarantined() {
      await enter("quarantined");
      return [...files.values()].flatMap(({ path, source, chunks: own }) =>
        own.flatMap(({ hash, startLine, endLine }) => {
          const reason = refused.get(hash);
          return reason === undefined ? [] : [{ path, source, hash, startLine, endLine, reason }];
        }),
      );
    },
    async releaseQuarantine() {
      refused.clear();
    },
    async spaceStats() {
      await enter("spaceStats");
      const all = chunks();
      const embedded = all.filter(({ hash }) => vectors.has(hash)).length;
      const pending = all.filter(isPending).length;
      return { embedded, pending, quarantined: all.length - embedded - pending };
    },
    spaces: async () => [{ space, vectors: vectors.size }],
    listChunks: async () => [],
    searchKeyword: none,
    searchVector: none,
    useSpace: none,
    probeVector: none,
    stats: none,
    health: none,
    close: async () => undefined,
  };
  if (texts.length > 0) await store.add(texts);
  return store;
}

/** Texts that differ, each of about so many characters. */
export function texts(count: number, length = 10, name = "t"): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index} `.padEnd(length, "x"));
}
