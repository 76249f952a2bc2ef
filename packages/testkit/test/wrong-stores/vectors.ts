import type { ChunkStore, ScoredChunk, VectorSpace } from "@memslot/indexing";
import {
  type WrongStores,
  addAll,
  beforeCalls,
  changeBuild,
  changeRows,
  eachListed,
  everySource,
  hashesOf,
  pathsOf,
} from "../wrong.ts";

export const wrongWithVectors: WrongStores = {
  "vectors.exact": {
    "gives distances in place of similarities": (right) =>
      changeRows(right, (rows) => rows.map((row) => ({ ...row, score: 1 - row.score }))),
    "rounds vectors to whole numbers": (right) => ({
      putVectors: (space, entries) =>
        right.putVectors(
          space,
          entries.map(({ hash, vector }) => ({ hash, vector: vector.map((value) => Math.round(value * 7)) })),
        ),
    }),
    "gives no score below 0": (right) =>
      changeRows(right, (rows) => rows.map((row) => ({ ...row, score: Math.max(0, row.score) }))),
    "ignores the limit for vectors": (right) => ({
      searchVector: (query) => right.searchVector({ ...query, limit: 1000 }),
    }),
  },
  "scopes.sources": {
    "filters vectors by source after the limit": (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector({ ...query, sources: everySource });
        return { rows: rows.filter((row) => query.sources.includes(row.source)) };
      },
    }),
  },
  "vectors.rows": {
    "gives another line for a row": (right) =>
      changeRows(right, (rows) => rows.map((row) => ({ ...row, startLine: row.startLine - 1 }))),
    "finds removed chunks by their vectors"(right) {
      let gone: readonly ScoredChunk[] = [];
      return {
        ...beforeCalls(right, {
          removeFiles: (files) => (gone = files.map((file) => ({ ...file, startLine: 1, hash: "", score: 0.1 }))),
        }),
        searchVector: async (query) => ({ rows: [...(await right.searchVector(query)).rows, ...gone] }),
      };
    },
  },
  "vectors.same-text": {
    "finds a text once": (right) =>
      changeRows(right, (rows) => [...new Map(rows.map((row) => [row.hash, row])).values()]),
    "cuts texts to the limit before it looks where they stand": (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector({ ...query, sources: everySource, limit: query.limit });
        return { rows: rows.filter(({ source }) => query.sources.includes(source)) };
      },
    }),
  },
  "vectors.from-then-on": {
    "finds a chunk that has no vector": (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector(query);
        const [file] = await right.listFiles();
        return { rows: rows.length > 0 || file === undefined ? rows : [{ ...file, startLine: 1, score: 0 }] };
      },
    }),
  },
  "vectors.wrong-length": {
    "takes a vector of any length, and compares what there is"(right) {
      let spoilt = false;
      return {
        async putVectors(space, entries) {
          spoilt ||= entries.some(({ vector }) => vector.length !== space.dimensions);
          if (!spoilt) await right.putVectors(space, entries);
        },
        ...beforeCalls(right, {
          searchVector() {
            if (spoilt) throw new Error("vectors have different lengths");
          },
        }),
      };
    },
  },
  "vectors.replace": {
    "loses a vector through a replacement": (right) =>
      beforeCalls(right, {
        async replaceFiles(files) {
          await right.removeFiles(files);
        },
      }),
    "keeps the vector of one space through a replacement"(right) {
      const lost = new Set<string>();
      const models: string[] = [];
      return {
        ...beforeCalls(right, {
          putVectors(space) {
            if (!models.includes(space.model)) models.push(space.model);
          },
          replaceFiles() {
            for (const model of models.slice(1)) lost.add(model);
          },
        }),

        searchVector: async (query) => (lost.has(query.space.model) ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  "vectors.rename": {
    "keeps a vector with the file that it was made for"(right) {
      const made = new Set<string>();
      return {
        ...beforeCalls(right, {
          async putVectors() {
            for (const { path } of await right.listFiles()) made.add(path);
          },
        }),
        ...changeRows(right, (rows) => rows.filter(({ path }) => made.has(path))),
      };
    },
  },
  "vectors.shared-text": {
    "forgets a vector with the first file that goes"(right) {
      const hashes = new Map<string, readonly string[]>();
      const gone = new Set<string>();
      return {
        ...beforeCalls(right, {
          replaceFiles(files) {
            for (const file of files) hashes.set(file.path, hashesOf([file]));
          },
          removeFiles: (files) =>
            addAll(
              gone,
              files.flatMap(({ path }) => hashes.get(path) ?? []),
            ),
        }),

        ...changeRows(right, (rows) => rows.filter(({ hash }) => !gone.has(hash))),
      };
    },
    "gives a vector to the chunks that are there, and not to those that come"(right) {
      const late = new Set<string>();
      let given = false;
      return {
        ...beforeCalls(right, {
          putVectors: () => (given = true),
          replaceFiles: (files) => given && addAll(late, pathsOf(files)),
        }),

        ...changeRows(right, (rows) => rows.filter(({ path }) => !late.has(path))),
      };
    },
  },
  "vectors.unknown-hash": {
    "refuses vectors of hashes that no chunk has"(right) {
      const known = new Set<string>();
      return beforeCalls(right, {
        replaceFiles: (files) => addAll(known, hashesOf(files)),
        putVectors(_space, entries) {
          if (entries.some(({ hash }) => !known.has(hash))) throw new Error("FOREIGN KEY constraint failed");
        },
      });
    },
  },
  "vectors.again": {
    "keeps the first vector of a hash"(right) {
      const known = new Set<string>();
      return {
        async putVectors(space, entries) {
          await right.putVectors(
            space,
            entries.filter(({ hash }) => !known.has(hash)),
          );
          for (const { hash } of entries) known.add(hash);
        },
      };
    },
  },
  "vectors.many": {
    "takes no more vectors than its engine takes parameters": (right) => ({
      putVectors: (space, entries) => right.putVectors(space, entries.slice(0, 999)),
    }),
  },
};

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

export const wrongWithSpaces: WrongStores = {
  "spaces.apart": {
    "keeps all vectors of one width together": (right) =>
      redirect(right, (space) => ({ ...space, provider: "any", model: "any", providerKey: "" })),
    "names a space by its model and its width": (right) =>
      redirect(right, (space) => ({ ...space, provider: "any", providerKey: "" })),
    "searches the space that was written to last, whatever the query names"(right) {
      let last: VectorSpace | undefined;
      return {
        ...beforeCalls(right, { putVectors: (space) => (last = space) }),
        searchVector: (query) => right.searchVector({ ...query, space: last ?? query.space }),
      };
    },
    "takes a text out of the other spaces when it gets a vector in one"(right) {
      const owners = new Map<string, string>();
      return {
        ...beforeCalls(right, {
          putVectors(space, entries) {
            for (const { hash } of entries) owners.set(hash, space.model);
          },
        }),
        ...changeRows(right, (rows, query) => rows.filter(({ hash }) => owners.get(hash) === query.space.model)),
      };
    },
  },
  "spaces.return": {
    "drops the vectors of a space that is left"(right) {
      let last = "";
      const left = new Set<string>();
      return {
        ...beforeCalls(right, {
          putVectors(space) {
            if (last !== "" && last !== space.model) left.add(last);
            last = space.model;
          },
        }),
        searchVector: async (query) => (left.has(query.space.model) ? { rows: [] } : right.searchVector(query)),
      };
    },
  },
  "spaces.other-width": {
    "has one width for a model"(right) {
      const widths = new Map<string, number>();
      return beforeCalls(right, {
        putVectors(space) {
          const width = widths.get(space.model) ?? space.dimensions;
          widths.set(space.model, width);
          if (width !== space.dimensions) throw new Error(`dimension mismatch: ${width} and ${space.dimensions}`);
        },
      });
    },
  },
  "spaces.unused": {
    "fails in a space that nobody has written to"(right) {
      const known = new Set<string>();
      return beforeCalls(right, {
        putVectors: (space) => known.add(space.model),
        searchVector(query) {
          if (!known.has(query.space.model)) throw new Error("no such table: chunks_vec");
        },
      });
    },
    "joins the names of a space with a bar and cuts them at a line end": (right) =>
      redirect(right, (space) => ({ ...space, providerKey: space.providerKey.split("\n")[0] ?? "" })),
  },
  "embedded.complete": {
    "says that a file is embedded when one of its chunks is"(right) {
      const spaces: VectorSpace[] = [];
      return {
        ...beforeCalls(right, { putVectors: (space) => spaces.push(space) }),
        ...eachListed(right, (file) => ({ ...file, embedded: spaces })),
      };
    },
    "never says that a file is embedded": (right) => eachListed(right, (file) => ({ ...file, embedded: [] })),
    "says that a file is embedded as it was when it had its vectors"(right) {
      const seen = new Map<string, readonly VectorSpace[]>();
      return {
        async putVectors(space, entries) {
          await right.putVectors(space, entries);
          for (const { path, embedded = [] } of await right.listFiles()) seen.set(path, embedded);
        },
        ...eachListed(right, (file) => ({ ...file, embedded: seen.get(file.path) ?? file.embedded })),
      };
    },
  },
  "embedded.other-host": {
    "knows the vectors of its own process only"(right) {
      let own = false;
      return {
        ...beforeCalls(right, { putVectors: () => (own = true) }),
        ...eachListed(right, (file) => ({ ...file, embedded: own ? file.embedded : [] })),
      };
    },
  },
};

export const wrongWithBuildVectors: WrongStores = {
  "builds.vectors": {
    "names vectors by the build"(right) {
      let built = false;
      return {
        ...changeBuild(right, (build) => ({
          async finish() {
            await build.finish();
            built = true;
          },
        })),
        ...beforeCalls(right, { putVectors: () => (built = false) }),
        searchVector: async (query) => (built ? { rows: [] } : right.searchVector(query)),
      };
    },
    "lets the texts of the next build be found before it answers"(right) {
      const early = new Map<string, string>();
      return {
        ...changeBuild(right, (build) =>
          beforeCalls(build, {
            replaceFiles(files) {
              for (const { path, chunks } of files) for (const { hash } of chunks) early.set(hash, path);
            },
          }),
        ),
        ...changeRows(right, (rows) => {
          const known = new Set(rows.map(({ hash }) => hash));
          const more = [...early].filter(([hash]) => !known.has(hash));
          return [...rows, ...rows.slice(0, 1).flatMap((row) => more.map(([hash, path]) => ({ ...row, hash, path })))];
        }),
      };
    },
    "gives vectors to the texts of the build that answers only"(right) {
      const answering = new Set<string>();
      return {
        ...beforeCalls(right, { replaceFiles: (files) => addAll(answering, hashesOf(files)) }),
        putVectors: (space, entries) =>
          right.putVectors(
            space,
            entries.filter(({ hash }) => answering.has(hash)),
          ),
      };
    },
  },
  "builds.vectors-of-both": {
    "gives vectors to the next build alone while it is made"(right) {
      let building = false;
      const late = new Set<string>();
      return {
        ...beforeCalls(right, {
          build: () => (building = true),
          putVectors(_space, entries) {
            if (building) for (const { hash } of entries) late.add(hash);
          },
        }),
        ...changeRows(right, (rows) => rows.filter(({ hash, path }) => path !== "a.md" || !late.has(hash))),
      };
    },
  },
  "builds.other-space": {
    "fills one space at a time"(right) {
      let first: string | undefined;
      return {
        async putVectors(space, entries) {
          first ??= space.model;
          if (space.model === first) await right.putVectors(space, entries);
        },
      };
    },
  },
  "builds.abandon-vectors": {
    "takes the vectors of an abandoned build along"(right) {
      const built = new Set<string>();
      const gone = new Set<string>();
      return {
        ...changeBuild(right, (build) =>
          beforeCalls(build, {
            replaceFiles: (files) => addAll(built, hashesOf(files)),
            abandon: () => addAll(gone, built),
          }),
        ),
        ...changeRows(right, (rows) => rows.filter(({ hash }) => !gone.has(hash))),
      };
    },
  },
};
