import type { Chunk, FileChunks } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import { type WrongStore, everySource } from "./wrong-store.ts";

const tailKept = "files: with fromLine the chunks that begin before it are kept, the later ones are replaced";

export const wrongWithTails: readonly WrongStore[] = [
  {
    fault: "takes a tail for the whole file",
    caughtBy: tailKept,
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, fromLine: undefined }))),
    }),
  },
  {
    fault: "adds a tail to what is there",
    caughtBy: tailKept,
    spoil: (right) => joinTails(right, (chunk) => chunk.startLine > 0),
  },
  {
    fault: "replaces what ends at the first line of a tail or later",
    caughtBy: "files: a chunk that begins before fromLine and ends after it is kept",
    spoil: (right) => joinTails(right, (chunk, fromLine) => chunk.endLine < fromLine),
  },
  {
    fault: "keeps the chunk that begins with the tail",
    caughtBy: tailKept,
    spoil: (right) => joinTails(right, (chunk, fromLine) => chunk.startLine <= fromLine),
  },
  {
    fault: "passes over the tail of a file that it does not know",
    caughtBy: "files: with fromLine a file that is not there is added, and a first line of 1 replaces all of it",
    spoil: (right) => ({
      async replaceFiles(files) {
        const known = new Set((await right.listFiles()).map(({ path }) => path));
        await right.replaceFiles(files.filter(({ path, fromLine }) => fromLine === undefined || known.has(path)));
      },
    }),
  },
  {
    fault: "cuts off the tail in every source",
    caughtBy: "files: fromLine touches no other file, nor the same path of another source",
    spoil: (right) => ({
      async replaceFiles(files) {
        const listed = await right.listFiles();
        for (const { path, fromLine } of files) {
          for (const file of listed.filter((other) => other.path === path && everySource.includes(other.source)))
            if (fromLine !== undefined) await right.replaceFiles([{ ...file, fromLine, chunks: [] }]);
        }
        await right.replaceFiles(files);
      },
    }),
  },
  {
    fault: "takes the last of several tails",
    caughtBy: "files: several tails of one file in one call are put on one after the other",
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles([...new Map(files.map((file) => [file.path, file])).values()]),
    }),
  },
  {
    fault: "keeps the hash of a file that has grown",
    caughtBy: tailKept,
    spoil(right) {
      const first = new Map<string, string>();
      return {
        async replaceFiles(files) {
          for (const { path, hash } of files) if (!first.has(path)) first.set(path, hash);
          await right.replaceFiles(files);
        },
        listFiles: async () =>
          (await right.listFiles()).map((file) => ({ ...file, hash: first.get(file.path) ?? file.hash })),
      };
    },
  },
  {
    fault: "lays out no vectors for a file that has grown",
    caughtBy: "vector: with fromLine the chunks that are kept keep their vectors",
    spoil(right) {
      const grown = new Set<string>();
      return {
        async replaceFiles(files) {
          for (const { path, fromLine } of files) if (fromLine !== undefined) grown.add(path);
          await right.replaceFiles(files);
        },
        searchVector: async (query) => ({
          rows: (await right.searchVector(query)).rows.filter(({ path }) => !grown.has(path)),
        }),
      };
    },
  },
];

/** Writes whole files only, made of the old chunks that `stays` picks and those of the tail. */
function joinTails(
  right: InMemoryStore,
  stays: (chunk: Chunk, fromLine: number) => boolean,
): Pick<InMemoryStore, "replaceFiles"> {
  const kept = new Map<string, readonly Chunk[]>();
  return {
    async replaceFiles(files) {
      for (const { fromLine, ...file } of files) {
        const old = fromLine === undefined ? [] : (kept.get(file.path) ?? []).filter((chunk) => stays(chunk, fromLine));
        const whole: FileChunks = { ...file, chunks: [...old, ...file.chunks] };
        kept.set(file.path, whole.chunks);
        await right.replaceFiles([whole]);
      }
    },
  };
}
