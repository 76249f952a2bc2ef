import type { ChunkStore, ScoredChunk } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import { type WrongStore, everySource } from "./wrong-store.ts";

const exact = "vector: the ranking and the scores are those of the exact cosine";
const replaced = "vector: a text of a replaced file keeps its vector, and one that has gone is not found";

/** Gives the rows of a search by vectors, changed. */
function changeRows(
  right: InMemoryStore,
  change: (rows: readonly ScoredChunk[]) => readonly ScoredChunk[],
): Pick<ChunkStore, "searchVector"> {
  return { searchVector: async (query) => ({ rows: change((await right.searchVector(query)).rows) }) };
}

export const wrongWithVectors: readonly WrongStore[] = [
  {
    fault: "gives distances in place of similarities",
    caughtBy: exact,
    spoil: (right) => changeRows(right, (rows) => rows.map((row) => ({ ...row, score: 1 - row.score }))),
  },
  {
    fault: "rounds vectors to whole numbers",
    caughtBy: exact,
    spoil: (right) => ({
      putVectors: (space, entries) =>
        right.putVectors(
          space,
          entries.map(({ hash, vector }) => ({ hash, vector: vector.map((value) => Math.round(value * 7)) })),
        ),
    }),
  },
  {
    fault: "gives no score below 0",
    caughtBy: "vector: a chunk is nearest to its own vector, with score 1, and to the opposite with -1",
    spoil: (right) => changeRows(right, (rows) => rows.map((row) => ({ ...row, score: Math.max(0, row.score) }))),
  },
  {
    fault: "filters vectors by source after the limit",
    caughtBy: "vector: sources are filtered before the limit",
    spoil: (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector({ ...query, sources: everySource });
        return { rows: rows.filter((row) => query.sources.includes(row.source)) };
      },
    }),
  },
  {
    fault: "ignores the limit for vectors",
    caughtBy: "vector: limit cuts the farthest",
    spoil: (right) => ({ searchVector: (query) => right.searchVector({ ...query, limit: 1000 }) }),
  },
  {
    fault: "gives another line for a row",
    caughtBy: "vector: a row names its chunk, and removed chunks are not found",
    spoil: (right) => changeRows(right, (rows) => rows.map((row) => ({ ...row, startLine: row.startLine - 1 }))),
  },
  {
    fault: "finds removed chunks by their vectors",
    caughtBy: "vector: a row names its chunk, and removed chunks are not found",
    spoil(right) {
      let gone: readonly ScoredChunk[] = [];
      return {
        async removeFiles(files) {
          gone = files.map((file) => ({ ...file, startLine: 1, hash: "", score: 0.1 }));
          await right.removeFiles(files);
        },
        searchVector: async (query) => ({ rows: [...(await right.searchVector(query)).rows, ...gone] }),
      };
    },
  },
  {
    fault: "finds a text once",
    caughtBy: "vector: chunks of one text are all found by its vector",
    spoil: (right) => changeRows(right, (rows) => [...new Map(rows.map((row) => [row.hash, row])).values()]),
  },
  {
    fault: "cuts texts to the limit before it looks where they stand",
    caughtBy: "vector: chunks of one text are all found by its vector",
    spoil: (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector({ ...query, sources: everySource, limit: query.limit });
        return { rows: rows.filter(({ source }) => query.sources.includes(source)) };
      },
    }),
  },
  {
    fault: "finds a chunk that has no vector",
    caughtBy: "vector: a chunk is found from its vector on, and not before",
    spoil: (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector(query);
        const [file] = await right.listFiles();
        return { rows: rows.length > 0 || file === undefined ? rows : [{ ...file, startLine: 1, score: 0 }] };
      },
    }),
  },
  {
    fault: "takes a vector of any length, and compares what there is",
    caughtBy: "vector: one of another length is refused, or does no harm",
    spoil(right) {
      let spoilt = false;
      return {
        async putVectors(space, entries) {
          spoilt ||= entries.some(({ vector }) => vector.length !== space.dimensions);
          if (!spoilt) await right.putVectors(space, entries);
        },
        async searchVector(query) {
          if (spoilt) throw new Error("vectors have different lengths");
          return right.searchVector(query);
        },
      };
    },
  },
  {
    fault: "loses a vector through a replacement",
    caughtBy: replaced,
    spoil: (right) => ({
      async replaceFiles(files) {
        await right.removeFiles(files);
        await right.replaceFiles(files);
      },
    }),
  },
  {
    fault: "keeps the vector of one space through a replacement",
    caughtBy: "vector: a text keeps its vectors of every space through a replacement",
    spoil(right) {
      const lost = new Set<string>();
      const models: string[] = [];
      return {
        async putVectors(space, entries) {
          if (!models.includes(space.model)) models.push(space.model);
          await right.putVectors(space, entries);
        },
        async replaceFiles(files) {
          for (const model of models.slice(1)) lost.add(model);
          await right.replaceFiles(files);
        },
        searchVector: async (query) => (lost.has(query.space.model) ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  {
    fault: "keeps a vector with the file that it was made for",
    caughtBy: "vector: a file that is renamed or moved to another source keeps its vectors",
    spoil(right) {
      const made = new Set<string>();
      return {
        async putVectors(space, entries) {
          for (const { path } of await right.listFiles()) made.add(path);
          await right.putVectors(space, entries);
        },
        ...changeRows(right, (rows) => rows.filter(({ path }) => made.has(path))),
      };
    },
  },
  {
    fault: "forgets a vector with the first file that goes",
    caughtBy: "vector: a text that another file holds still keeps its vector when one file goes",
    spoil(right) {
      const hashes = new Map<string, readonly string[]>();
      const gone = new Set<string>();
      return {
        async replaceFiles(files) {
          for (const { path, chunks } of files)
            hashes.set(
              path,
              chunks.map(({ hash }) => hash),
            );
          await right.replaceFiles(files);
        },
        async removeFiles(files) {
          for (const { path } of files) for (const hash of hashes.get(path) ?? []) gone.add(hash);
          await right.removeFiles(files);
        },
        ...changeRows(right, (rows) => rows.filter(({ hash }) => !gone.has(hash))),
      };
    },
  },
  {
    fault: "gives a vector to the chunks that are there, and not to those that come",
    caughtBy: "vector: a new chunk of a text that has its vector is found by it",
    spoil(right) {
      const late = new Set<string>();
      let given = false;
      return {
        async putVectors(space, entries) {
          given = true;
          await right.putVectors(space, entries);
        },
        async replaceFiles(files) {
          if (given) for (const { path } of files) late.add(path);
          await right.replaceFiles(files);
        },
        ...changeRows(right, (rows) => rows.filter(({ path }) => !late.has(path))),
      };
    },
  },
  {
    fault: "refuses vectors of hashes that no chunk has",
    caughtBy:
      "vector: those of a hash that no chunk has raise nothing and find nothing, before its text comes and after it has gone",
    spoil(right) {
      const known = new Set<string>();
      return {
        async replaceFiles(files) {
          for (const { chunks } of files) for (const { hash } of chunks) known.add(hash);
          await right.replaceFiles(files);
        },
        async putVectors(space, entries) {
          if (entries.some(({ hash }) => !known.has(hash))) throw new Error("FOREIGN KEY constraint failed");
          await right.putVectors(space, entries);
        },
      };
    },
  },
  {
    fault: "keeps the first vector of a hash",
    caughtBy: "vector: one that is put again takes the place of the old one",
    spoil(right) {
      const known = new Set<string>();
      return {
        async putVectors(space, entries) {
          await right.putVectors(
            space,
            entries.filter(({ hash }) => !known.has(hash)),
          );
          for (const { hash } of entries) known.add(hash);
        },
      };
    },
  },
  {
    fault: "takes no more vectors than its engine takes parameters",
    caughtBy: "vector: many come in one call, and words are found as before",
    spoil: (right) => ({ putVectors: (space, entries) => right.putVectors(space, entries.slice(0, 999)) }),
  },
];
