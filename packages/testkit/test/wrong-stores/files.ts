import type { FileChunks, KeywordQuery } from "@memslot/indexing";
import { type WrongStore, everySource } from "./wrong-store.ts";

const facts = "files: path, source, hash and recipe come back as they were given";
const alike = "files: paths that are easily taken for each other are files of their own";
const reopened = "lifecycle: files and words are there again after a reopen";

export const wrongWithFiles: readonly WrongStore[] = [
  {
    fault: "adds to a file in place of replacing it",
    caughtBy: "files: a replaced file leaves nothing of its old chunks",
    spoil(right) {
      const kept = new Map<string, FileChunks>();
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
    fault: "forgets the recipe",
    caughtBy: facts,
    spoil: (right) => ({ listFiles: async () => (await right.listFiles()).map((file) => ({ ...file, recipe: "1" })) }),
  },
  {
    fault: "makes a hash of its own",
    caughtBy: facts,
    spoil: (right) => ({
      listFiles: async () => (await right.listFiles()).map((file) => ({ ...file, hash: `sha256-${file.hash}` })),
    }),
  },
  {
    fault: "composes the accents of paths",
    caughtBy: alike,
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, path: file.path.normalize("NFC") }))),
    }),
  },
  {
    fault: "takes capitals of paths for small letters",
    caughtBy: alike,
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, path: file.path.toLowerCase() }))),
    }),
  },
  {
    fault: "removes files by a pattern of its engine",
    caughtBy: alike,
    spoil: (right) => ({
      async removeFiles(files) {
        const listed = await right.listFiles();
        const isLike = (path: string, pattern: string): boolean =>
          path.length === pattern.length && [...pattern].every((letter, at) => letter === "_" || letter === path[at]);
        await right.removeFiles(listed.filter(({ path }) => files.some((file) => isLike(path, file.path))));
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
    caughtBy: "files: a file without chunks is held",
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
    fault: "takes the first of two versions",
    caughtBy: "files: the last of two versions in one call stands",
    spoil: (right) => ({ replaceFiles: (files) => right.replaceFiles(files.toReversed()) }),
  },
  {
    fault: "removes nothing",
    caughtBy: "files: removing one takes its chunks along, leaves the others, and passes over what is not there",
    spoil: () => ({ removeFiles: async () => undefined }),
  },
  {
    fault: "finds removed files",
    caughtBy: "files: removing one takes its chunks along, leaves the others, and passes over what is not there",
    spoil(right) {
      const gone = new Set<string>();
      return {
        listFiles: async () => (await right.listFiles()).filter(({ path }) => !gone.has(path)),
        removeFiles: async (files) => {
          for (const { path, source } of files) if (source === "memory") gone.add(path);
        },
      };
    },
  },
  {
    fault: "fails for a file that it does not hold",
    caughtBy: "files: removing one takes its chunks along, leaves the others, and passes over what is not there",
    spoil: (right) => ({
      async removeFiles(files) {
        const listed = new Set((await right.listFiles()).map(({ path }) => path));
        if (files.some(({ path }) => !listed.has(path))) throw new Error("no such row");
        await right.removeFiles(files);
      },
    }),
  },
  {
    fault: "never takes a file again that was removed",
    caughtBy: "files: a file that was removed can be given again",
    spoil(right) {
      const gone = new Set<string>();
      return {
        async removeFiles(files) {
          for (const { path } of files) gone.add(path);
          await right.removeFiles(files);
        },
        replaceFiles: (files) => right.replaceFiles(files.filter(({ path }) => !gone.has(path))),
      };
    },
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
    fault: "writes a file chunk by chunk",
    caughtBy: "lifecycle: searches beside a write find each file whole, as it was or as it is",
    spoil: (right) => ({
      async replaceFiles(files) {
        for (const file of files) {
          await right.replaceFiles([{ ...file, chunks: file.chunks.slice(0, 1) }]);
          await new Promise<void>((done) => setImmediate(done));
          await right.replaceFiles([file]);
        }
      },
    }),
  },
  {
    fault: "mixes up searches that overlap",
    caughtBy: "lifecycle: searches that overlap each get their own answer",
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
    fault: "answers words from what was there at the last search",
    caughtBy: "lifecycle: what is written is seen by the next search, by words and by vectors",
    spoil(right) {
      const known = new Map<string, Awaited<ReturnType<typeof right.searchKeyword>>>();
      return {
        async searchKeyword(query) {
          const answer = known.get(JSON.stringify(query)) ?? (await right.searchKeyword(query));
          known.set(JSON.stringify(query), answer);
          return answer;
        },
      };
    },
  },
  {
    fault: "forgets the files that it was given before a reopen",
    caughtBy: reopened,
    spoil(right) {
      const own = new Set<string>();
      return {
        async replaceFiles(files) {
          for (const { path } of files) own.add(path);
          await right.replaceFiles(files);
        },
        listFiles: async () => (await right.listFiles()).filter(({ path }) => own.has(path)),
      };
    },
  },
  {
    fault: "loses the last write when it is closed",
    caughtBy: "lifecycle: nothing that was done is lost when a store is closed at once",
    spoil(right) {
      let last: readonly FileChunks[] = [];
      return {
        async replaceFiles(files) {
          last = files;
          await right.replaceFiles(files);
        },
        close: () => right.removeFiles(last),
      };
    },
  },
  {
    fault: "has forgotten its vectors when it is opened again",
    caughtBy: "lifecycle: vectors are there again after a reopen, each space its own",
    spoil(right) {
      let given = false;
      return {
        async putVectors(space, entries) {
          given = true;
          await right.putVectors(space, entries);
        },
        searchVector: async (query) => (given ? right.searchVector(query) : { rows: [] }),
      };
    },
  },
];
