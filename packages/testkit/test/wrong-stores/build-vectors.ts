import type { VectorSpace } from "@memslot/indexing";
import type { WrongStore } from "./wrong-store.ts";

const bothBuilds = "vector: pending texts are those of both builds, each hash once, and are counted apart";

export const wrongWithBuildVectors: readonly WrongStore[] = [
  {
    fault: "names vectors by the build",
    caughtBy: "vector: a rebuild of the same texts needs no new vector",
    spoil: (right) => ({
      builds: {
        ...right.builds,
        async start(name) {
          const table = await right.builds.start(name);
          return {
            ...table,
            replaceFiles: (files) =>
              table.replaceFiles(
                files.map((file) => ({
                  ...file,
                  chunks: file.chunks.map((chunk) => ({ ...chunk, hash: `${name} ${chunk.hash}` })),
                })),
              ),
          };
        },
      },
    }),
  },
  {
    fault: "has vectors made for the build that answers only",
    caughtBy: bothBuilds,
    spoil(right) {
      const answering = new Set<string>();
      return {
        async replaceFiles(files) {
          for (const { chunks } of files) for (const { hash } of chunks) answering.add(hash);
          await right.replaceFiles(files);
        },
        pendingVectors: async (space, limit) =>
          (await right.pendingVectors(space, 10_000)).filter(({ hash }) => answering.has(hash)).slice(0, limit),
      };
    },
  },
  {
    fault: "counts what the next build wants as pending",
    caughtBy: bothBuilds,
    spoil: (right) => ({
      async spaceStats(space) {
        const stats = await right.spaceStats(space);
        return { ...stats, pending: stats.pending + (stats.nextPending ?? 0) };
      },
    }),
  },
  {
    fault: "says that a next build wants nothing where there is none",
    caughtBy: bothBuilds,
    spoil: (right) => ({
      spaceStats: async (space) => ({ nextPending: 0, ...(await right.spaceStats(space)) }),
    }),
  },
  {
    fault: "lets the vectors of the next build answer before it does",
    caughtBy: "vector: texts of the next build are not found by their vectors until it takes over, then at once",
    spoil(right) {
      const early = new Map<string, string>();
      return {
        builds: {
          ...right.builds,
          async start(name) {
            const table = await right.builds.start(name);
            return {
              ...table,
              async replaceFiles(files) {
                for (const { path, chunks } of files) for (const { text } of chunks) early.set(text, path);
                await table.replaceFiles(files);
              },
            };
          },
        },
        async searchVector(query) {
          const { rows } = await right.searchVector(query);
          const [first] = rows;
          const known = new Set(rows.map(({ text }) => text));
          const more = [...early].filter(([text]) => first !== undefined && !known.has(text));
          return { rows: [...rows, ...more.flatMap(([text, path]) => (first ? [{ ...first, text, path }] : []))] };
        },
      };
    },
  },
  {
    fault: "lays out no vectors when a build takes over",
    caughtBy: "vector: texts of the next build are not found by their vectors until it takes over, then at once",
    spoil(right) {
      let finished = false;
      return {
        builds: {
          ...right.builds,
          async finish() {
            finished = true;
            await right.builds.finish();
          },
        },
        searchVector: async (query) => (finished ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  {
    fault: "has vectors made in the space in use only",
    caughtBy: "vector: a build in another space is filled while the old one answers in its own",
    spoil(right) {
      let inUse: VectorSpace | undefined;
      return {
        async useSpace(space) {
          inUse = space;
          await right.useSpace(space);
        },
        pendingVectors: async (space, limit) =>
          inUse === undefined || inUse.model === space.model ? right.pendingVectors(space, limit) : [],
      };
    },
  },
  {
    fault: "tries every refused text again after a rebuild",
    caughtBy:
      "vector: a text that was refused stays so over a rebuild, and is forgotten with the build that alone had it",
    spoil(right) {
      const seen: VectorSpace[] = [];
      return {
        async quarantine(space, entries) {
          seen.push(space);
          await right.quarantine(space, entries);
        },
        builds: {
          ...right.builds,
          async finish() {
            await right.builds.finish();
            for (const space of seen) await right.releaseQuarantine(space);
          },
        },
      };
    },
  },
];
