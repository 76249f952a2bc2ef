import type { IndexedFile, KeywordQuery, FileRecord } from "@memslot/indexing";
import { type WrongStore, everySource } from "./wrong-store.ts";

export const wrongWithFiles: readonly WrongStore[] = [
  {
    fault: "adds to a file in place of replacing it",
    caughtBy: "files: a replaced file leaves nothing of its old chunks",
    spoil(right) {
      const kept = new Map<string, IndexedFile>();
      return {
        async replaceFiles(files) {
          for (const file of files) {
            const chunks = [...(kept.get(file.path)?.chunks ?? []), ...file.chunks];
            kept.set(file.path, { ...file, chunks });
            await right.replaceFiles([{ ...file, chunks }]);
          }
        },
      };
    },
  },
  {
    fault: "names a file by its path alone",
    caughtBy: "files: the same path in two sources is two files",
    spoil: (right) => ({
      async replaceFiles(files) {
        await right.removeFiles(files.flatMap(({ path }) => everySource.map((source) => ({ path, source }))));
        await right.replaceFiles(files);
      },
    }),
  },
  {
    fault: "rounds modification times",
    caughtBy: "files: the facts of a file come back as they were given",
    spoil: (right) => ({
      listFiles: async () =>
        (await right.listFiles()).map((file): FileRecord => ({ ...file, mtimeMs: Math.floor(file.mtimeMs) })),
    }),
  },
  {
    fault: "adds files when they are touched",
    caughtBy: "files: touching a file that is not there adds none",
    spoil: (right) => ({ touchFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, chunks: [] }))) }),
  },
  {
    fault: "writes a file in two steps",
    caughtBy: "lifecycle: a file that is replaced by several calls at once holds one of the versions whole",
    spoil: (right) => ({
      async replaceFiles(files) {
        const kept = (await right.listFiles()).find((file) => file.path === files[0]?.path);
        await new Promise((done) => setTimeout(done, 1));
        await right.replaceFiles(files);
        await new Promise((done) => setTimeout(done, 1));
        if (kept !== undefined) await right.touchFiles([kept]);
        else if (files[0] !== undefined) await right.touchFiles([{ ...files[0], hash: "half" }]);
      },
    }),
  },
  {
    fault: "fails while it is empty",
    caughtBy: "files: an empty store answers everything with nothing",
    spoil: (right) => ({
      async searchKeyword(query) {
        if ((await right.listFiles()).length === 0) throw new Error("no such table");
        return right.searchKeyword(query);
      },
    }),
  },
  {
    fault: "forgets files without chunks",
    caughtBy: "files: a file without chunks is remembered",
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.filter(({ chunks }) => chunks.length > 0)),
    }),
  },
  {
    fault: "keeps a text once",
    caughtBy: "files: two chunks of one text are both kept",
    spoil: (right) => ({
      replaceFiles: (files) =>
        right.replaceFiles(
          files.map((file) => ({
            ...file,
            chunks: [...new Map(file.chunks.map((chunk) => [chunk.hash, chunk])).values()],
          })),
        ),
    }),
  },
  {
    fault: "removes nothing",
    caughtBy: "files: removing one takes its chunks along and leaves the others",
    spoil: () => ({ removeFiles: async () => undefined }),
  },
  {
    fault: "takes no more parameters than its engine",
    caughtBy: "files: a thousand go in and out in one call",
    spoil: (right) => ({
      async removeFiles(files) {
        if (files.length > 998) throw new Error("too many SQL variables");
        await right.removeFiles(files);
      },
    }),
  },
  {
    fault: "mixes up calls that overlap",
    caughtBy: "lifecycle: calls that overlap each get their own answer",
    spoil(right) {
      let latest: KeywordQuery | undefined;
      return {
        async searchKeyword(query) {
          latest = query;
          await Promise.resolve();
          return right.searchKeyword(latest);
        },
      };
    },
  },
  {
    fault: "gives its database away in health",
    caughtBy: "lifecycle: health is plain data that says where the store is",
    spoil: (right) => ({ health: () => ({ ...right.health(), database: new Map() }) }),
  },
];
