import type { ChunkIndex, VectorSpace } from "@memslot/indexing";
import type { WrongStore } from "./wrong-store.ts";

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

export const wrongWithSpaces: readonly WrongStore[] = [
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
    fault: "takes a hash out of the other spaces when it gets a vector in one",
    caughtBy: "vector: a space answers whole while another one is being filled",
    spoil(right) {
      const owners = new Map<string, VectorSpace>();
      const hashOf = new Map<string, string>();
      return {
        async replaceFiles(files) {
          for (const { chunks } of files) for (const { text, hash } of chunks) hashOf.set(text, hash);
          await right.replaceFiles(files);
        },
        async putVectors(space, entries) {
          for (const { hash } of entries) owners.set(hash, space);
          await right.putVectors(space, entries);
        },
        async searchVector(query) {
          const { rows } = await right.searchVector(query);
          return { rows: rows.filter(({ text }) => owners.get(hashOf.get(text) ?? "")?.model === query.space.model) };
        },
      };
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
    fault: "names a space by its model alone",
    caughtBy: "vector: a space of another width under the same name is another space",
    spoil(right) {
      const widths = new Map<string, number>();
      return {
        async useSpace(space) {
          const width = widths.get(space.model) ?? space.dimensions;
          widths.set(space.model, width);
          if (width !== space.dimensions) throw new Error(`dimension mismatch: ${width} and ${space.dimensions}`);
          await right.useSpace(space);
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
];
