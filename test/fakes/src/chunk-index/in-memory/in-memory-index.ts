import {
  type ChunkIndex,
  type ChunkRow,
  type FileFilter,
  type IndexBuilds,
  type IndexStats,
  type IndexUpkeep,
  type StoreBuild,
  isAsked,
} from "@memslot/indexing";
import { createInMemoryStore } from "@memslot/testkit";
import { type InMemoryBuild, createInMemoryBuild, rowOf } from "./build.ts";
import { createInMemoryVectors, type InMemoryVectors } from "./vectors.ts";

export interface InMemoryIndex extends ChunkIndex {
  revision(): Promise<string>;
  builds: IndexBuilds;
  upkeep: IndexUpkeep;
}

interface Generation {
  id: number;
  build: InMemoryBuild;
  builtAt?: number;
}

interface NextGeneration {
  id: number;
  name: string;
  startedAt: number;
  build: InMemoryBuild;
  stored: StoreBuild;
}

/**
 * A whole index in this process, over the store of the testkit. Its content lasts as long as the object. It has no leases:
 * no other process can reach it.
 */
export function createInMemoryIndex(): InMemoryIndex {
  let lastChunk = 0;
  let lastGeneration = 1;
  let revision = 0;
  const store = createInMemoryStore();
  const nextId = (): number => ++lastChunk;
  let answering: Generation = { id: lastGeneration, build: createInMemoryBuild(nextId) };
  let next: NextGeneration | undefined;
  const vectors = createInMemoryVectors(
    store,
    () => answering.build,
    () => next?.build,
  );

  async function changed(hashes: readonly string[]): Promise<void> {
    revision++;
    await nextChanged(hashes);
  }
  async function nextChanged(hashes: readonly string[]): Promise<void> {
    vectors.forgetRefused();
    await vectors.give(hashes);
  }

  const builds: IndexBuilds = {
    async start(name) {
      if (next?.name !== name) {
        const stored = await store.build(name);
        const build = createInMemoryBuild(nextId);
        next = { id: ++lastGeneration, name, startedAt: Date.now(), build, stored };
      }
      vectors.forgetRefused();
      return next.build.table(next.stored, nextChanged);
    },
    async finish() {
      if (next === undefined) throw new Error("finish: no build was started");
      const { id, build, stored } = next;
      next = undefined;
      await stored.finish();
      answering = { id, build, builtAt: Date.now() };
      await changed([]);
    },
    async abandon() {
      await next?.stored.abandon();
      next = undefined;
      vectors.forgetRefused();
    },
  };

  return {
    // Every call looks anew, because another build may have taken over since.
    listFiles: () => answering.build.table(store, changed).listFiles(),
    replaceFiles: (files) => answering.build.table(store, changed).replaceFiles(files),
    touchFiles: (files) => answering.build.table(store, changed).touchFiles(files),
    removeFiles: (files) => answering.build.table(store, changed).removeFiles(files),
    revision: async () => String(revision),
    builds,
    upkeep: upkeepOf(vectors, () => answering.build, store.compact),
    listChunks: async ({ withText, ...asked }) => listed(answering.build, asked, withText),
    async searchKeyword(query) {
      const { rows, ...counts } = await store.searchKeyword(query);
      return {
        documentFrequencies: [...counts.documentFrequencies],
        chunkCount: counts.chunkCount,
        rows: answering.build.rowsOf(rows),
      };
    },
    searchVector: async (query) => ({ rows: answering.build.rowsOf((await store.searchVector(query)).rows) }),
    useSpace: async () => undefined,
    ...vectors.calls,
    probeVector: async () => true,
    stats: async () => ({
      ...countsOf(answering.build),
      ...vectors.counts(),
      databaseBytes: 0,
      walBytes: 0,
      reusableBytes: 0,
      generation: { id: answering.id, builtAt: answering.builtAt, next: next && factsOf(next) },
    }),
    health: () => ({
      location: "memory",
      fts: { enabled: true, available: true },
      vector: { enabled: true, available: true },
      notices: [],
    }),
    close: async () => undefined,
  };
}

function listed(build: InMemoryBuild, asked: FileFilter, withText: boolean): ChunkRow[] {
  const own = build.chunks().filter((chunk) => isAsked(chunk, asked));
  const rows = own.map((chunk) => (withText ? rowOf(chunk) : { ...rowOf(chunk), text: "" }));
  const order = ({ path, source }: ChunkRow): string => JSON.stringify([path, source]);
  return rows.toSorted((a, b) => (order(a) === order(b) ? a.startLine - b.startLine : order(a) < order(b) ? -1 : 1));
}

function upkeepOf(
  vectors: InMemoryVectors,
  answering: () => InMemoryBuild,
  compact: IndexUpkeep["compact"],
): IndexUpkeep {
  let lastDrawn = 0;
  const finding = { name: "words", ok: true, message: "searches read the chunks themselves" };
  return {
    check: async () => [{ ...finding }],
    repair: async () => [{ ...finding }],
    compact,
    async tables() {
      const chunks = answering().chunks();
      const bytes = chunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      const tables = [
        { name: "chunks", bytes },
        { name: "vectors", bytes: vectors.counts().cachedVectorBytes },
      ];
      return tables.toSorted((left, right) => right.bytes - left.bytes);
    },
    async sample(count) {
      const chunks = answering().chunks();
      const first = lastDrawn++ % Math.max(1, chunks.length);
      const drawn = [...chunks.slice(first), ...chunks.slice(0, first)].slice(0, count);
      return drawn.map((chunk) => ({ ...rowOf(chunk), hash: chunk.hash }));
    },
    vectorOf: async (space, hash) => vectors.vectorOf(space, hash),
  };
}

function countsOf(build: InMemoryBuild): Pick<IndexStats, "files" | "chunks" | "sources"> {
  const files = build.files();
  const chunks = build.chunks();
  const names = [...new Set(files.map(({ source }) => source))].toSorted();
  const sources = names.map((source) => {
    const ownFiles = files.filter((file) => file.source === source);
    const ownChunks = chunks.filter((chunk) => chunk.source === source);
    return {
      source,
      files: ownFiles.length,
      chunks: ownChunks.length,
      bytes: ownFiles.reduce((sum, { size }) => sum + size, 0),
      chunkBytes: ownChunks.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
    };
  });
  return { files: files.length, chunks: chunks.length, sources };
}

function factsOf({ id, name, startedAt, build }: NextGeneration): NonNullable<IndexStats["generation"]>["next"] {
  return { id, name, startedAt, files: build.files().length, chunks: build.chunks().length };
}
