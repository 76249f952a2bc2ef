import type { ChunkStore, VectorSpace } from "@memslot/indexing";
import type { WrongStore } from "./wrong-store.ts";

const mixed = "vector: two spaces of one width never mix";
const listed = "embedded: a space is listed with a file when every chunk of it has its vector there";

/** Lets the calls about vectors go to another space than the one they name. */
function redirect(
  right: ChunkStore,
  other: (space: VectorSpace) => VectorSpace,
): Pick<ChunkStore, "searchVector" | "putVectors"> {
  return {
    searchVector: (query) => right.searchVector({ ...query, space: other(query.space) }),
    putVectors: (space, entries) => right.putVectors(other(space), entries),
  };
}

export const wrongWithSpaces: readonly WrongStore[] = [
  {
    fault: "keeps all vectors of one width together",
    caughtBy: mixed,
    spoil: (right) => redirect(right, (space) => ({ ...space, provider: "any", model: "any", providerKey: "" })),
  },
  {
    fault: "names a space by its model and its width",
    caughtBy: mixed,
    spoil: (right) => redirect(right, (space) => ({ ...space, provider: "any", providerKey: "" })),
  },
  {
    fault: "searches the space that was written to last, whatever the query names",
    caughtBy: mixed,
    spoil(right) {
      let last: VectorSpace | undefined;
      return {
        async putVectors(space, entries) {
          last = space;
          await right.putVectors(space, entries);
        },
        searchVector: (query) => right.searchVector({ ...query, space: last ?? query.space }),
      };
    },
  },
  {
    fault: "takes a text out of the other spaces when it gets a vector in one",
    caughtBy: "vector: a space answers whole while another one is being filled",
    spoil(right) {
      const owners = new Map<string, string>();
      return {
        async putVectors(space, entries) {
          for (const { hash } of entries) owners.set(hash, space.model);
          await right.putVectors(space, entries);
        },
        async searchVector(query) {
          const { rows } = await right.searchVector(query);
          return { rows: rows.filter(({ hash }) => owners.get(hash) === query.space.model) };
        },
      };
    },
  },
  {
    fault: "drops the vectors of a space that is left",
    caughtBy: "vector: a space that is come back to has its vectors, beside those of chunks that came meanwhile",
    spoil(right) {
      let last = "";
      const left = new Set<string>();
      return {
        async putVectors(space, entries) {
          if (last !== "" && last !== space.model) left.add(last);
          last = space.model;
          await right.putVectors(space, entries);
        },
        searchVector: async (query) => (left.has(query.space.model) ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  {
    fault: "has one width for a model",
    caughtBy: "vector: a space of another width under the same name is another space",
    spoil(right) {
      const widths = new Map<string, number>();
      return {
        async putVectors(space, entries) {
          const width = widths.get(space.model) ?? space.dimensions;
          widths.set(space.model, width);
          if (width !== space.dimensions) throw new Error(`dimension mismatch: ${width} and ${space.dimensions}`);
          await right.putVectors(space, entries);
        },
      };
    },
  },
  {
    fault: "fails in a space that nobody has written to",
    caughtBy: "vector: a space that nobody has written to is empty, whatever its names",
    spoil(right) {
      const known = new Set<string>();
      return {
        async putVectors(space, entries) {
          known.add(space.model);
          await right.putVectors(space, entries);
        },
        async searchVector(query) {
          if (!known.has(query.space.model)) throw new Error("no such table: chunks_vec");
          return right.searchVector(query);
        },
      };
    },
  },
  {
    fault: "joins the names of a space with a bar and cuts them at a line end",
    caughtBy: "vector: a space that nobody has written to is empty, whatever its names",
    spoil: (right) => redirect(right, (space) => ({ ...space, providerKey: space.providerKey.split("\n")[0] ?? "" })),
  },
  {
    fault: "says that a file is embedded when one of its chunks is",
    caughtBy: listed,
    spoil(right) {
      const spaces: VectorSpace[] = [];
      return {
        async putVectors(space, entries) {
          spaces.push(space);
          await right.putVectors(space, entries);
        },
        listFiles: async () => (await right.listFiles()).map((file) => ({ ...file, embedded: spaces })),
      };
    },
  },
  {
    fault: "never says that a file is embedded",
    caughtBy: listed,
    spoil: (right) => ({ listFiles: async () => (await right.listFiles()).map((file) => ({ ...file, embedded: [] })) }),
  },
  {
    fault: "says that a file is embedded as it was when it had its vectors",
    caughtBy: "embedded: a chunk that comes without a vector takes its file out, and one that goes puts it back",
    spoil(right) {
      const seen = new Map<string, readonly VectorSpace[]>();
      return {
        async putVectors(space, entries) {
          await right.putVectors(space, entries);
          for (const { path, embedded = [] } of await right.listFiles()) seen.set(path, embedded);
        },
        listFiles: async () =>
          (await right.listFiles()).map((file) => ({ ...file, embedded: seen.get(file.path) ?? file.embedded })),
      };
    },
  },
  {
    fault: "knows the vectors of its own process only",
    caughtBy: "embedded: another store on the same place is told of it, too",
    spoil(right) {
      let own = false;
      return {
        async putVectors(space, entries) {
          own = true;
          await right.putVectors(space, entries);
        },
        listFiles: async () =>
          (await right.listFiles()).map((file) => ({ ...file, embedded: own ? file.embedded : [] })),
      };
    },
  },
];
