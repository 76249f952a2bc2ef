import type { Chunk, FileRecord, IndexedFile } from "@memslot/indexing";
import type { FullIndex } from "../remembering-indexes.ts";
import type { WrongIndex } from "./wrong-index.ts";

export const wrongWithWhatIsKept: readonly WrongIndex[] = [
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
    fault: "keeps a text once",
    caughtBy: "files: each chunk has an id of its own, also two of one text",
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
    fault: "lists the texts of all chunks, always",
    caughtBy: "files: the chunks of what is asked for are listed in their order, with their texts or without",
    spoil: (right) => ({ listChunks: (asked) => right.listChunks({ ...asked, withText: true }) }),
  },
  {
    fault: "lists chunks outside of the scope",
    caughtBy: "files: the chunks of what is asked for are listed in their order, with their texts or without",
    spoil: (right) => ({ listChunks: ({ scope: _scope, ...asked }) => right.listChunks(asked) }),
  },
  {
    fault: "lists chunks in the order in which they came",
    caughtBy: "files: the chunks of what is asked for are listed in their order, with their texts or without",
    spoil: (right) => ({
      listChunks: async (asked) => (await right.listChunks(asked)).toSorted((a, b) => Number(a.id) - Number(b.id)),
    }),
  },
  {
    fault: "gives its database away in health",
    caughtBy: "lifecycle: health is plain data that says where the store is",
    spoil: (right) => ({ health: () => ({ ...right.health(), database: new Map() }) }),
  },
  {
    fault: "forgets cursors",
    caughtBy: "files: a cursor is kept as it was given, replaced with the file, and gone when the file has none",
    spoil: (right) => ({
      listFiles: async () => (await right.listFiles()).map(({ cursor: _cursor, ...file }) => file),
    }),
  },
  {
    fault: "keeps the cursor of a file that has none any more",
    caughtBy: "files: a cursor is kept as it was given, replaced with the file, and gone when the file has none",
    spoil: (right) => ({
      async replaceFiles(files) {
        const cursors = new Map((await right.listFiles()).map(({ path, cursor }) => [path, cursor]));
        await right.replaceFiles(files.map((file) => ({ ...file, cursor: file.cursor ?? cursors.get(file.path) })));
      },
    }),
  },
  {
    fault: "cuts texts at 8 kB",
    caughtBy: "texts: a long text comes back whole",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.slice(0, 8192) })),
  },
  {
    fault: "cuts what stands over a text",
    caughtBy: "texts: a long text comes back whole",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, context: chunk.context.slice(0, 255) })),
  },
  {
    fault: "composes accents",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.normalize("NFC") })),
  },
  {
    fault: "puts compatibility forms right",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.normalize("NFKC") })),
  },
  {
    fault: "ends a text at a NUL",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.split("\0", 1)[0] ?? "" })),
  },
  {
    fault: "trims texts",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.trim() })),
  },
  {
    fault: "has one kind of line end",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.replaceAll(/\r\n?/g, "\n") })),
  },
  {
    fault: "drops halves of characters",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.replaceAll(/\p{Surrogate}/gu, "") })),
  },
  {
    fault: "composes accents of paths",
    caughtBy: "texts: no text is put into another form",
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, path: file.path.normalize("NFC") }))),
    }),
  },
  {
    fault: "gives another revision each time",
    caughtBy: "revision: searches, listings and vectors leave it as it is",
    spoil() {
      let asked = 0;
      return { revision: async () => String(++asked) };
    },
  },
  {
    fault: "counts vectors as a change",
    caughtBy: "revision: searches, listings and vectors leave it as it is",
    spoil: (right) => ({
      revision: async () => `${await right.revision()} ${(await right.stats()).cachedVectors}`,
    }),
  },
  {
    fault: "does not notice that a file was touched",
    caughtBy: "revision: a touched file gives another one",
    spoil(right) {
      let touches = 0;
      return {
        revision: async () => String(Number(await right.revision()) - touches),
        async touchFiles(files) {
          touches++;
          await right.touchFiles(files);
        },
      };
    },
  },
];

function eachChunk(right: FullIndex, change: (chunk: Chunk) => Chunk): Pick<FullIndex, "replaceFiles"> {
  const changed = (file: IndexedFile): IndexedFile => ({ ...file, chunks: file.chunks.map(change) });
  return { replaceFiles: (files) => right.replaceFiles(files.map(changed)) };
}
