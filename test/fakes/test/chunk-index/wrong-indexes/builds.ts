import type { FileTable, VectorSpace } from "@memslot/indexing";
import type { FullIndex } from "../remembering-indexes.ts";
import type { WrongIndex } from "./wrong-index.ts";

export const wrongWithBuilds: readonly WrongIndex[] = [
  {
    fault: "touches no file of the next build",
    caughtBy: "builds: the table of a build replaces, touches, removes and takes tails as the store does",
    spoil: (right) => changeTable(right, () => ({ touchFiles: async () => undefined })),
  },
  {
    fault: "takes tails for whole files in the next build",
    caughtBy: "builds: the table of a build replaces, touches, removes and takes tails as the store does",
    spoil: (right) =>
      changeTable(right, (table) => ({
        replaceFiles: (files) => table.replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
      })),
  },
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
    caughtBy: "vector: pending texts are those of both builds, each hash once, and are counted apart",
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
    caughtBy: "vector: pending texts are those of both builds, each hash once, and are counted apart",
    spoil: (right) => ({
      async spaceStats(space) {
        const stats = await right.spaceStats(space);
        return { ...stats, pending: stats.pending + (stats.nextPending ?? 0) };
      },
    }),
  },
  {
    fault: "says that a next build wants nothing where there is none",
    caughtBy: "vector: pending texts are those of both builds, each hash once, and are counted apart",
    spoil: (right) => ({
      spaceStats: async (space) => ({ nextPending: 0, ...(await right.spaceStats(space)) }),
    }),
  },
  {
    fault: "has vectors made in the space in use only",
    caughtBy: "vector: a build is pending in another space while the old one answers in its own",
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
  ...(
    [
      ["says nothing of builds", () => undefined],
      [
        "does not say how far the next build is",
        (facts) => ({ ...facts, next: facts.next && { ...facts.next, files: 0 } }),
      ],
      [
        "numbers the next build like the one that answers",
        (facts) => ({ ...facts, id: 1, next: facts.next && { ...facts.next, id: 1 } }),
      ],
      ["never says when a build took over", (facts) => ({ ...facts, builtAt: undefined })],
    ] satisfies [string, (facts: Generation) => Generation | undefined][]
  ).map(([fault, generation]): WrongIndex => ({
    fault,
    caughtBy: "builds: stats say which build answers and how far the next one is",
    spoil: (right) => ({
      async stats() {
        const stats = await right.stats();
        return { ...stats, generation: stats.generation && generation(stats.generation) };
      },
    }),
  })),
];

type Generation = NonNullable<Awaited<ReturnType<FullIndex["stats"]>>["generation"]>;

function changeTable(right: FullIndex, spoil: (table: FileTable) => Partial<FileTable>): Pick<FullIndex, "builds"> {
  return {
    builds: {
      ...right.builds,
      async start(name) {
        const table = await right.builds.start(name);
        return { ...table, ...spoil(table) };
      },
    },
  };
}
