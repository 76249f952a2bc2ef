import { stat } from "node:fs/promises";
import {
  type ChunkStore,
  type FileChunks,
  type FileFilter,
  type FileKey,
  type ScoredChunk,
  type StoredFile,
  type VectorSpace,
  spaceName,
} from "@memslot/indexing";
import { type Database, type Parameter, openDatabase } from "./database.ts";
import { searchVectors, searchWords } from "./searches.ts";

/** Keeps chunks in a DuckDB file; ":memory:" keeps them as long as it is open. */
export async function openDuckStore(file: string): Promise<ChunkStore> {
  const database = await openDatabase(file);
  const { numbers, text, texts } = database;
  const [last] = await database.read("select coalesce(max(id), 0)::integer as id from chunks", {});
  let lastId = Number(last?.["id"]);

  return {
    async listFiles() {
      const rows = await database.read("select path, source, hash, recipe from files", {});
      return rows as unknown as StoredFile[];
    },

    async replaceFiles(files) {
      await database.write(async (run) => {
        for (const round of roundsOf(files)) {
          await run(
            `create or replace temp table incoming as
             select unnest($paths) as path, unnest($sources) as source, unnest($lines) as line`,
            {
              ...keysOf(database, round),
              lines: numbers(round.map(({ fromLine = 0 }) => fromLine)),
            },
          );
          await run(
            `delete from words where chunk in
             (select id from chunks join incoming using (path, source) where chunks.line >= incoming.line)`,
          );
          await run(
            `delete from chunks using incoming
             where chunks.path = incoming.path and chunks.source = incoming.source and chunks.line >= incoming.line`,
          );
          await run("delete from files where (path, source) in (select (path, source) from incoming)");
          await run("insert into files select unnest($paths), unnest($sources), unnest($hashes), unnest($recipes)", {
            ...keysOf(database, round),
            hashes: texts(round.map(({ hash }) => hash)),
            recipes: texts(round.map(({ recipe }) => recipe)),
          });
          const chunks = round.flatMap(({ path, source, chunks: own }) =>
            own.map(({ startLine, hash, terms }) => {
              const words = terms.split(" ").filter((word) => word !== "");
              return { id: ++lastId, path, source, startLine, hash, words };
            }),
          );
          await run(
            `insert into chunks select unnest($ids), unnest($paths), unnest($sources), unnest($lines), unnest($hashes),
             unnest($lengths)`,
            {
              ...keysOf(database, chunks),
              ids: numbers(chunks.map(({ id }) => id)),
              lines: numbers(chunks.map(({ startLine }) => startLine)),
              hashes: texts(chunks.map(({ hash }) => hash)),
              lengths: numbers(chunks.map(({ words }) => words.length)),
            },
          );
          const words = chunks.flatMap(({ id, words: own }) => own.map((word) => ({ id, word })));
          await run(
            `insert into words select id, word, count(*)
             from (select unnest($ids) as id, unnest($words) as word) group by id, word`,
            { ids: numbers(words.map(({ id }) => id)), words: texts(words.map(({ word }) => word)) },
          );
        }
        await run(forgetVectors);
      });
    },

    async removeFiles(keys) {
      await database.write(async (run) => {
        const gone = "(path, source) in (select (unnest($paths), unnest($sources)))";
        await run(`delete from words where chunk in (select id from chunks where ${gone})`, keysOf(database, keys));
        await run(`delete from chunks where ${gone}`, keysOf(database, keys));
        await run(`delete from files where ${gone}`, keysOf(database, keys));
        await run(forgetVectors);
      });
    },

    async putVectors(space, entries) {
      for (const { vector } of entries) checkLength(vector, space);
      const given = {
        space: text(spaceName(space)),
        hashes: texts(entries.map(({ hash }) => hash)),
      };
      await database.write(async (run) => {
        await run("delete from vectors where space = $space and hash in (select unnest($hashes))", given);
        await run("insert into vectors select $space, unnest($hashes), unnest($vectors)", {
          ...given,
          vectors: database.vectors(entries.map(({ vector }) => vector)),
        });
        await run(forgetVectors);
      });
    },

    async searchKeyword({ terms, limit, ...filter }) {
      const [answer] = await database.read(searchWords, {
        ...filterOf(database, filter, limit),
        terms: texts(terms.map(({ term }) => term)),
        prefixes: database.flags(terms.map(({ prefix }) => prefix)),
      });
      return {
        rows: (answer?.["rows"] ?? []) as ScoredChunk[],
        chunkCount: Number(answer?.["chunk_count"]),
        documentFrequencies: answer?.["holders"] as number[],
      };
    },

    async searchVector({ space, vector, limit, ...filter }) {
      checkLength(vector, space);
      const rows = await database.read(searchVectors, {
        ...filterOf(database, filter, limit),
        space: text(spaceName(space)),
        vector: database.vector(vector),
      });
      return { rows: rows as unknown as ScoredChunk[] };
    },

    async stats() {
      const [counted] = await database.read("select count(*)::integer as chunks from chunks", {});
      const sizes = await Promise.all([file, `${file}.wal`].map((each) => stat(each).catch(() => undefined)));
      const bytes = sizes.reduce((sum, each) => sum + (each?.size ?? 0), 0);
      return { location: file, chunks: Number(counted?.["chunks"]), bytes };
    },

    close: async () => database.close(),
  };
}

/** A text keeps its vectors as long as one chunk has it. */
const forgetVectors = "delete from vectors where hash not in (select hash from chunks)";

/** Each file once in a round: several versions or tails of one file come one after the other. */
function roundsOf(files: readonly FileChunks[]): FileChunks[][] {
  const rounds: Map<string, FileChunks>[] = [];
  for (const file of files) {
    const name = JSON.stringify([file.source, file.path]);
    const after = rounds.findLastIndex((round) => round.has(name));
    (rounds[after + 1] ??= new Map()).set(name, file);
  }
  return rounds.map((round) => [...round.values()]);
}

function keysOf({ texts }: Database, keys: readonly FileKey[]): Record<"paths" | "sources", Parameter> {
  return { paths: texts(keys.map(({ path }) => path)), sources: texts(keys.map(({ source }) => source)) };
}

function filterOf({ flag, number, texts }: Database, { sources, scope }: FileFilter, limit: number) {
  return {
    sources: texts(sources),
    scoped: flag(scope !== undefined),
    within: texts(scope?.within ?? []),
    without: texts(scope?.without ?? []),
    limit: number(limit),
  };
}

function checkLength(vector: Float32Array, { dimensions }: VectorSpace): void {
  if (vector.length !== dimensions)
    throw new RangeError(`a vector of ${vector.length} numbers in a space of ${dimensions}`);
}
