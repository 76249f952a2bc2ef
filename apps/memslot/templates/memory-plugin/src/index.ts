import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type MemoryPlugin, defineMemoryPlugin } from "@memslot/core";
import { type ChunkStore, type FileKey, type KeywordAnswer, type KeywordQuery } from "@memslot/indexing";
import { type ScoredChunk, type StoredFile, createIndexedManager, isAsked, spaceName } from "@memslot/indexing";

/** What a search needs of a chunk. Its text is kept by memslot. */
type Row = Omit<ScoredChunk, "score"> & { terms: string };
type KeptFile = StoredFile & { rows: Row[] };
/** By the name of the space, then by the hash of the text. */
type Vectors = Record<string, Record<string, number[]>>;

const keyOf = ({ source, path }: FileKey): string => `${source} ${path}`;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Keeps words and vectors in one JSON file. One that cannot be read counts as empty: it is filled again from the notes. */
export async function openFileStore(file: string): Promise<ChunkStore> {
  const files = new Map<string, KeptFile>();
  const vectors: Vectors = {};
  let saved: Promise<void> = Promise.resolve();
  const kept = await readFile(file, "utf8").catch(() => "");
  try {
    const found = JSON.parse(kept) as { files: KeptFile[]; vectors: Vectors };
    for (const each of found.files) files.set(keyOf(each), each);
    Object.assign(vectors, found.vectors);
  } catch {
    files.clear();
  }
  const allRows = (): Row[] => [...files.values()].flatMap(({ rows }) => rows);

  /** A whole new file takes the place of the old one: a crash leaves either. */
  async function write(): Promise<void> {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, JSON.stringify({ files: [...files.values()], vectors }), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  function save(): Promise<void> {
    // A text keeps its vectors as long as one chunk has it.
    const hashes = new Set(allRows().map(({ hash }) => hash));
    for (const own of Object.values(vectors)) for (const hash in own) if (!hashes.has(hash)) delete own[hash];
    return (saved = saved.then(write, write));
  }

  return {
    listFiles: async () => [...files.values()].map(({ rows: _rows, ...stored }) => stored),
    async replaceFiles(replaced) {
      for (const { chunks, fromLine = 0, ...next } of replaced) {
        const { path, source } = next;
        const before = files.get(keyOf(next))?.rows.filter(({ startLine }) => startLine < fromLine) ?? [];
        const added = chunks.map(({ startLine, hash, terms }) => ({ path, source, startLine, hash, terms }));
        files.set(keyOf(next), { ...next, rows: [...before, ...added] });
      }
      await save();
    },
    async removeFiles(removed) {
      for (const key of removed) files.delete(keyOf(key));
      await save();
    },
    async putVectors(space, entries) {
      const own = (vectors[spaceName(space)] ??= {});
      for (const { hash, vector } of entries) own[hash] = [...vector];
      await save();
    },
    async searchKeyword(query, options) {
      // Nobody waits for the answer of a search that is aborted: what takes long in yours may end then.
      options?.signal?.throwIfAborted();
      return searchWords(allRows(), query);
    },
    async searchVector(query, options) {
      options?.signal?.throwIfAborted();
      const own = vectors[spaceName(query.space)] ?? {};
      // Both have unit length: the sum of the products is their cosine.
      const cosine = (vector: number[]): number => sum(vector.map((each, at) => each * (query.vector[at] ?? 0)));
      const asked = allRows().filter((row) => isAsked(row, query));
      const found = asked.flatMap((row) => {
        const vector = own[row.hash];
        return vector === undefined ? [] : [scored(row, cosine(vector))];
      });
      return { rows: best(found, query.limit) };
    },
    async stats() {
      const bytes = await stat(file).then(
        ({ size }) => size,
        () => 0,
      );
      return { location: file, chunks: allRows().length, bytes };
    },
    close: () => saved.catch(() => undefined),
  };
}

/** BM25 (k1 = 1.2, b = 0.75) over every chunk: exact, small, and not made for millions. */
function searchWords(rows: readonly Row[], query: KeywordQuery): KeywordAnswer {
  // With a scope, what stands outside must not be felt: not in a count and not in a score.
  const counted = query.scope === undefined ? rows : rows.filter((row) => isAsked(row, query));
  const words = counted.map(({ terms }) => terms.split(" "));
  const average = sum(words.map(({ length }) => length)) / Math.max(1, words.length);
  const scores = new Map<Row, number>();
  const documentFrequencies = query.terms.map(({ term, prefix }) => {
    const matches = (word: string): boolean => (prefix ? word.startsWith(term) : word === term);
    const counts = words.map((own) => own.filter(matches).length);
    const holders = counts.filter((count) => count > 0).length;
    const weight = Math.log(1 + (counted.length - holders + 0.5) / (holders + 0.5));
    for (const [at, row] of counted.entries()) {
      const [count = 0, length = 0] = [counts[at], words[at]?.length];
      const score = (weight * 2.2 * count) / (count + 1.2 * (0.25 + (0.75 * length) / average));
      if (count > 0) scores.set(row, (scores.get(row) ?? 0) + score);
    }
    return holders;
  });
  const found = [...scores].filter(([row]) => isAsked(row, query)).map(([row, score]) => scored(row, score));
  return { rows: best(found, query.limit), chunkCount: counted.length, documentFrequencies };
}

function scored({ terms: _terms, ...row }: Row, score: number): ScoredChunk {
  return { ...row, score };
}

function best(rows: readonly ScoredChunk[], limit: number): ScoredChunk[] {
  return rows.toSorted((left, right) => right.score - left.score).slice(0, limit);
}

const plugin: MemoryPlugin = defineMemoryPlugin({
  id: "memory-example",
  async open(context) {
    // The host gives each agent and each workspace a place of its own: two that share one would answer for each other.
    const { folder, name } = context.storePlace;
    const other = context.options["folder"];
    const file = typeof other === "string" ? join(other, `${name}.json`) : join(folder, "chunks.json");
    return await createIndexedManager({ store: await openFileStore(file), context, backend: "memory-example" });
  },
});

export default plugin;
