import { describe, expect, test } from "vitest";
import type { ChunkStore, FileChunks, StoredFile } from "@memslot/indexing";
import { chunkStoreConformance, createInMemoryStore } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";

interface WrongStore {
  fault: string;
  caughtBy: string;
  spoil(right: ChunkStore): Partial<ChunkStore>;
}

const everySource = ["memory", "sessions"];

const wrongStores: readonly WrongStore[] = [
  {
    fault: "adds to a file in place of replacing it",
    caughtBy: "files: a replaced file leaves nothing of its old chunks",
    spoil(right) {
      const kept = new Map<string, FileChunks>();
      return {
        async replaceFiles(files) {
          for (const file of files) {
            const chunks = [...(kept.get(file.path)?.chunks ?? []), ...file.chunks];
            kept.set(file.path, { ...file, chunks });
            await right.replaceFiles([{ ...file, chunks }]);
          }
        },
      };
    },
  },
  {
    fault: "names a file by its path alone",
    caughtBy: "files: the same path in two sources is two files",
    spoil: (right) => ({
      async replaceFiles(files) {
        await right.removeFiles(files.flatMap(({ path }) => everySource.map((source) => ({ path, source }))));
        await right.replaceFiles(files);
      },
    }),
  },
  {
    fault: "rounds modification times",
    caughtBy: "files: the facts of a file come back as they were given",
    spoil: (right) => ({ listFiles: async () => (await right.listFiles()).map((file): StoredFile => ({ ...file, mtimeMs: Math.floor(file.mtimeMs) })) }),
  },
  {
    fault: "adds files when they are touched",
    caughtBy: "files: touching a file that is not there adds none",
    spoil: (right) => ({ touchFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, chunks: [] }))) }),
  },
  {
    fault: "filters by source after the limit",
    caughtBy: "keyword: sources are filtered before the limit",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword({ ...query, sources: everySource });
        return { ...answer, rows: answer.rows.filter((row) => query.sources.includes(row.source)) };
      },
    }),
  },
  {
    fault: "hands on the negative scores of its engine",
    caughtBy: "keyword: rows come best first and every score is positive",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        return { ...answer, rows: answer.rows.map((row) => ({ ...row, score: -row.score })) };
      },
    }),
  },
  {
    fault: "wants all of the terms",
    caughtBy: "keyword: a chunk matches when it holds one of the terms",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        return { ...answer, rows: answer.rows.filter((row) => query.terms.every(({ term }) => row.text.includes(term))) };
      },
    }),
  },
  {
    fault: "ignores the prefix mark",
    caughtBy: "keyword: a prefix finds every word that begins with it, a whole term only itself",
    spoil: (right) => ({ searchKeyword: (query) => right.searchKeyword({ ...query, terms: query.terms.map(({ term }) => ({ term, prefix: false })) }) }),
  },
  {
    fault: "splits terms at punctuation",
    caughtBy: "keyword: a term is taken as it stands, with its punctuation",
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, chunks: file.chunks.map((chunk) => ({ ...chunk, terms: chunk.terms.replaceAll(/[-./]/g, " ") })) }))),
    }),
  },
  {
    fault: "passes terms to a query language",
    caughtBy: "keyword: hostile terms raise nothing and find nothing",
    spoil: (right) => ({
      async searchKeyword(query) {
        if (query.terms.some(({ term }) => term.includes('"'))) throw new Error("fts5: syntax error");
        return right.searchKeyword(query);
      },
    }),
  },
  {
    fault: "counts document frequencies over the rows it gives",
    caughtBy: "keyword: counts say how many chunks there are and how many hold each term",
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword(query);
        return { ...answer, documentFrequencies: answer.documentFrequencies.map((count) => Math.min(count, answer.rows.length)) };
      },
    }),
  },
  {
    fault: "keeps all vectors of one width together",
    caughtBy: "vector: two spaces of one width never mix",
    spoil: (right) => ({ useSpace: (space) => right.useSpace({ ...space, model: "any", providerKey: "" }) }),
  },
  {
    fault: "drops the vectors of a space that is left",
    caughtBy: "vector: two spaces of one width never mix",
    spoil(right) {
      let turn = 0;
      return { useSpace: (space) => right.useSpace({ ...space, model: `${space.model} ${++turn}` }) };
    },
  },
  {
    fault: "gives distances in place of similarities",
    caughtBy: "vector: the ranking and the scores are those of the exact cosine",
    spoil: (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector(query);
        return { rows: rows.map((row) => ({ ...row, score: 1 - row.score })) };
      },
    }),
  },
  {
    fault: "lists a pending hash once for each chunk",
    caughtBy: "vector: chunks without a vector are pending, each hash once, until they have one",
    spoil: (right) => ({
      async pendingVectors(limit) {
        const pending = await right.pendingVectors(limit);
        return [...pending, ...pending];
      },
    }),
  },
  {
    fault: "writes a file in two steps",
    caughtBy: "lifecycle: a file that is replaced by several calls at once holds one of the versions whole",
    spoil: (right) => ({
      async replaceFiles(files) {
        const kept = (await right.listFiles()).find((file) => file.path === files[0]?.path);
        await new Promise((done) => setTimeout(done, 1));
        await right.replaceFiles(files);
        await new Promise((done) => setTimeout(done, 1));
        if (kept !== undefined) await right.touchFiles([kept]);
        else if (files[0] !== undefined) await right.touchFiles([{ ...files[0], hash: "half" }]);
      },
    }),
  },
];

describe("a store with one fault fails the check that is meant for it", () => {
  test.each(wrongStores.map((wrong) => [wrong.fault, wrong] as const))("one that %s", async (_fault, { spoil, caughtBy }) => {
    const open = async (): Promise<ChunkStore> => {
      const right = createInMemoryStore();
      return { ...right, ...spoil(right) };
    };
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: false }));
    expect((await runByName(checks, caughtBy)).result).toBe("failed");
  });

  test("a store that forgets fails when it says that it reopens", async () => {
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: true }));
    for (const name of ["lifecycle: files and words are there again after a reopen", "lifecycle: vectors are there again after a reopen, each space its own"]) {
      expect((await runByName(checks, name)).result).toBe("failed");
    }
  });

  test("a store that remembers passes when it says that it reopens", async () => {
    const stores = new Map<string, ChunkStore>();
    const open = async (stateDir: string): Promise<ChunkStore> => {
      const store = stores.get(stateDir) ?? createInMemoryStore();
      stores.set(stateDir, store);
      return store;
    };
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: true }));
    for (const check of checks) expect(await check.run(), check.name).toEqual({ result: "passed" });
  });

  test("a store without vectors skips what needs them, and nothing else", async () => {
    const open = async (): Promise<ChunkStore> => {
      const right = createInMemoryStore();
      return { ...right, health: () => ({ ...right.health(), vector: { enabled: false } }) };
    };
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: false }));
    for (const check of checks) {
      const { result } = await check.run();
      expect(result, check.name).toBe(check.name.startsWith("vector: ") || check.name.includes("after a reopen") ? "skipped" : "passed");
    }
  });
});
