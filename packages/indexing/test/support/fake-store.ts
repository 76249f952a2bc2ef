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

interface KeptSpace {
  space: VectorSpace;
  vectors: Map<string, Float32Array>;
  /** Why the provider refuses a text, by its hash. */
  refused: Map<string, string>;
}

type Method = Exclude<keyof ChunkStore, "health">;

export interface FakeStore extends ChunkStore {
  /** Every call so far, by method, with its argument; the two of a call about a space are `{ space, of }`. */
  readonly calls: { method: Method; argument: unknown }[];
  /** From now on the method throws what `make` gives; `undefined` mends it. */
  fail(method: Method, make: ((argument: unknown) => Error | undefined) | undefined): void;
  /** Runs before the method answers. */
  before(method: Method, action: () => void | Promise<void>): void;
  setHealth(change: Partial<StoreHealth>): void;
  chunksOf(path: string): Chunk[];
  paths(): string[];
  /** The one that `useSpace` named last. */
  readonly space: VectorSpace | undefined;
}

/** A chunk store in memory that can be told to fail. BM25 as SQLite's, positive. */
export function createFakeStore(): FakeStore {
  const files = new Map<string, { file: StoredFile; chunks: KeptChunk[] }>();
  const postings = new Map<string, Map<number, number>>();
  const chunksById = new Map<number, KeptChunk>();
  /** By the name of the space; the one that was written to last comes last. */
  const spaces = new Map<string, KeptSpace>();
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

  function keptOf(wanted: VectorSpace): KeptSpace {
    const name = spaceName(wanted);
    const kept = spaces.get(name) ?? { space: { ...wanted }, vectors: new Map(), refused: new Map() };
    spaces.set(name, kept);
    return kept;
  }

  /** A refused text is forgotten with the last chunk that has it. */
  function forgetRefused(): void {
    for (const { refused } of spaces.values()) {
      if (refused.size === 0) continue;
      const hashes = new Set([...chunksById.values()].map(({ hash }) => hash));
      for (const hash of refused.keys()) if (!hashes.has(hash)) refused.delete(hash);
    }
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
      forgetRefused();
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
      forgetRefused();
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
      const { vectors } = keptOf(query.space);
      const rows = [...chunksById.values()].flatMap((chunk) => {
        const vector = vectors.get(chunk.hash);
        return vector && query.sources.includes(chunk.source)
          ? [{ ...rowOf(chunk), score: vector.reduce((sum, value, at) => sum + value * (query.vector[at] ?? 0), 0) }]
          : [];
      });
      return { rows: rows.toSorted((a, b) => b.score - a.score).slice(0, query.limit) };
    },
    async pendingVectors(wanted, limit) {
      await enter("pendingVectors", { space: wanted, of: limit });
      const { vectors, refused } = keptOf(wanted);
      const pending = new Map<string, { hash: string; context: string; text: string }>();
      for (const { hash, context, text } of chunksById.values()) {
        if (!vectors.has(hash) && !refused.has(hash)) pending.set(hash, { hash, context, text });
      }
      return [...pending.values()].slice(0, limit);
    },
    async putVectors(wanted, entries) {
      await enter("putVectors", { space: wanted, of: entries });
      const kept = keptOf(wanted);
      for (const { hash, vector } of entries) {
        if (vector.length !== wanted.dimensions) throw new RangeError("a vector of another length than the space's");
        kept.vectors.set(hash, vector);
        kept.refused.delete(hash);
      }
      if (entries.length === 0) return;
      spaces.delete(spaceName(wanted));
      spaces.set(spaceName(wanted), kept);
    },
    async knownVectors(wanted, hashes) {
      await enter("knownVectors", { space: wanted, of: hashes });
      return hashes.filter((hash) => keptOf(wanted).vectors.has(hash));
    },
    async quarantine(wanted, entries) {
      await enter("quarantine", { space: wanted, of: entries });
      const { vectors, refused } = keptOf(wanted);
      for (const { hash, reason } of entries) if (!vectors.has(hash)) refused.set(hash, reason);
    },
    async quarantined(wanted, limit) {
      await enter("quarantined", { space: wanted, of: limit });
      const { refused } = keptOf(wanted);
      return [...chunksById.values()]
        .flatMap(({ path, source, hash, startLine, endLine }) => {
          const reason = refused.get(hash);
          return reason === undefined ? [] : [{ path, source, hash, startLine, endLine, reason }];
        })
        .toSorted((a, b) => (a.path === b.path ? a.startLine - b.startLine : a.path < b.path ? -1 : 1))
        .slice(0, limit);
    },
    async releaseQuarantine(wanted) {
      await enter("releaseQuarantine", wanted);
      keptOf(wanted).refused.clear();
    },
    async spaces() {
      await enter("spaces");
      const filled = [...spaces.values()].filter(({ vectors }) => vectors.size > 0);
      return filled.map((kept) => ({ space: { ...kept.space }, vectors: kept.vectors.size })).toReversed();
    },
    async spaceStats(wanted) {
      await enter("spaceStats", wanted);
      const { vectors, refused } = keptOf(wanted);
      const chunks = [...chunksById.values()];
      const embedded = chunks.filter(({ hash }) => vectors.has(hash)).length;
      const quarantined = chunks.filter(({ hash }) => refused.has(hash)).length;
      return { embedded, pending: chunks.length - embedded - quarantined, quarantined };
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
        cachedVectors: [...spaces.values()].reduce((sum, { vectors }) => sum + vectors.size, 0),
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

function spaceName({ provider, model, providerKey, dimensions }: VectorSpace): string {
  return JSON.stringify([provider, model, providerKey, dimensions]);
}

function rowOf({ id, path, source, startLine, endLine, text, context }: KeptChunk): ChunkRow {
  return { id, path, source, startLine, endLine, text, context };
}
