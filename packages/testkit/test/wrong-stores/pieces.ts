import type { Chunk } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import type { WrongStore } from "./wrong-store.ts";

const several = "pieces: several chunks that begin in one line are all kept, and a row tells by its hash which it is";

/** Keeps of several chunks the last one that has this name. */
function byName(right: InMemoryStore, nameOf: (chunk: Chunk) => string): Pick<InMemoryStore, "replaceFiles"> {
  return {
    replaceFiles: (files) =>
      right.replaceFiles(
        files.map((file) => ({
          ...file,
          chunks: [...new Map(file.chunks.map((chunk) => [nameOf(chunk), chunk])).values()],
        })),
      ),
  };
}

export const wrongWithPieces: readonly WrongStore[] = [
  {
    fault: "names a chunk by its line alone",
    caughtBy: several,
    spoil: (right) => byName(right, ({ startLine }) => String(startLine)),
  },
  {
    fault: "names a chunk by its line and its hash",
    caughtBy: "pieces: two of one line and one text are two chunks",
    spoil: (right) => byName(right, ({ startLine, hash }) => `${startLine} ${hash}`),
  },
  {
    fault: "gives the hash of the first piece for all of a line",
    caughtBy: several,
    spoil(right) {
      const first = new Map<string, string>();
      return {
        async replaceFiles(files) {
          for (const { path, chunks } of files)
            for (const { startLine, hash } of chunks.toReversed()) first.set(`${path}:${startLine}`, hash);
          await right.replaceFiles(files);
        },
        async searchKeyword(query) {
          const answer = await right.searchKeyword(query);
          const hashOf = ({ path, startLine }: { path: string; startLine: number }): string =>
            first.get(`${path}:${startLine}`) ?? "";
          return { ...answer, rows: answer.rows.map((row) => ({ ...row, hash: hashOf(row) })) };
        },
      };
    },
  },
  {
    fault: "keeps the pieces of the line that a tail begins with, where it does not bring them",
    caughtBy: "pieces: with fromLine all pieces of a line are kept or replaced together",
    spoil(right) {
      const held = new Map<string, readonly Chunk[]>();
      return {
        async replaceFiles(files) {
          for (const { fromLine, ...file } of files) {
            const before = fromLine === undefined ? [] : (held.get(file.path) ?? []);
            const brought = new Set(file.chunks.map(({ hash }) => hash));
            const stays = before.filter(({ startLine, hash }) => startLine <= (fromLine ?? 0) && !brought.has(hash));
            const chunks = [...stays, ...file.chunks];
            held.set(file.path, chunks);
            await right.replaceFiles([{ ...file, chunks }]);
          }
        },
      };
    },
  },
  {
    fault: "finds one chunk of each line by vectors",
    caughtBy: "pieces: each is found by its own vector",
    spoil: (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector({ ...query, limit: 1000 });
        const lines = new Map(rows.toReversed().map((row) => [`${row.path}:${row.startLine}`, row]));
        return { rows: [...lines.values()].toReversed().slice(0, query.limit) };
      },
    }),
  },
];
