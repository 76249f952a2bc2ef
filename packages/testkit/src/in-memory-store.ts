import {
  type ChunkStore,
  type FileKey,
  type QueryTerm,
  type ScoredChunk,
  type StoredFile,
  type StoreFiles,
  type VectorSpace,
  isAsked,
  spaceName,
} from "@memslot/indexing";

/** A chunk store with every optional part. */
export type InMemoryStore = Required<ChunkStore>;

interface StoredChunk extends ScoredChunk {
  words: WordCounts;
}

interface FileEntry {
  file: Omit<StoredFile, "embedded">;
  chunks: readonly StoredChunk[];
}

type Build = Map<string, FileEntry>;

interface SpaceVectors {
  space: VectorSpace;
  vectors: Map<string, Float32Array>;
}

/**
 * A chunk store in memory that scans every chunk for every search: small, exact, and slow on purpose. The checks compare
 * other stores with it. Its content lives as long as the object, also after `close`.
 */
export function createInMemoryStore(): InMemoryStore {
  const spaces = new Map<string, SpaceVectors>();
  let answering: Build = new Map();
  let next: { name: string; build: Build } | undefined;
  let revision = 0;

  const hashesOfBoth = (): Set<string> => new Set([answering, next?.build].flatMap(chunksOf).map(({ hash }) => hash));

  /** A text keeps its vectors while a chunk of either build has it. */
  function changed(build: Build | undefined): void {
    if (build === answering) revision++;
    const hashes = hashesOfBoth();
    for (const { vectors } of spaces.values())
      for (const hash of vectors.keys()) if (!hashes.has(hash)) vectors.delete(hash);
  }

  function spacesOf({ chunks }: FileEntry): VectorSpace[] {
    const whole = [...spaces.values()].filter(({ vectors }) => chunks.every(({ hash }) => vectors.has(hash)));
    return whole.map(({ space }) => ({ ...space }));
  }

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
      // With a scope, counts and scores must not depend on other files.
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

function chunksOf(build: Build | undefined): StoredChunk[] {
  return [...(build?.values() ?? [])].flatMap(({ chunks }) => chunks);
}

function rowOf({ words: _words, ...row }: StoredChunk, score: number): ScoredChunk {
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

/** The words of a text with their numbers. */
interface WordCounts {
  counts: ReadonlyMap<string, number>;
  length: number;
}

function countWords(terms: string): WordCounts {
  const counts = new Map<string, number>();
  const words = terms.split(/\s+/u).filter((word) => word !== "");
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}

/** Occurrences of a term; of a prefix, of all words that begin with it. */
function frequencyOf(term: QueryTerm, words: WordCounts): number {
  if (!term.prefix) return words.counts.get(term.term) ?? 0;
  let frequency = 0;
  for (const [word, count] of words.counts) if (word.startsWith(term.term)) frequency += count;
  return frequency;
}

const k1 = 1.2;
const b = 0.75;
// As in SQLite's FTS5, so that no score is negative: the weight of a term in more than half of the texts.
const smallestWeight = 1e-6;

interface Bm25Answer {
  /** For each term, how many texts contain it. */
  documentFrequencies: number[];
  /** For each text, its score; 0 if it contains none of the terms. */
  scores: number[];
}

/** Exact BM25 with the constants and the term weight of SQLite's FTS5. */
function bm25(terms: readonly QueryTerm[], texts: readonly WordCounts[]): Bm25Answer {
  const averageLength = texts.reduce((sum, text) => sum + text.length, 0) / Math.max(1, texts.length);
  const scores = texts.map(() => 0);
  const documentFrequencies = terms.map((term) => {
    const frequencies = texts.map((text) => frequencyOf(term, text));
    const containing = frequencies.filter((frequency) => frequency > 0).length;
    const weight = Math.max(smallestWeight, Math.log((texts.length - containing + 0.5) / (containing + 0.5)));
    for (const [index, text] of texts.entries()) {
      const frequency = frequencies[index] ?? 0;
      const norm = k1 * (1 - b + (b * text.length) / averageLength);
      if (frequency > 0) scores[index] = (scores[index] ?? 0) + (weight * frequency * (k1 + 1)) / (frequency + norm);
    }
    return containing;
  });
  return { documentFrequencies, scores };
}

/** Cosine similarity of two vectors of one length; 0 if one of them is all zero. */
export function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let dot = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (let index = 0; index < left.length; index++) {
    const a = left[index] ?? 0;
    const b = right[index] ?? 0;
    dot += a * b;
    leftSquares += a * a;
    rightSquares += b * b;
  }
  return leftSquares === 0 || rightSquares === 0 ? 0 : dot / Math.sqrt(leftSquares * rightSquares);
}
