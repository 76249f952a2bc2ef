import type { IndexedFile, FileTable, IndexBuilds } from "@memslot/indexing";
import type { FullStore } from "../remembering-stores.ts";
import type { WrongStore } from "./wrong-store.ts";

const hidden = "builds: nothing of the next build is found, listed or counted until it takes over";
const named = "builds: a build of the same name goes on where it was, one of another name begins empty";
const tables = "builds: the table of a build replaces, touches, removes and takes tails as the store does";

export const wrongWithBuilds: readonly WrongStore[] = [
  {
    fault: "builds in place",
    caughtBy: hidden,
    spoil: (right) => change(right, { start: async () => right, finish: async () => undefined }),
  },
  {
    fault: "counts the next build in its stats",
    caughtBy: hidden,
    spoil: (right) => ({
      async stats() {
        const stats = await right.stats();
        return { ...stats, chunks: stats.chunks + (stats.generation?.next?.chunks ?? 0) };
      },
    }),
  },
  {
    fault: "empties the index while it builds",
    caughtBy: hidden,
    spoil: (right) =>
      change(right, {
        async start(name) {
          await right.removeFiles(await right.listFiles());
          return right.builds.start(name);
        },
      }),
  },
  {
    fault: "adds the next build to the old one",
    caughtBy: "builds: with finish the next build answers, whole, and nothing is left of the old one",
    spoil: (right) => copyOver(right, async () => undefined),
  },
  {
    fault: "empties the index first and copies then",
    caughtBy: "builds: searches that run while one takes over find all of the old or all of the new",
    spoil: (right) =>
      copyOver(right, async () => {
        await right.removeFiles(await right.listFiles());
        for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
      }),
  },
  {
    fault: "writes into both builds",
    caughtBy: "builds: the build that answers can be written to meanwhile, and neither changes the other",
    spoil(right) {
      let table: FileTable | undefined;
      return {
        async replaceFiles(files) {
          await right.replaceFiles(files);
          await table?.replaceFiles(files);
        },
        builds: { ...right.builds, start: async (name) => (table = await right.builds.start(name)) },
      };
    },
  },
  {
    fault: "removes a file from both builds",
    caughtBy: "builds: the build that answers can be written to meanwhile, and neither changes the other",
    spoil: (right) =>
      changeTable(right, (table) => ({
        async removeFiles(files) {
          await table.removeFiles(files);
          await right.removeFiles(files);
        },
      })),
  },
  {
    fault: "touches no file of the next build",
    caughtBy: tables,
    spoil: (right) => changeTable(right, () => ({ touchFiles: async () => undefined })),
  },
  {
    fault: "takes tails for whole files in the next build",
    caughtBy: tables,
    spoil: (right) =>
      changeTable(right, (table) => ({
        replaceFiles: (files) => table.replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
      })),
  },
  {
    fault: "begins every build anew",
    caughtBy: named,
    spoil: (right) =>
      change(right, {
        async start(name) {
          await right.builds.abandon();
          return right.builds.start(name);
        },
      }),
  },
  {
    fault: "goes on with a build of any name",
    caughtBy: named,
    spoil: (right) => change(right, { start: () => right.builds.start("any") }),
  },
  {
    fault: "keeps an abandoned build",
    caughtBy: "builds: an abandoned build leaves nothing, and the one that answers as it was",
    spoil: (right) => change(right, { abandon: async () => undefined }),
  },
  {
    fault: "goes on with a build that took over",
    caughtBy: "builds: one after the other takes over, and each can be written to afterwards",
    spoil(right) {
      const done: IndexedFile[] = [];
      return change(right, {
        async start(name) {
          const table = await right.builds.start(name);
          await table.replaceFiles(done);
          return {
            ...table,
            async replaceFiles(files) {
              done.push(...files);
              await table.replaceFiles(files);
            },
          };
        },
      });
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
  ).map(([fault, generation]): WrongStore => ({
    fault,
    caughtBy: "builds: stats say which build answers and how far the next one is",
    spoil: (right) => ({
      async stats() {
        const stats = await right.stats();
        return { ...stats, generation: stats.generation && generation(stats.generation) };
      },
    }),
  })),
  {
    fault: "forgets the next build with the process",
    caughtBy: "builds: after a reopen the next build is there, is gone on with by its name, and takes over",
    spoil: (right) => ({
      async close() {
        await right.builds.abandon();
        await right.close();
      },
    }),
  },
];

type Generation = NonNullable<Awaited<ReturnType<FullStore["stats"]>>["generation"]>;

function change(right: FullStore, builds: Partial<IndexBuilds>): Pick<FullStore, "builds"> {
  return { builds: { ...right.builds, ...builds } };
}

function changeTable(right: FullStore, spoil: (table: FileTable) => Partial<FileTable>): Pick<FullStore, "builds"> {
  return change(right, {
    async start(name) {
      const table = await right.builds.start(name);
      return { ...table, ...spoil(table) };
    },
  });
}

/** In place of taking over, the files of the next build are written into the one that answers. */
function copyOver(right: FullStore, before: () => Promise<void>): Pick<FullStore, "builds"> {
  const written: IndexedFile[] = [];
  return change(right, {
    async start(name) {
      const table = await right.builds.start(name);
      return {
        ...table,
        async replaceFiles(files) {
          written.push(...files);
          await table.replaceFiles(files);
        },
      };
    },
    async finish() {
      await right.builds.abandon();
      await before();
      await right.replaceFiles(written);
    },
  });
}
