import type { QuarantinedChunk, VectorSpace } from "@memslot/indexing";
import type { WrongIndex } from "./wrong-index.ts";

const listed =
  "vector: a quarantined text is not pending, is found by its words, and is listed with every place it stands at";

export const wrongWithQuarantine: readonly WrongIndex[] = [
  {
    fault: "hands out quarantined texts as pending",
    caughtBy: listed,
    spoil(right) {
      const texts = new Map<string, { hash: string; context: string; text: string }>();
      return {
        async replaceFiles(files) {
          for (const { chunks } of files) for (const chunk of chunks) texts.set(chunk.hash, chunk);
          await right.replaceFiles(files);
        },
        async pendingVectors(space, limit) {
          const refused = await right.quarantined(space, limit);
          return [
            ...(await right.pendingVectors(space, limit)),
            ...new Set(refused.flatMap(({ hash }) => texts.get(hash) ?? [])),
          ];
        },
      };
    },
  },
  {
    fault: "lists a quarantined text once",
    caughtBy: listed,
    spoil: (right) => ({
      async quarantined(space, limit) {
        const refused = await right.quarantined(space, limit);
        return [...new Map(refused.map((chunk) => [chunk.hash, chunk])).values()];
      },
    }),
  },
  {
    fault: "takes quarantined chunks out of keyword search",
    caughtBy: listed,
    spoil(right) {
      const spaces: VectorSpace[] = [];
      return {
        async quarantine(space, entries) {
          spaces.push(space);
          await right.quarantine(space, entries);
        },
        async searchKeyword(query) {
          const answer = await right.searchKeyword(query);
          const refused = (await Promise.all(spaces.map((space) => right.quarantined(space, 100)))).flat();
          const isRefused = ({ path, startLine }: { path: string; startLine: number }): boolean =>
            refused.some((chunk) => chunk.path === path && chunk.startLine === startLine);
          return { ...answer, rows: answer.rows.filter((row) => !isRefused(row)) };
        },
      };
    },
  },
  {
    fault: "keeps the first reason",
    caughtBy: listed,
    spoil(right) {
      const known = new Set<string>();
      return {
        async quarantine(space, entries) {
          await right.quarantine(
            space,
            entries.filter(({ hash }) => !known.has(hash)),
          );
          for (const { hash } of entries) known.add(hash);
        },
      };
    },
  },
  {
    fault: "lists quarantined chunks in the order of their hashes",
    caughtBy: "vector: quarantined chunks come in the order of their paths and lines",
    spoil: (right) => ({
      quarantined: async (space, limit) =>
        (await right.quarantined(space, limit)).toSorted((left, right) => (left.hash < right.hash ? -1 : 1)),
    }),
  },
  {
    fault: "quarantines a text in all spaces",
    caughtBy: "vector: quarantine is of one space alone",
    spoil(right) {
      let everywhere: VectorSpace | undefined;
      return {
        quarantine: (space, entries) => right.quarantine((everywhere = space), entries),
        quarantined: (space, limit) => right.quarantined(everywhere ?? space, limit),
      };
    },
  },
  {
    fault: "releases the texts of all spaces",
    caughtBy: "vector: quarantine is of one space alone",
    spoil(right) {
      const spaces = new Set<VectorSpace>();
      return {
        quarantine: (space, entries) => right.quarantine((spaces.add(space), space), entries),
        async releaseQuarantine() {
          for (const space of spaces) await right.releaseQuarantine(space);
        },
      };
    },
  },
  {
    fault: "keeps a text in quarantine that has got its vector",
    caughtBy: "vector: a vector releases its text from quarantine",
    spoil(right) {
      const kept: QuarantinedChunk[] = [];
      return {
        async quarantine(space, entries) {
          await right.quarantine(space, entries);
          kept.push(...(await right.quarantined(space, 100)));
        },
        quarantined: async () => kept,
      };
    },
  },
  {
    fault: "releases nothing",
    caughtBy: "vector: released texts are pending again",
    spoil: () => ({ releaseQuarantine: async () => undefined }),
  },
  {
    fault: "remembers quarantined texts after they are gone",
    caughtBy: "vector: quarantine is forgotten for texts that are gone or changed, and kept for those that stay",
    spoil(right) {
      const refused: { space: VectorSpace; entries: readonly { hash: string; reason: string }[] }[] = [];
      return {
        async quarantine(space, entries) {
          refused.push({ space, entries });
          await right.quarantine(space, entries);
        },
        async replaceFiles(files) {
          await right.replaceFiles(files);
          for (const { space, entries } of refused) await right.quarantine(space, entries);
        },
      };
    },
  },
  {
    fault: "forgets quarantined texts when their file is replaced",
    caughtBy: "vector: quarantine is forgotten for texts that are gone or changed, and kept for those that stay",
    spoil: (right) => ({
      async replaceFiles(files) {
        await right.removeFiles(files);
        await right.replaceFiles(files);
      },
    }),
  },
  {
    fault: "counts quarantined texts in place of chunks",
    caughtBy: "vector: embedded, pending and quarantined chunks are all the chunks there are",
    spoil: (right) => ({
      async spaceStats(space) {
        const hashes = new Set((await right.quarantined(space, 1000)).map(({ hash }) => hash));
        return { ...(await right.spaceStats(space)), quarantined: hashes.size };
      },
    }),
  },
  {
    fault: "counts quarantined chunks as pending too",
    caughtBy: "vector: embedded, pending and quarantined chunks are all the chunks there are",
    spoil: (right) => ({
      async spaceStats(space) {
        const { embedded, pending, quarantined } = await right.spaceStats(space);
        return { embedded, pending: pending + quarantined, quarantined };
      },
    }),
  },
];
