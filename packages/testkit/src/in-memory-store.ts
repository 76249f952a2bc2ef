import {
  type ChunkStore,
  type FileKey,
  type ScoredChunk,
  type StoredFile,
  type StoreFiles,
  type VectorSpace,
  isAsked,
  spaceName,
} from "@memslot/indexing";
import { type WordCounts, bm25, countWords } from "./helpers/bm25.ts";
import { cosine } from "./helpers/cosine.ts";

/** A chunk store with every part that one may have. */
export type InMemoryStore = Required<ChunkStore>;

interface HeldChunk extends ScoredChunk {
  words: WordCounts;
}

interface HeldFile {
  file: Omit<StoredFile, "embedded">;
  chunks: readonly HeldChunk[];
}

type Build = Map<string, HeldFile>;

interface HeldSpace {
  space: VectorSpace;
  vectors: Map<string, Float32Array>;
}

/**
 * A chunk store that lives in this process and looks at every chunk for every search: small, exact, and slow on purpose.
 * What another store answers can be held against it. Its content lasts as long as the object: an agent that opens the same
 * object again after `close` finds everything as it was.
 */
export function createInMemoryStore(): InMemoryStore {
  const spaces = new Map<string, HeldSpace>();
  let answering: Build = new Map();
  let next: { name: string; build: Build } | undefined;
  let revision = 0;

  const hashesOfBoth = (): Set<string> => new Set([answering, next?.build].flatMap(chunksOf).map(({ hash }) => hash));

  /** A text keeps its vectors as long as one chunk of either build has it. */
  function changed(build: Build | undefined): void {
    if (build === answering) revision++;
    const hashes = hashesOfBoth();
    for (const { vectors } of spaces.values())
      for (const hash of vectors.keys()) if (!hashes.has(hash)) vectors.delete(hash);
  }

  function spacesOf({ chunks }: HeldFile): VectorSpace[] {
    const whole = [...spaces.values()].filter(({ vectors }) => chunks.every(({ hash }) => vectors.has(hash)));
    return whole.map(({ space }) => ({ ...space }));
  }

  /** The files of the build that answers when it is called, or of the next one. */
  const filesOf = (build: () => Build): StoreFiles => ({
    listFiles: async () => [...build().values()].map((held) => ({ ...held.file, embedded: spacesOf(held) })),
    async replaceFiles(files) {
      for (const { chunks, fromLine = 0, ...file } of files) {
        const kept =
          build()
            .get(keyOf(file))
            ?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
        const { path, source } = file;
        const added = chunks.map(({ startLine, hash, terms }) => {
          return { path, source, startLine, hash, score: 0, words: countWords(terms) };
        });
        build().set(keyOf(file), { file, chunks: [...kept, ...added] });
      }
      changed(build());
    },
    async removeFiles(keys) {
      for (const key of keys) build().delete(keyOf(key));
      changed(build());
    },
  });

  return {
    ...filesOf(() => answering),
    async putVectors(space, entries) {
      for (const { vector } of entries) checkLength(vector, space);
      const hashes = hashesOfBoth();
      const held = spaces.get(spaceName(space)) ?? { space: { ...space }, vectors: new Map() };
      spaces.set(spaceName(space), held);
      for (const { hash, vector } of entries) if (hashes.has(hash)) held.vectors.set(hash, Float32Array.from(vector));
    },
    async searchKeyword(query, options) {
      options?.signal?.throwIfAborted();
      const chunks = chunksOf(answering);
      // With a scope, what stands outside is not to be felt: it is not even counted.
      const counted = query.scope === undefined ? chunks : chunks.filter((chunk) => isAsked(chunk, query));
      const { documentFrequencies, scores } = bm25(
        query.terms,
        counted.map(({ words }) => words),
      );
      const rows = counted.map((chunk, index) => rowOf(chunk, scores[index] ?? 0));
      const found = rows.filter((row) => row.score > 0 && isAsked(row, query));
      return { rows: best(found, query.limit), chunkCount: counted.length, documentFrequencies };
    },
    async searchVector(query, options) {
      options?.signal?.throwIfAborted();
      checkLength(query.vector, query.space);
      const vectors = spaces.get(spaceName(query.space))?.vectors;
      const asked = chunksOf(answering).filter((chunk) => isAsked(chunk, query));
      const rows = asked.flatMap((chunk) => {
        const vector = vectors?.get(chunk.hash);
        return vector === undefined ? [] : [rowOf(chunk, cosine(query.vector, vector))];
      });
      return { rows: best(rows, query.limit) };
    },
    async build(name) {
      if (next?.name !== name) next = { name, build: new Map() };
      const { build } = next;
      changed(undefined);
      return {
        ...filesOf(() => build),
        async finish() {
          answering = build;
          next = undefined;
          changed(build);
        },
        async abandon() {
          next = undefined;
          changed(undefined);
        },
      };
    },
    compact: async () => ({ beforeBytes: 0, afterBytes: 0 }),
    revision: async () => String(revision),
    stats: async () => ({ location: "memory", chunks: chunksOf(answering).length, bytes: 0 }),
    close: async () => undefined,
  };
}

function chunksOf(build: Build | undefined): HeldChunk[] {
  return [...(build?.values() ?? [])].flatMap(({ chunks }) => chunks);
}

function rowOf({ words: _words, ...row }: HeldChunk, score: number): ScoredChunk {
  return { ...row, score };
}

function best(rows: readonly ScoredChunk[], limit: number): ScoredChunk[] {
  return rows.toSorted((left, right) => right.score - left.score).slice(0, limit);
}

function keyOf({ path, source }: FileKey): string {
  return JSON.stringify([source, path]);
}

function checkLength(vector: Float32Array, { dimensions }: VectorSpace): void {
  if (vector.length !== dimensions)
    throw new RangeError(`a vector of ${vector.length} numbers in a space of ${dimensions}`);
}
