import path from "node:path";
import { createHash } from "node:crypto";
import { configReference } from "@memslot/core/host";
import type { NoteIndex, IndexedFile, VectorSpace } from "@memslot/indexing";
import { openSqliteStore, type SqliteStoreOptions } from "@memslot/memory-core";
import type { ScaleEngine } from "../engine.ts";
import { chunksPerFile, dimensions, linesPerChunk, numberOf, type SyntheticChunk } from "../synthetic.ts";

type VectorSettings = SqliteStoreOptions["vector"];

export const space: VectorSpace = { provider: "bench", model: "synthetic", providerKey: "", dimensions };
const sources = ["memory"];
const keyPrefix = "store.vector.";

/** memory-core, once for each of its ways to compare vectors that can be chosen. */
export function memslotEngines(): ScaleEngine[] {
  return offered().map(({ choice, settings }) => ({
    name: choice === undefined ? "memslot" : `memslot-${choice}`,
    about: `memory-core${choice === undefined ? "" : `, vectors compared by \`${choice}\``}`,
    async build(folder, blocks) {
      const index = await openIndex(folder, settings);
      await index.useSpace(space);
      for (const block of blocks) {
        const files = filesOf(block);
        await index.replaceFiles(files);
        const vectors = new Map(block.map((chunk) => [chunk.number, chunk.vector]));
        await index.putVectors(
          space,
          files.flatMap(({ chunks, path: file }) =>
            chunks.map(({ hash, startLine }) => ({
              hash,
              vector: vectors.get(numberOf({ path: file, startLine })) ?? new Float32Array(dimensions),
            })),
          ),
        );
      }
      await index.giveVectors?.(space);
      await index.close();
    },
    async open(folder) {
      const index = await openIndex(folder, settings);
      await index.useSpace(space);
      const vector = async (query: Float32Array, limit: number) =>
        (await index.searchVector({ space, vector: query, sources, limit })).rows;
      return {
        vector: async (query, limit) => (await vector(query.vector, limit)).map(numberOf),
        async hybrid(query, limit) {
          const terms = query.words.map((term) => ({ term, prefix: false }));
          const [keyword, near] = await Promise.all([
            index.searchKeyword({ terms, sources, limit }),
            vector(query.vector, limit),
          ]);
          return keyword.rows.length + near.length;
        },
        async close() {
          const used = usedEngine(index);
          await index.close();
          if (choice !== undefined && used !== undefined && used !== choice)
            throw new Error(`${used} has answered in place of ${choice}`);
        },
      };
    },
  }));
}

/** Chunks as files that hold ten of them each. */
export function filesOf(chunks: readonly SyntheticChunk[]): IndexedFile[] {
  return [...Map.groupBy(chunks, (chunk) => Math.floor(chunk.number / chunksPerFile)).values()].map((ofFile) => ({
    path: ofFile[0]?.path ?? "",
    source: "memory",
    hash: sha256(String(ofFile[0]?.number)),
    mtimeMs: 1,
    size: 1,
    recipe: "1",
    chunks: ofFile.map(({ startLine, text }) => ({
      startLine,
      endLine: startLine + linesPerChunk - 1,
      text,
      context: "",
      terms: text.replaceAll("\n", " "),
      hash: sha256(text),
    })),
  }));
}

/** What the configuration of this build lets one choose, with the usual values of everything else about vectors. */
function offered(): { choice: string | undefined; settings: VectorSettings }[] {
  const rows = configReference().filter(({ key }) => key.startsWith(`agents.defaults.memorySearch.${keyPrefix}`));
  const name = (key: string): string => key.slice(key.indexOf(keyPrefix) + keyPrefix.length);
  const usual = Object.fromEntries(
    rows.filter((row) => row.default !== "").map((row) => [name(row.key), JSON.parse(row.default) as unknown]),
  );
  const settings = { enabled: true, ...usual };
  const choices = rows
    .filter((row) => row.type.startsWith("one of "))
    .flatMap((row) => [...row.type.matchAll(/"([^"]+)"/g)].map(([, choice = ""]) => ({ key: name(row.key), choice })))
    .filter(({ choice }) => choice !== "auto");
  if (choices.length === 0) return [{ choice: undefined, settings }];
  return choices.map(({ key, choice }) => ({ choice, settings: { ...settings, [key]: choice } }));
}

/** What has compared vectors, where the store says so: a spare must not be measured under another name. */
function usedEngine(index: NoteIndex): string | undefined {
  const vector: { enabled: boolean; engine?: string | undefined } = index.health().vector;
  return vector.engine;
}

async function openIndex(folder: string, vector: VectorSettings): Promise<NoteIndex> {
  return await openSqliteStore({
    path: path.join(folder, "index.sqlite"),
    vector,
    cacheMaxEntries: 2_000_000,
    mayCreate: true,
    isOwnPlace: true,
    signal: AbortSignal.timeout(60_000),
  });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
