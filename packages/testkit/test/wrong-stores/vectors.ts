import { type WrongStore, everySource } from "./wrong-store.ts";

export const wrongWithVectors: readonly WrongStore[] = [
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
      async pendingVectors(space, limit) {
        const pending = await right.pendingVectors(space, limit);
        return [...pending, ...pending];
      },
    }),
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
    fault: "gives rows without their text",
    caughtBy: "vector: a row carries its chunk, and removed chunks are not found",
    spoil: (right) => ({
      searchVector: async (query) => ({
        rows: (await right.searchVector(query)).rows.map((row) => ({ ...row, text: "" })),
      }),
    }),
  },
  {
    fault: "says that its vector leg does not work",
    caughtBy: "vector: the probe says that the leg works",
    spoil: () => ({ probeVector: async () => false }),
  },
  {
    fault: "refuses vectors of chunks that are gone",
    caughtBy: "vector: a vector for an unknown hash raises nothing and finds nothing",
    spoil: (right) => ({
      async putVectors(space, entries) {
        const pending = new Set((await right.pendingVectors(space, 1000)).map(({ hash }) => hash));
        if (entries.some(({ hash }) => !pending.has(hash))) throw new Error("FOREIGN KEY constraint failed");
        await right.putVectors(space, entries);
      },
    }),
  },
  {
    fault: "forgets a vector with the file that it was made for",
    caughtBy: "vector: a file that is renamed or moved to another source needs no new vector",
    spoil: (right) => ({
      replaceFiles: (files) =>
        right.replaceFiles(
          files.map((file) => ({
            ...file,
            chunks: file.chunks.map((chunk) => ({ ...chunk, hash: `${file.path} ${chunk.hash}` })),
          })),
        ),
    }),
  },
  {
    fault: "makes every vector of a replaced file anew",
    caughtBy: "vector: an unchanged chunk of a replaced file needs no new vector",
    spoil(right) {
      let version = 0;
      return {
        replaceFiles(files) {
          version++;
          return right.replaceFiles(
            files.map((file) => ({
              ...file,
              chunks: file.chunks.map((chunk) => ({ ...chunk, hash: `${version} ${chunk.hash}` })),
            })),
          );
        },
      };
    },
  },
  {
    fault: "keeps the first vector of a hash",
    caughtBy: "vector: a vector that is put again takes the place of the old one",
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
];
