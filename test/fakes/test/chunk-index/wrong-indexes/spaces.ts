import type { ChunkIndex, VectorSpace } from "@memslot/indexing";
import type { WrongIndex } from "./wrong-index.ts";

type VectorCalls = Pick<ChunkIndex, "searchVector" | "pendingVectors" | "putVectors" | "knownVectors">;

/** Lets the calls about vectors go to another space than the one they name. */
function redirect(right: ChunkIndex, other: (space: VectorSpace) => VectorSpace): VectorCalls {
  return {
    searchVector: (query) => right.searchVector({ ...query, space: other(query.space) }),
    pendingVectors: (space, limit) => right.pendingVectors(other(space), limit),
    putVectors: (space, entries) => right.putVectors(other(space), entries),
    knownVectors: (space, hashes) => right.knownVectors(other(space), hashes),
  };
}

/** Remembers the space of `useSpace`, and gives it in place of the one that is named. */
function onlyInUse(right: ChunkIndex): { inUse: (named: VectorSpace) => VectorSpace } & Pick<ChunkIndex, "useSpace"> {
  let inUse: VectorSpace | undefined;
  return {
    inUse: (named) => inUse ?? named,
    async useSpace(space) {
      inUse = space;
      await right.useSpace(space);
    },
  };
}

export const wrongWithSpaces: readonly WrongIndex[] = [
  {
    fault: "lists a pending hash once for each chunk",
    caughtBy: "vector: chunks without a vector are pending, each hash once, until they have one",
    spoil: (right) => ({
      async pendingVectors(space, limit) {
        const pending = await right.pendingVectors(space, limit);
        return [...pending, ...pending];
      },
    }),
  },
  {
    fault: "gives rows without their text",
    caughtBy: "vector: a row carries its chunk as it was given",
    spoil: (right) => ({
      searchVector: async (query) => ({
        rows: (await right.searchVector(query)).rows.map((row) => ({ ...row, text: "" })),
      }),
    }),
  },
  {
    fault: "says that its vector leg does not work",
    caughtBy: "vector: the probe says that the leg works",
    spoil: () => ({ probeVector: async () => false }),
  },
  {
    fault: "forgets a vector with the file that it was made for",
    caughtBy: "vector: a file that is renamed or moved to another source needs no new vector",
    spoil: (right) => ({
      replaceFiles: (files) =>
        right.replaceFiles(
          files.map((file) => ({
            ...file,
            chunks: file.chunks.map((chunk) => ({ ...chunk, hash: `${file.path} ${chunk.hash}` })),
          })),
        ),
    }),
  },
  {
    fault: "makes every vector of a replaced file anew",
    caughtBy: "vector: an unchanged chunk of a replaced file needs no new vector",
    spoil(right) {
      let version = 0;
      return {
        replaceFiles(files) {
          version++;
          return right.replaceFiles(
            files.map((file) => ({
              ...file,
              chunks: file.chunks.map((chunk) => ({ ...chunk, hash: `${version} ${chunk.hash}` })),
            })),
          );
        },
      };
    },
  },
  {
    fault: "keeps all vectors of one width together",
    caughtBy: "vector: two spaces of one width never mix, whichever of them is in use",
    spoil: (right) => redirect(right, (space) => ({ ...space, model: "any", providerKey: "" })),
  },
  {
    fault: "searches the space in use, whatever the query names",
    caughtBy: "vector: two spaces of one width never mix, whichever of them is in use",
    spoil(right) {
      const { inUse, useSpace } = onlyInUse(right);
      return { useSpace, searchVector: (query) => right.searchVector({ ...query, space: inUse(query.space) }) };
    },
  },
  {
    fault: "says what is pending in the space in use",
    caughtBy: "vector: what is pending is pending in each space by itself",
    spoil(right) {
      const { inUse, useSpace } = onlyInUse(right);
      return { useSpace, pendingVectors: (space, limit) => right.pendingVectors(inUse(space), limit) };
    },
  },
  {
    fault: "drops the vectors of a space that is left",
    caughtBy: "vector: a space that is used again has all its vectors, also those of chunks that came meanwhile",
    spoil(right) {
      let turn = 0;
      let last = "";
      return {
        ...redirect(right, (space) => ({ ...space, providerKey: `${space.providerKey} ${turn}` })),
        async useSpace(space) {
          if (last !== "" && last !== space.model) turn++;
          last = space.model;
        },
      };
    },
  },
  {
    fault: "does not lay out the chunks that come after it has laid out a space",
    caughtBy: "vector: a space that is used again has all its vectors, also those of chunks that came meanwhile",
    spoil(right) {
      const late = new Set<string>();
      let filled = false;
      return {
        async putVectors(space, entries) {
          filled = true;
          await right.putVectors(space, entries);
        },
        async replaceFiles(files) {
          if (filled) for (const { path } of files) late.add(path);
          await right.replaceFiles(files);
        },
        async searchVector(query) {
          const { rows } = await right.searchVector(query);
          return { rows: rows.filter(({ path }) => !late.has(path)) };
        },
      };
    },
  },
  {
    fault: "wants useSpace before anything else",
    caughtBy: "vector: every call works in a space that nobody has used",
    spoil(right) {
      let used = false;
      return {
        async useSpace(space) {
          used = true;
          await right.useSpace(space);
        },
        async spaceStats(space) {
          if (!used) throw new Error("no such table: chunks_vec");
          return right.spaceStats(space);
        },
      };
    },
  },
  {
    fault: "looks at no more hashes than its engine takes parameters",
    caughtBy: "vector: of many hashes those are known that have a vector in the space",
    spoil: (right) => ({ knownVectors: (space, hashes) => right.knownVectors(space, hashes.slice(0, 500)) }),
  },
  {
    fault: "knows a hash that has a vector in any space",
    caughtBy: "vector: of many hashes those are known that have a vector in the space",
    spoil: (right) => ({
      async knownVectors(_space, hashes) {
        const spaces = await right.spaces();
        const known = await Promise.all(spaces.map(({ space }) => right.knownVectors(space, hashes)));
        return [...new Set(known.flat())];
      },
    }),
  },
  {
    fault: "lists spaces in the order in which they came",
    caughtBy: "vector: the spaces are listed with their vectors, the one that was written to last first",
    spoil(right) {
      const order: string[] = [];
      return {
        async putVectors(space, entries) {
          const name = JSON.stringify(space);
          if (!order.includes(name)) order.unshift(name);
          await right.putVectors(space, entries);
        },
        async spaces() {
          const place = ({ space }: { space: VectorSpace }): number => order.indexOf(JSON.stringify(space));
          return (await right.spaces()).toSorted((left, right) => place(left) - place(right));
        },
      };
    },
  },
  {
    fault: "lists a space that was used and has no vector",
    caughtBy: "vector: the spaces are listed with their vectors, the one that was written to last first",
    spoil(right) {
      const used: VectorSpace[] = [];
      return {
        useSpace: async (space) => void used.push(space),
        async spaces() {
          const listed = await right.spaces();
          const empty = used.filter(({ model }) => !listed.some(({ space }) => space.model === model));
          return [...listed, ...empty.map((space) => ({ space, vectors: 0 }))];
        },
      };
    },
  },
  {
    fault: "counts vectors of the whole index where a scope is given",
    caughtBy: "vector: with a scope, chunks are counted within it",
    spoil: (right) => ({ spaceStats: (space) => right.spaceStats(space) }),
  },
];
