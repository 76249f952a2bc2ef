import type { FileChunks, StoreBuild } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import { type WrongStores, beforeCalls, changeAnswers, changeBuild } from "../wrong.ts";

export const wrongWithBuilds: WrongStores = {
  "builds.switch": {
    "builds in place": (right) => ({
      build: async () => ({ ...right, finish: async () => undefined, abandon: async () => undefined }),
    }),
    "shows a build too early"(right) {
      let build: StoreBuild | undefined;
      return {
        build: async (name) => (build = await right.build(name)),
        listFiles: async () => [...(await right.listFiles()), ...((await build?.listFiles()) ?? [])],
      };
    },
    "counts the next build in its stats"(right) {
      let more = 0;
      return {
        ...changeBuild(right, (build) => beforeCalls(build, { replaceFiles: (files) => (more += files.length) })),
        ...changeAnswers(right, { stats: (stats) => ({ ...stats, chunks: stats.chunks + more }) }),
      };
    },
    "empties the index while it builds": (right) =>
      beforeCalls(right, {
        async build() {
          await right.removeFiles(await right.listFiles());
        },
      }),
    "adds the next build to the old one": (right) => copyOver(right, async () => undefined),
  },
  "builds.whole": {
    "empties the index first and copies then": (right) =>
      copyOver(right, async () => {
        await right.removeFiles(await right.listFiles());
        for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
      }),
  },
  "builds.independent": {
    "writes into both builds"(right) {
      let build: StoreBuild | undefined;
      return {
        async replaceFiles(files) {
          await right.replaceFiles(files);
          await build?.replaceFiles(files);
        },
        build: async (name) => (build = await right.build(name)),
      };
    },
    "removes a file from both builds": (right) =>
      changeBuild(right, (build) => beforeCalls(right, { removeFiles: (files) => build.removeFiles(files) })),
  },
  "builds.same-rules": {
    "takes tails for whole files in the next build": (right) =>
      changeBuild(right, (build) => ({
        replaceFiles: (files) => build.replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
      })),
    "passes over files without a chunk in the next build": (right) =>
      changeBuild(right, (build) => ({
        replaceFiles: (files) => build.replaceFiles(files.filter(({ chunks }) => chunks.length > 0)),
      })),
    "removes nothing from the next build": (right) =>
      changeBuild(right, () => ({ removeFiles: async () => undefined })),
  },
  "builds.resume": {
    "begins every build anew": (right) =>
      beforeCalls(right, {
        async build(name) {
          await (await right.build(name)).abandon();
        },
      }),
    "goes on with a build of any name": (right) => ({ build: () => right.build("any") }),
  },
  "builds.abandon": {
    "keeps an abandoned build": (right) => changeBuild(right, () => ({ abandon: async () => undefined })),
  },
  "builds.series": {
    "goes on with a build that was finished"(right) {
      const done: FileChunks[] = [];
      return {
        async build(name) {
          const build = await right.build(name);
          await build.replaceFiles(done);
          return { ...build, ...beforeCalls(build, { replaceFiles: (files) => done.push(...files) }) };
        },
      };
    },
  },
  "builds.reopen": {
    "forgets the next build with the process"(right) {
      let last = "none";
      return {
        build: (name) => right.build((last = name)),
        close: async () => (await right.build(last)).abandon(),
      };
    },
  },
};

/** In place of taking over, the files of the next build are written into the one that answers. */
function copyOver(right: InMemoryStore, before: () => Promise<void>): Partial<InMemoryStore> {
  const written: FileChunks[] = [];
  return changeBuild(right, (build) => ({
    ...beforeCalls(build, { replaceFiles: (files) => written.push(...files) }),
    async finish() {
      await build.abandon();
      await before();
      await right.replaceFiles(written);
    },
  }));
}

export const wrongWithRevision: WrongStores = {
  "revision.changes": {
    "takes the number of files for the revision": (right) => ({
      revision: async () => String((await right.listFiles()).length),
    }),
    "takes the content of the files for the revision": (right) => ({
      revision: async () => JSON.stringify(await right.listFiles()),
    }),
    "does not notice a file that goes"(right) {
      let own = 0;
      return {
        revision: async () => String(own),
        ...beforeCalls(right, { replaceFiles: () => own++ }),
      };
    },
    "does not notice that another build answers"(right) {
      let before: string | undefined;
      return {
        revision: async () => before ?? right.revision(),
        async build(name) {
          const build = await right.build(name);
          before = await right.revision();
          return build;
        },
      };
    },
  },
  "revision.reads": {
    "gives another revision each time"() {
      let asked = 0;
      return { revision: async () => String(++asked) };
    },
    "counts a search as a change"(right) {
      let searches = 0;
      return {
        revision: async () => `${await right.revision()} ${searches}`,
        ...beforeCalls(right, { searchKeyword: () => searches++ }),
      };
    },
  },
  "revision.other-host": {
    "sleeps: it is that of the last time it was written to itself"(right) {
      let last = "0";
      return {
        revision: async () => last,
        async replaceFiles(files) {
          await right.replaceFiles(files);
          last = await right.revision();
        },
      };
    },
    "counts the changes of its own process": ownCount,
  },
  "revision.reopen": {
    "counts changes from nothing at each open": ownCount,
  },
};

function ownCount(right: InMemoryStore): Partial<InMemoryStore> {
  let own = 0;
  return {
    revision: async () => String(own),
    ...beforeCalls(right, { replaceFiles: () => own++ }),
  };
}
