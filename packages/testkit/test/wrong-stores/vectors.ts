import { type WrongStore, everySource } from "./wrong-store.ts";

export const wrongWithVectors: readonly WrongStore[] = [
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
      async putVectors(entries) {
        const pending = new Set((await right.pendingVectors(1000)).map(({ hash }) => hash));
        if (entries.some(({ hash }) => !pending.has(hash))) throw new Error("FOREIGN KEY constraint failed");
        await right.putVectors(entries);
      },
    }),
  },
  {
    fault: "keeps the first vector of a hash",
    caughtBy: "vector: a vector that is put again takes the place of the old one",
    spoil(right) {
      const known = new Set<string>();
      return {
        async putVectors(entries) {
          await right.putVectors(entries.filter(({ hash }) => !known.has(hash)));
          for (const { hash } of entries) known.add(hash);
        },
      };
    },
  },
];
