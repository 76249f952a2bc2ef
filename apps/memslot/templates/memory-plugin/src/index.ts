import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type MemoryPlugin, defineMemoryPlugin } from "@memslot/core";
import { type Chunk, type ChunkIndex, type FileKey, manageIndex, isAsked } from "@memslot/indexing";
import { type IndexKeywordAnswer, type KeywordQuery, type FileRecord, withoutVectors } from "@memslot/indexing";

type KeptFile = FileRecord & { chunks: readonly Chunk[] };

const keyOf = ({ source, path }: FileKey): string => `${source} ${path}`;
const parse = (text: string): KeptFile[] => JSON.parse(text) as KeptFile[];
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Keeps the chunks of every file in one JSON file. What cannot be read counts as empty: a sync fills it again. */
export async function openFileStore(file: string): Promise<ChunkIndex> {
  const kept = await readFile(file, "utf8")
    .then(parse)
    .catch(() => []);
  const files = new Map(kept.map((each) => [keyOf(each), each]));
  const fts = { enabled: true, available: true };
  let saved: Promise<void> = Promise.resolve();

  /** A whole new file takes the place of the old one: a crash leaves either. */
  async function write(): Promise<void> {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, JSON.stringify([...files.values()]), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  const save = (): Promise<void> => (saved = saved.then(write, write));

  return withoutVectors({
    listFiles: async () => [...files.values()].map(({ chunks: _chunks, ...facts }) => facts),
    async replaceFiles(replaced) {
      for (const { fromLine = 0, ...next } of replaced) {
        const before = files.get(keyOf(next))?.chunks.filter(({ startLine }) => startLine < fromLine) ?? [];
        files.set(keyOf(next), { ...next, chunks: [...before, ...next.chunks] });
      }
      await save();
    },
    async touchFiles(touched) {
      for (const facts of touched) Object.assign(files.get(keyOf(facts)) ?? {}, facts);
      await save();
    },
    async removeFiles(removed) {
      for (const key of removed) files.delete(keyOf(key));
      await save();
    },
    searchKeyword: async (query) => searchWords([...files.values()], query),
    async stats() {
      const sources = [...new Set([...files.values()].map(({ source }) => source))].map((source) => {
        const own = [...files.values()].filter((kept) => kept.source === source);
        const texts = own.flatMap(({ chunks }) => chunks.map((chunk) => Buffer.byteLength(chunk.text)));
        const bytes = sum(own.map(({ size }) => size));
        return { source, files: own.length, chunks: texts.length, bytes, chunkBytes: sum(texts) };
      });
      const totals = { files: files.size, chunks: sum(sources.map(({ chunks }) => chunks)), sources };
      return { ...totals, cachedVectors: 0, cachedVectorBytes: 0, databaseBytes: 0, walBytes: 0, reusableBytes: 0 };
    },
    health: () => ({ location: file, fts, vector: { enabled: false }, notices: [] }),
    close: () => saved.catch(() => undefined),
  });
}

/** BM25 (k1 = 1.2, b = 0.75) over every chunk: exact, small, and not made for millions. */
function searchWords(files: readonly KeptFile[], query: KeywordQuery): IndexKeywordAnswer {
  // With a scope, what stands outside must not be felt: not in a count and not in a score.
  const counted = query.scope === undefined ? files : files.filter((file) => isAsked(file, query));
  const all = counted.flatMap(({ path, source, chunks }) =>
    chunks.map(({ terms, hash: _hash, ...row }) => ({ row: { ...row, path, source }, words: terms.split(" ") })),
  );
  const average = sum(all.map(({ words }) => words.length)) / Math.max(1, all.length);
  const scores = all.map(() => 0);
  const documentFrequencies = query.terms.map(({ term, prefix }) => {
    const matches = (word: string): boolean => (prefix ? word.startsWith(term) : word === term);
    const counts = all.map(({ words }) => words.filter(matches).length);
    const holders = counts.filter((count) => count > 0).length;
    const weight = Math.log(1 + (all.length - holders + 0.5) / (holders + 0.5));
    for (const [at, count] of counts.entries()) {
      const length = (all[at]?.words.length ?? 0) / average;
      scores[at] = (scores[at] ?? 0) + (weight * 2.2 * count) / (count + 1.2 * (0.25 + 0.75 * length));
    }
    return holders;
  });
  const rows = all.map(({ row }, id) => ({ ...row, id, score: scores[id] ?? 0 }));
  const found = rows.filter((row) => row.score > 0 && isAsked(row, query));
  const best = found.toSorted((left, right) => right.score - left.score).slice(0, query.limit);
  return { rows: best, chunkCount: all.length, documentFrequencies };
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-example",
  async open(context) {
    // The host gives each agent and each workspace a place of its own: two that share one would answer for each other.
    const { folder, name } = context.storePlace;
    const other = context.options["folder"];
    const file = typeof other === "string" ? join(other, `${name}.json`) : join(folder, "chunks.json");
    const store = await openFileStore(file);
    return await manageIndex({ index: store, context, backend: "memory-example" });
  },
});

export default plugin;
