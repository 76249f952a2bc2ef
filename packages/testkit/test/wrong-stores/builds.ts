import type { ChunkStore, FileChunks, StoreBuild } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import type { WrongStore } from "./wrong-store.ts";

const hidden = "builds: nothing of the next build is found, listed or counted until it is finished";
const named = "builds: one of the same name goes on where it was, one of another name begins empty";
const apart = "builds: the build that answers can be written to meanwhile, and neither changes the other";
const asStores = "builds: one replaces, removes and takes tails as the store does";

export const wrongWithBuilds: readonly WrongStore[] = [
  {
    fault: "builds in place",
    caughtBy: hidden,
    spoil: (right) => ({
      build: async () => ({ ...right, finish: async () => undefined, abandon: async () => undefined }),
    }),
  },
  {
    fault: "shows a build too early",
    caughtBy: hidden,
    spoil(right) {
      let build: StoreBuild | undefined;
      return {
        build: async (name) => (build = await right.build(name)),
        listFiles: async () => [...(await right.listFiles()), ...((await build?.listFiles()) ?? [])],
      };
    },
  },
  {
    fault: "counts the next build in its stats",
    caughtBy: hidden,
    spoil(right) {
      let more = 0;
      return {
        ...changeBuild(right, (build) => ({
          async replaceFiles(files) {
            more += files.length;
            await build.replaceFiles(files);
          },
        })),
        async stats() {
          const stats = await right.stats();
          return { ...stats, chunks: stats.chunks + more };
        },
      };
    },
  },
  {
    fault: "empties the index while it builds",
    caughtBy: hidden,
    spoil: (right) => ({
      async build(name) {
        await right.removeFiles(await right.listFiles());
        return right.build(name);
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
    caughtBy: "builds: searches that run while one is finished find all of the old or all of the new",
    spoil: (right) =>
      copyOver(right, async () => {
        await right.removeFiles(await right.listFiles());
        for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
      }),
  },
  {
    fault: "writes into both builds",
    caughtBy: apart,
    spoil(right) {
      let build: StoreBuild | undefined;
      return {
        async replaceFiles(files) {
          await right.replaceFiles(files);
          await build?.replaceFiles(files);
        },
        build: async (name) => (build = await right.build(name)),
      };
    },
  },
  {
    fault: "removes a file from both builds",
    caughtBy: apart,
    spoil: (right) =>
      changeBuild(right, (build) => ({
        async removeFiles(files) {
          await build.removeFiles(files);
          await right.removeFiles(files);
        },
      })),
  },
  {
    fault: "takes tails for whole files in the next build",
    caughtBy: asStores,
    spoil: (right) =>
      changeBuild(right, (build) => ({
        replaceFiles: (files) => build.replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
      })),
  },
  {
    fault: "passes over files without a chunk in the next build",
    caughtBy: asStores,
    spoil: (right) =>
      changeBuild(right, (build) => ({
        replaceFiles: (files) => build.replaceFiles(files.filter(({ chunks }) => chunks.length > 0)),
      })),
  },
  {
    fault: "removes nothing from the next build",
    caughtBy: asStores,
    spoil: (right) => changeBuild(right, () => ({ removeFiles: async () => undefined })),
  },
  {
    fault: "begins every build anew",
    caughtBy: named,
    spoil: (right) => ({
      async build(name) {
        await (await right.build(name)).abandon();
        return right.build(name);
      },
    }),
  },
  {
    fault: "goes on with a build of any name",
    caughtBy: named,
    spoil: (right) => ({ build: () => right.build("any") }),
  },
  {
    fault: "keeps an abandoned build",
    caughtBy: "builds: an abandoned one leaves nothing, and the one that answers as it was",
    spoil: (right) => changeBuild(right, () => ({ abandon: async () => undefined })),
  },
  {
    fault: "goes on with a build that was finished",
    caughtBy: "builds: one after the other answers, and each can be written to afterwards",
    spoil(right) {
      const done: FileChunks[] = [];
      return {
        async build(name) {
          const build = await right.build(name);
          await build.replaceFiles(done);
          return {
            ...build,
            async replaceFiles(files) {
              done.push(...files);
              await build.replaceFiles(files);
            },
          };
        },
      };
    },
  },
  {
    fault: "forgets the next build with the process",
    caughtBy: "builds: after a reopen the next build is there, is gone on with by its name, and answers",
    spoil(right) {
      let last = "none";
      return {
        build: (name) => right.build((last = name)),
        close: async () => (await right.build(last)).abandon(),
      };
    },
  },
];

function changeBuild(
  right: InMemoryStore,
  spoil: (build: StoreBuild) => Partial<StoreBuild>,
): Pick<ChunkStore, "build"> {
  return {
    async build(name) {
      const build = await right.build(name);
      return { ...build, ...spoil(build) };
    },
  };
}

/** In place of taking over, the files of the next build are written into the one that answers. */
function copyOver(right: InMemoryStore, before: () => Promise<void>): Pick<ChunkStore, "build"> {
  const written: FileChunks[] = [];
  return changeBuild(right, (build) => ({
    async replaceFiles(files) {
      written.push(...files);
      await build.replaceFiles(files);
    },
    async finish() {
      await build.abandon();
      await before();
      await right.replaceFiles(written);
    },
  }));
}
