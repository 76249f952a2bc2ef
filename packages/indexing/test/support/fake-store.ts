import type {
  Chunk,
  ChunkRow,
  ChunkStore,
  FileKey,
  StoredFile,
  StoreHealth,
  VectorSpace,
} from "../../src/chunk-store.ts";

interface KeptChunk extends Chunk, ChunkRow {
  id: number;
  words: Map<string, number>;
  length: number;
}

type Method = Exclude<keyof ChunkStore, "health">;

export interface FakeStore extends ChunkStore {
  /** Every call so far, by method, with its first argument. */
  readonly calls: { method: Method; argument: unknown }[];
  /** From now on the method throws what `make` gives; `undefined` mends it. */
  fail(method: Method, make: ((argument: unknown) => Error | undefined) | undefined): void;
  /** Runs before the method answers. */
  before(method: Method, action: () => void | Promise<void>): void;
  setHealth(change: Partial<StoreHealth>): void;
  chunksOf(path: string): Chunk[];
  paths(): string[];
  readonly space: VectorSpace | undefined;
}

/** A chunk store in memory that can be told to fail. BM25 as SQLite's, positive. */
export function createFakeStore(): FakeStore {
  const files = new Map<string, { file: StoredFile; chunks: KeptChunk[] }>();
  const postings = new Map<string, Map<number, number>>();
  const chunksById = new Map<number, KeptChunk>();
  const vectors = new Map<string, Map<string, Float32Array>>();
  const calls: FakeStore["calls"] = [];
  const failures = new Map<Method, (argument: unknown) => Error | undefined>();
  const actions = new Map<Method, () => void | Promise<void>>();
  let health: StoreHealth = {
    location: "fake",
    fts: { enabled: true, available: true },
    vector: { enabled: true, available: true },
    notices: [],
  };
  let space: VectorSpace | undefined;
  let nextId = 1;

  async function enter(method: Method, argument?: unknown): Promise<void> {
    calls.push({ method, argument });
    await actions.get(method)?.();
    const failure = failures.get(method)?.(argument);
    if (failure) throw failure;
  }

  function current(): Map<string, Float32Array> {
    const name = JSON.stringify(space ?? null);
    const known = vectors.get(name) ?? new Map<string, Float32Array>();
    vectors.set(name, known);
    return known;
  }

  function remove(key: FileKey): void {
    for (const chunk of files.get(nameOf(key))?.chunks ?? []) {
      chunksById.delete(chunk.id);
      for (const word of chunk.words.keys()) postings.get(word)?.delete(chunk.id);
    }
    files.delete(nameOf(key));
  }

  function keep(file: FileKey, chunk: Chunk): KeptChunk {
    const words = new Map<string, number>();
    const terms = chunk.terms.split(" ").filter((term) => term !== "");
    for (const term of terms) words.set(term, (words.get(term) ?? 0) + 1);
    const kept = { ...chunk, id: nextId++, path: file.path, source: file.source, words, length: terms.length };
    chunksById.set(kept.id, kept);
    for (const [word, count] of words) {
      const posting = postings.get(word) ?? new Map<number, number>();
      posting.set(kept.id, count);
      postings.set(word, posting);
    }
    return kept;
  }

  /** How often each chunk holds the term. */
  function countsOf(term: string, prefix: boolean): Map<number, number> {
    if (!prefix) return postings.get(term) ?? new Map();
    const counts = new Map<number, number>();
    for (const [word, posting] of postings) {
      if (!word.startsWith(term)) continue;
      for (const [id, count] of posting) counts.set(id, (counts.get(id) ?? 0) + count);
    }
    return counts;
  }

  return {
    calls,
    fail: (method, make) => void (make ? failures.set(method, make) : failures.delete(method)),
    before: (method, action) => void actions.set(method, action),
    setHealth: (change) => void (health = { ...health, ...change }),
    chunksOf: (path) => files.get(nameOf({ path, source: "memory" }))?.chunks ?? [],
    paths: () => [...files.values()].map(({ file }) => file.path).toSorted(),
    get space() {
      return space;
    },
    async listFiles() {
      await enter("listFiles");
      return [...files.values()].map(({ file }) => ({ ...file }));
    },
    async replaceFiles(replaced) {
      await enter("replaceFiles", replaced);
      for (const { chunks, ...file } of replaced) {
        remove(file);
        files.set(nameOf(file), { file, chunks: chunks.map((chunk) => keep(file, chunk)) });
      }
    },
    async touchFiles(touched) {
      await enter("touchFiles", touched);
      for (const file of touched) {
        const known = files.get(nameOf(file));
        if (known) known.file = { ...file };
      }
    },
    async removeFiles(removed) {
      await enter("removeFiles", removed);
      for (const key of removed) remove(key);
    },
    async searchKeyword(query) {
      await enter("searchKeyword", query);
      const total = chunksById.size;
      const average = [...chunksById.values()].reduce((sum, chunk) => sum + chunk.length, 0) / Math.max(1, total);
      const scores = new Map<number, number>();
      const documentFrequencies = query.terms.map(({ term, prefix }) => {
        const counts = countsOf(term, prefix);
        const weight = Math.max(1e-6, Math.log((total - counts.size + 0.5) / (counts.size + 0.5)));
        for (const [id, count] of counts) {
          const length = chunksById.get(id)?.length ?? 0;
          const part = (weight * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / average));
          scores.set(id, (scores.get(id) ?? 0) + part);
        }
        return counts.size;
      });
      const rows = [...scores]
        .flatMap(([id, score]) => {
          const chunk = chunksById.get(id);
          return chunk && query.sources.includes(chunk.source) ? [{ ...rowOf(chunk), score }] : [];
        })
        .toSorted((a, b) => b.score - a.score || Number(a.id) - Number(b.id))
        .slice(0, query.limit);
      return { rows, chunkCount: total, documentFrequencies };
    },
    async useSpace(next) {
      await enter("useSpace", next);
      space = next;
    },
    async searchVector(query) {
      await enter("searchVector", query);
      const known = current();
      const rows = [...chunksById.values()].flatMap((chunk) => {
        const vector = known.get(chunk.hash);
        return vector && query.sources.includes(chunk.source)
          ? [{ ...rowOf(chunk), score: vector.reduce((sum, value, at) => sum + value * (query.vector[at] ?? 0), 0) }]
          : [];
      });
      return { rows: rows.toSorted((a, b) => b.score - a.score).slice(0, query.limit) };
    },
    async pendingVectors(limit) {
      await enter("pendingVectors", limit);
      const pending = new Map<string, { hash: string; context: string; text: string }>();
      for (const { hash, context, text } of chunksById.values()) {
        if (!current().has(hash)) pending.set(hash, { hash, context, text });
      }
      return [...pending.values()].slice(0, limit);
    },
    async putVectors(entries) {
      await enter("putVectors", entries);
      for (const { hash, vector } of entries) {
        if (vector.length !== space?.dimensions) throw new RangeError("a vector of another length than the space's");
        current().set(hash, vector);
      }
    },
    async probeVector() {
      await enter("probeVector");
      return true;
    },
    async stats() {
      await enter("stats");
      const chunks = [...chunksById.values()];
      return {
        files: files.size,
        chunks: chunks.length,
        sources: [{ source: "memory", files: files.size, chunks: chunks.length }],
        embedded: space ? chunks.filter((chunk) => current().has(chunk.hash)).length : 0,
        cachedVectors: [...vectors.values()].reduce((sum, known) => sum + known.size, 0),
        databaseBytes: 0,
        walBytes: 0,
      };
    },
    health: () => health,
    close: async () => await enter("close"),
  };
}

function nameOf({ path, source }: FileKey): string {
  return `${source}\0${path}`;
}

function rowOf({ id, path, source, startLine, endLine, text, context }: KeptChunk): ChunkRow {
  return { id, path, source, startLine, endLine, text, context };
}
