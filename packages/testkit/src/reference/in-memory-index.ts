import type { ChunkIndex, IndexBuilds, IndexStats, IndexUpkeep } from "@memslot/indexing";
import { bm25 } from "../helpers/bm25.ts";
import { type InMemoryBuild, best, createInMemoryBuild, isAsked, rowOf } from "./build.ts";
import { createInMemoryVectors } from "./vectors.ts";
import { randomFrom } from "../helpers/random.ts";

interface InMemoryIndex extends ChunkIndex {
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
}

/** A whole index in this process: what the reference plugin runs on as long as its host takes no store alone. */
export function createInMemoryIndex(): InMemoryIndex {
  let lastChunk = 0;
  let lastGeneration = 1;
  let revision = 0;
  const newBuild = (): InMemoryBuild => createInMemoryBuild(() => ++lastChunk);
  let answering: Generation = { id: lastGeneration, build: newBuild() };
  let next: NextGeneration | undefined;
  const random = randomFrom(1);
  const vectors = createInMemoryVectors(
    () => answering.build,
    () => next?.build,
  );

  function changed(): void {
    revision++;
    vectors.forgetRefused();
  }

  const builds: IndexBuilds = {
    async start(name) {
      if (next?.name !== name) next = { id: ++lastGeneration, name, startedAt: Date.now(), build: newBuild() };
      vectors.forgetRefused();
      return next.build.table(vectors.forgetRefused);
    },
    async finish() {
      if (next === undefined) throw new Error("finish: no build was started");
      answering = { id: next.id, build: next.build, builtAt: Date.now() };
      next = undefined;
      changed();
    },
    async abandon() {
      next = undefined;
      vectors.forgetRefused();
    },
  };

  const finding = {
    name: "words",
    ok: true,
    message: "searches read the chunks themselves, there is nothing to compare",
  };
  const upkeep: IndexUpkeep = {
    check: async () => [{ ...finding }],
    repair: async () => [{ ...finding }],
    compact: async () => ({ beforeBytes: 0, afterBytes: 0 }),
    async tables() {
      const bytes = answering.build.chunks().reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
      const tables = [
        { name: "chunks", bytes },
        { name: "vectors", bytes: vectors.counts().cachedVectorBytes },
      ];
      return tables.toSorted((left, right) => right.bytes - left.bytes);
    },
    async sample(count) {
      const drawn = answering.build.chunks().map((chunk) => ({ chunk, lot: random() }));
      const first = drawn.toSorted((left, right) => left.lot - right.lot).slice(0, count);
      return first.map(({ chunk }) => ({ ...rowOf(chunk), hash: chunk.hash }));
    },
    vectorOf: async (space, hash) => vectors.vectorOf(space, hash),
  };

  return {
    // Every call looks anew, because another build may have taken over since.
    listFiles: () => answering.build.table(changed).listFiles(),
    replaceFiles: (files) => answering.build.table(changed).replaceFiles(files),
    touchFiles: (files) => answering.build.table(changed).touchFiles(files),
    removeFiles: (files) => answering.build.table(changed).removeFiles(files),
    revision: async () => String(revision),
    builds,
    upkeep,
    async searchKeyword(query) {
      const chunks = answering.build.chunks();
      const all = query.scope ? chunks.filter((chunk) => isAsked(chunk, query)) : chunks;
      const { documentFrequencies, scores } = bm25(
        query.terms,
        all.map((chunk) => chunk.words),
      );
      const rows = all.map((chunk, index) => ({ ...rowOf(chunk), score: scores[index] ?? 0 }));
      const found = rows.filter((row) => row.score > 0 && isAsked(row, query));
      return { rows: best(found, query.limit), chunkCount: all.length, documentFrequencies };
    },
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
