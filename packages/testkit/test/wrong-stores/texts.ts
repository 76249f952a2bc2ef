import type { Chunk, FileChunks } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import type { WrongStore } from "./wrong-store.ts";

const taken = "texts: long ones and odd ones are taken, and found by their terms and their vectors";
const many = "texts: every one of many terms is found, and a long one as a whole";

export const wrongWithTexts: readonly WrongStore[] = [
  {
    fault: "takes no text over 64 kB",
    caughtBy: taken,
    spoil: (right) => eachChunk(right, (chunk) => within(chunk, 65_536)),
  },
  {
    fault: "takes no text with a NUL",
    caughtBy: taken,
    spoil: (right) =>
      eachChunk(right, (chunk) => {
        if (chunk.text.includes("\0")) throw new Error("invalid byte sequence");
        return chunk;
      }),
  },
  {
    fault: "takes no halves of characters",
    caughtBy: taken,
    spoil: (right) =>
      eachChunk(right, (chunk) => {
        if (!chunk.text.isWellFormed()) throw new Error("invalid UTF-8");
        return chunk;
      }),
  },
  {
    fault: "passes over a chunk without a text",
    caughtBy: taken,
    spoil: (right) => ({
      replaceFiles: (files) =>
        right.replaceFiles(files.map((file) => ({ ...file, chunks: file.chunks.filter(({ text }) => text !== "") }))),
    }),
  },
  {
    fault: "passes over a chunk without a term",
    caughtBy: "texts: a chunk without a term is held and counted",
    spoil: (right) => ({
      replaceFiles: (files) =>
        right.replaceFiles(files.map((file) => ({ ...file, chunks: file.chunks.filter(({ terms }) => terms !== "") }))),
    }),
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
];

function eachChunk(right: InMemoryStore, change: (chunk: Chunk) => Chunk): Pick<InMemoryStore, "replaceFiles"> {
  const changed = (file: FileChunks): FileChunks => ({ ...file, chunks: file.chunks.map(change) });
  return { replaceFiles: (files) => right.replaceFiles(files.map(changed)) };
}

function within(chunk: Chunk, limit: number): Chunk {
  if (chunk.text.length > limit) throw new Error(`a value of ${chunk.text.length} characters`);
  return chunk;
}
