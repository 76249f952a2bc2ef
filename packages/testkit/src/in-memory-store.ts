import type { Chunk, ChunkRow, ChunkStore, FileKey, StoredFile, VectorSpace } from "@memslot/indexing";
import type { MemorySource } from "@memslot/core";
import { type WordCounts, bm25, countWords } from "./bm25.ts";
import { cosine } from "./cosine.ts";

interface KeptChunk extends ChunkRow {
  hash: string;
  words: WordCounts;
}

interface KeptFile {
  file: StoredFile;
  chunks: KeptChunk[];
}

interface KeptSpace {
  space: VectorSpace;
  vectors: Map<string, Float32Array>;
  /** Why the provider refuses a text, by its hash. */
  refused: Map<string, string>;
}

/**
 * A chunk store that lives in this process and looks at every chunk for every search: small, exact, and slow on
 * purpose. What another store answers can be held against it. Its content lasts as long as the object, so an agent
 * that opens the same object again after `close` finds everything as it was.
 */
export function createInMemoryStore(): ChunkStore {
  const files = new Map<string, KeptFile>();
  /** The one that was written to last comes last. */
  const spaces = new Map<string, KeptSpace>();
  let lastId = 0;

  function chunksOf(sources: readonly MemorySource[]): KeptChunk[] {
    return [...files.values()].filter(({ file }) => sources.includes(file.source)).flatMap(({ chunks }) => chunks);
  }
  function allChunks(): KeptChunk[] {
    return [...files.values()].flatMap(({ chunks }) => chunks);
  }
  /** A text is there as long as one chunk has it. */
  function forgetRefused(): void {
    const wanted = [...spaces.values()].filter(({ refused }) => refused.size > 0);
    if (wanted.length === 0) return;
    const hashes = new Set(allChunks().map(({ hash }) => hash));
    for (const { refused } of wanted) for (const hash of refused.keys()) if (!hashes.has(hash)) refused.delete(hash);
  }
  function spaceOf(space: VectorSpace): KeptSpace {
    const name = nameOf(space);
    const kept = spaces.get(name) ?? { space: { ...space }, vectors: new Map(), refused: new Map() };
    spaces.set(name, kept);
    return kept;
  }
  function checkVector(vector: Float32Array, { dimensions }: VectorSpace): void {
    if (vector.length !== dimensions)
      throw new RangeError(`a vector of ${vector.length} numbers in a space of ${dimensions}`);
  }
  function keep(key: FileKey, chunk: Chunk): KeptChunk {
    const { startLine, endLine, text, context, terms, hash } = chunk;
    lastId++;
    return {
      id: lastId,
      path: key.path,
      source: key.source,
      startLine,
      endLine,
      text,
      context,
      hash,
      words: countWords(terms),
    };
  }

  return {
    listFiles: async () => [...files.values()].map(({ file }) => ({ ...file })),
    async replaceFiles(replaced) {
      for (const { chunks, ...file } of replaced) {
        files.set(keyOf(file), { file, chunks: chunks.map((chunk) => keep(file, chunk)) });
      }
      forgetRefused();
    },
    async touchFiles(touched) {
      for (const file of touched) {
        const kept = files.get(keyOf(file));
        if (kept !== undefined) kept.file = { ...file };
      }
    },
    async removeFiles(removed) {
      for (const key of removed) files.delete(keyOf(key));
      forgetRefused();
    },
    async searchKeyword({ terms, sources, limit }) {
      const all = allChunks();
      const { documentFrequencies, scores } = bm25(
        terms,
        all.map((chunk) => chunk.words),
      );
      const rows = all.map((chunk, index) => ({ ...rowOf(chunk), score: scores[index] ?? 0 }));
      const found = rows.filter((row) => row.score > 0 && sources.includes(row.source));
      return { rows: best(found, limit), chunkCount: all.length, documentFrequencies };
    },
    useSpace: async () => undefined,
    async searchVector({ space, vector, sources, limit }) {
      checkVector(vector, space);
      const { vectors } = spaceOf(space);
      const rows = chunksOf(sources).flatMap((chunk) => {
        const own = vectors.get(chunk.hash);
        return own === undefined ? [] : [{ ...rowOf(chunk), score: cosine(vector, own) }];
      });
      return { rows: best(rows, limit) };
    },
    async pendingVectors(space, limit) {
      const { vectors, refused } = spaceOf(space);
      const pending = new Map<string, { hash: string; context: string; text: string }>();
      for (const { hash, context, text } of allChunks()) {
        if (!vectors.has(hash) && !refused.has(hash)) pending.set(hash, { hash, context, text });
      }
      return [...pending.values()].slice(0, limit);
    },
    async putVectors(space, entries) {
      for (const { vector } of entries) checkVector(vector, space);
      const kept = spaceOf(space);
      for (const { hash, vector } of entries) {
        kept.vectors.set(hash, Float32Array.from(vector));
        kept.refused.delete(hash);
      }
      if (entries.length === 0) return;
      spaces.delete(nameOf(space));
      spaces.set(nameOf(space), kept);
    },
    knownVectors: async (space, hashes) => hashes.filter((hash) => spaceOf(space).vectors.has(hash)),
    async quarantine(space, entries) {
      const { vectors, refused } = spaceOf(space);
      for (const { hash, reason } of entries) if (!vectors.has(hash)) refused.set(hash, reason);
    },
    async quarantined(space, limit) {
      const { refused } = spaceOf(space);
      const chunks = allChunks().flatMap(({ path, source, hash, startLine, endLine }) => {
        const reason = refused.get(hash);
        return reason === undefined ? [] : [{ path, source, hash, startLine, endLine, reason }];
      });
      return chunks.toSorted((left, right) => byPlace(left, right)).slice(0, limit);
    },
    releaseQuarantine: async (space) => spaceOf(space).refused.clear(),
    spaces: async () =>
      [...spaces.values()]
        .filter(({ vectors }) => vectors.size > 0)
        .map(({ space, vectors }) => ({ space: { ...space }, vectors: vectors.size }))
        .toReversed(),
    async spaceStats(space) {
      const { vectors, refused } = spaceOf(space);
      const all = allChunks();
      const embedded = all.filter(({ hash }) => vectors.has(hash)).length;
      const quarantined = all.filter(({ hash }) => refused.has(hash)).length;
      return { embedded, pending: all.length - embedded - quarantined, quarantined };
    },
    probeVector: async () => true,
    async stats() {
      const names = [...new Set([...files.values()].map(({ file }) => file.source))].toSorted();
      return {
        files: files.size,
        chunks: allChunks().length,
        sources: names.map((source) => ({
          source,
          files: [...files.values()].filter(({ file }) => file.source === source).length,
          chunks: chunksOf([source]).length,
        })),
        cachedVectors: [...spaces.values()].reduce((sum, { vectors }) => sum + vectors.size, 0),
        databaseBytes: 0,
        walBytes: 0,
      };
    },
    health: () => ({
      location: "memory",
      fts: { enabled: true, available: true },
      vector: { enabled: true, available: true },
      notices: [],
    }),
    close: async () => undefined,
  };
}

function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}

function nameOf({ provider, model, providerKey, dimensions }: VectorSpace): string {
  return JSON.stringify([provider, model, providerKey, dimensions]);
}

function rowOf({ id, path, source, startLine, endLine, text, context }: KeptChunk): ChunkRow {
  return { id, path, source, startLine, endLine, text, context };
}

function byPlace(left: FileKey & { startLine: number }, right: FileKey & { startLine: number }): number {
  if (left.path !== right.path) return left.path < right.path ? -1 : 1;
  if (left.source !== right.source) return left.source < right.source ? -1 : 1;
  return left.startLine - right.startLine;
}

function best<Row extends { score: number }>(rows: Row[], limit: number): Row[] {
  return rows.toSorted((left, right) => right.score - left.score).slice(0, limit);
}
