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

/**
 * A chunk store that lives in this process and looks at every chunk for every search: small, exact, and slow on
 * purpose. What another store answers can be held against it. Its content lasts as long as the object, so an agent
 * that opens the same object again after `close` finds everything as it was.
 */
export function createInMemoryStore(): ChunkStore {
  const files = new Map<string, KeptFile>();
  const vectorsBySpace = new Map<string, Map<string, Float32Array>>();
  let vectors: Map<string, Float32Array> | undefined;
  let dimensions = 0;
  let lastId = 0;

  function chunksOf(sources: readonly MemorySource[]): KeptChunk[] {
    return [...files.values()].filter(({ file }) => sources.includes(file.source)).flatMap(({ chunks }) => chunks);
  }
  function allChunks(): KeptChunk[] {
    return [...files.values()].flatMap(({ chunks }) => chunks);
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
    },
    async touchFiles(touched) {
      for (const file of touched) {
        const kept = files.get(keyOf(file));
        if (kept !== undefined) kept.file = { ...file };
      }
    },
    async removeFiles(removed) {
      for (const key of removed) files.delete(keyOf(key));
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
    async useSpace(space) {
      const name = nameOf(space);
      vectors = vectorsBySpace.get(name) ?? new Map<string, Float32Array>();
      vectorsBySpace.set(name, vectors);
      dimensions = space.dimensions;
    },
    async searchVector({ vector, sources, limit }) {
      const known = vectors;
      if (known === undefined) return { rows: [] };
      const rows = chunksOf(sources).flatMap((chunk) => {
        const own = known.get(chunk.hash);
        return own === undefined ? [] : [{ ...rowOf(chunk), score: cosine(vector, own) }];
      });
      return { rows: best(rows, limit) };
    },
    async pendingVectors(limit) {
      const pending = new Map<string, { hash: string; context: string; text: string }>();
      for (const { hash, context, text } of allChunks()) {
        if (vectors !== undefined && !vectors.has(hash)) pending.set(hash, { hash, context, text });
      }
      return [...pending.values()].slice(0, limit);
    },
    async putVectors(entries) {
      for (const { hash, vector } of entries) {
        if (vector.length !== dimensions)
          throw new RangeError(`a vector of ${vector.length} numbers in a space of ${dimensions}`);
        vectors?.set(hash, Float32Array.from(vector));
      }
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
        embedded: allChunks().filter((chunk) => vectors?.has(chunk.hash)).length,
        cachedVectors: [...vectorsBySpace.values()].reduce((sum, space) => sum + space.size, 0),
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

function best<Row extends { score: number }>(rows: Row[], limit: number): Row[] {
  return rows.toSorted((left, right) => right.score - left.score).slice(0, limit);
}
