import type { Chunk, IndexedFile } from "@memslot/indexing";
import type { FullStore } from "../remembering-stores.ts";
import type { WrongStore } from "./wrong-store.ts";

const long = "texts: a long text comes back whole";
const many = "texts: every one of many terms is found, and a long one as a whole";
const form = "texts: no text is put into another form";

export const wrongWithTexts: readonly WrongStore[] = [
  {
    fault: "cuts texts at 8 kB",
    caughtBy: long,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.slice(0, 8192) })),
  },
  {
    fault: "cuts what stands over a text",
    caughtBy: long,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, context: chunk.context.slice(0, 255) })),
  },
  {
    fault: "indexes the first thousand terms",
    caughtBy: many,
    spoil: (right) =>
      eachChunk(right, (chunk) => ({ ...chunk, terms: chunk.terms.split(" ").slice(0, 1000).join(" ") })),
  },
  {
    fault: "cuts long terms",
    caughtBy: many,
    spoil: (right) => ({
      ...eachChunk(right, (chunk) => ({
        ...chunk,
        terms: chunk.terms.replaceAll(/\S{256,}/g, (term) => term.slice(0, 255)),
      })),
      searchKeyword: (query) =>
        right.searchKeyword({
          ...query,
          terms: query.terms.map(({ term, prefix }) => ({ term: term.slice(0, 255), prefix })),
        }),
    }),
  },
  {
    fault: "looks at the first hundred terms of a question",
    caughtBy: many,
    spoil: (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword({ ...query, terms: query.terms.slice(0, 100) });
        return {
          ...answer,
          documentFrequencies: query.terms.map((_, index) => answer.documentFrequencies[index] ?? 0),
        };
      },
    }),
  },
  {
    fault: "composes accents",
    caughtBy: form,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.normalize("NFC") })),
  },
  {
    fault: "puts compatibility forms right",
    caughtBy: form,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.normalize("NFKC") })),
  },
  {
    fault: "ends a text at a NUL",
    caughtBy: form,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.split("\0", 1)[0] ?? "" })),
  },
  {
    fault: "trims texts",
    caughtBy: form,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.trim() })),
  },
  {
    fault: "has one kind of line end",
    caughtBy: form,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.replaceAll(/\r\n?/g, "\n") })),
  },
  {
    fault: "drops halves of characters",
    caughtBy: form,
    spoil: (right) => eachChunk(right, (chunk) => ({ ...chunk, text: chunk.text.replaceAll(/\p{Surrogate}/gu, "") })),
  },
  {
    fault: "composes accents of paths",
    caughtBy: form,
    spoil: (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.map((file) => ({ ...file, path: file.path.normalize("NFC") }))),
    }),
  },
];

function eachChunk(right: FullStore, change: (chunk: Chunk) => Chunk): Pick<FullStore, "replaceFiles"> {
  const changed = (file: IndexedFile): IndexedFile => ({ ...file, chunks: file.chunks.map(change) });
  return { replaceFiles: (files) => right.replaceFiles(files.map(changed)) };
}
