import type { WrongStore } from "./wrong-store.ts";

const told = "stats: they are plain data, count the chunks, and say where the store is without a key";
const compacted = "compact: gives space back, changes no answer, and leaves the store fit for use";

export const wrongWithStats: readonly WrongStore[] = [
  {
    fault: "tells its key with its address",
    caughtBy: told,
    spoil: (right) => ({
      stats: async () => ({ ...(await right.stats()), location: "https://someone:hunter2@db.example.com/notes" }),
    }),
  },
  {
    fault: "does not say where it is",
    caughtBy: told,
    spoil: (right) => ({ stats: async () => ({ ...(await right.stats()), location: "" }) }),
  },
  {
    fault: "counts files in place of chunks",
    caughtBy: told,
    spoil: (right) => ({ stats: async () => ({ ...(await right.stats()), chunks: (await right.listFiles()).length }) }),
  },
  {
    fault: "gives its database away",
    caughtBy: told,
    spoil: (right) => ({ stats: async () => Object.assign(await right.stats(), { database: new Map() }) }),
  },
  {
    fault: "counts chunks that have gone",
    caughtBy: "files: removing one takes its chunks along, leaves the others, and passes over what is not there",
    spoil(right) {
      let most = 0;
      return {
        async stats() {
          const stats = await right.stats();
          return { ...stats, chunks: Math.max(most, stats.chunks) };
        },
        async replaceFiles(files) {
          await right.replaceFiles(files);
          most = (await right.stats()).chunks;
        },
      };
    },
  },
  {
    fault: "loses a file when it is compacted",
    caughtBy: compacted,
    spoil: (right) => ({
      async compact() {
        await right.removeFiles([{ path: "b.md", source: "memory" }]);
        return right.compact();
      },
    }),
  },
  {
    fault: "loses vectors when it is compacted",
    caughtBy: compacted,
    spoil(right) {
      let lost = false;
      return {
        async compact() {
          lost = true;
          return right.compact();
        },
        searchVector: async (query) => (lost ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  {
    fault: "grows when it is compacted",
    caughtBy: compacted,
    spoil: () => ({ compact: async () => ({ beforeBytes: 1, afterBytes: 2 }) }),
  },
  {
    fault: "answers no search while it is compacted",
    caughtBy: "compact: searches go on meanwhile",
    spoil(right) {
      let busy = false;
      return {
        async compact() {
          busy = true;
          for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
          busy = false;
          return right.compact();
        },
        async searchKeyword(query) {
          if (busy) throw new Error("database is locked");
          return right.searchKeyword(query);
        },
      };
    },
  },
];
