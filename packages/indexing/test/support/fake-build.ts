import type {
  Chunk,
  ChunkRow,
  IndexedFile,
  FileKey,
  FileTable,
  IndexKeywordAnswer,
  KeywordQuery,
  PathScope,
  FileRecord,
  RevisionStep,
} from "@memslot/indexing";

export interface KeptChunk extends Chunk, ChunkRow {
  id: number;
  words: Map<string, number>;
  length: number;
}

interface KeptFile {
  file: FileRecord;
  chunks: KeptChunk[];
}

/** One build of the index: its files, their chunks and the words in them. */
export interface FakeBuild {
  list(): FileRecord[];
  chunksOf(key: FileKey): KeptChunk[];
  chunks(): KeptChunk[];
  replace(files: readonly IndexedFile[]): void;
  touch(files: readonly FileRecord[]): void;
  remove(files: readonly FileKey[]): void;
  search(query: KeywordQuery): IndexKeywordAnswer;
}

/** `nextId` gives each chunk a name that no chunk of another build has. BM25 as SQLite's, positive. */
export function createFakeBuild(nextId: () => number): FakeBuild {
  const files = new Map<string, KeptFile>();
  const postings = new Map<string, Map<number, number>>();
  const chunksById = new Map<number, KeptChunk>();

  function drop(chunks: readonly KeptChunk[]): void {
    for (const chunk of chunks) {
      chunksById.delete(chunk.id);
      for (const word of chunk.words.keys()) postings.get(word)?.delete(chunk.id);
    }
  }

  function keep(file: FileKey, chunk: Chunk): KeptChunk {
    const words = new Map<string, number>();
    const terms = chunk.terms.split(" ").filter((term) => term !== "");
    for (const term of terms) words.set(term, (words.get(term) ?? 0) + 1);
    const kept = { ...chunk, id: nextId(), path: file.path, source: file.source, words, length: terms.length };
    chunksById.set(kept.id, kept);
    for (const [word, count] of words) {
      const posting = postings.get(word) ?? new Map<number, number>();
      posting.set(kept.id, count);
      postings.set(word, posting);
    }
    return kept;
  }

  /** How often each chunk holds the term. */
  function countsOf(term: string, prefix: boolean): Map<number, number> {
    if (!prefix) return postings.get(term) ?? new Map<number, number>();
    const counts = new Map<number, number>();
    for (const [word, posting] of postings) {
      if (!word.startsWith(term)) continue;
      for (const [id, count] of posting) counts.set(id, (counts.get(id) ?? 0) + count);
    }
    return counts;
  }

  return {
    list: () => [...files.values()].map(({ file }) => ({ ...file })),
    chunksOf: (key) => files.get(nameOf(key))?.chunks ?? [],
    chunks: () => [...chunksById.values()],
    replace(replaced) {
      for (const { chunks, fromLine, ...file } of replaced) {
        const old = files.get(nameOf(file))?.chunks ?? [];
        const earlier = fromLine === undefined ? [] : old.filter(({ startLine }) => startLine < fromLine);
        drop(old.filter((chunk) => !earlier.includes(chunk)));
        files.set(nameOf(file), { file, chunks: [...earlier, ...chunks.map((chunk) => keep(file, chunk))] });
      }
    },
    touch(touched) {
      for (const file of touched) {
        const known = files.get(nameOf(file));
        if (known) known.file = { ...file };
      }
    },
    remove(removed) {
      for (const key of removed) {
        drop(files.get(nameOf(key))?.chunks ?? []);
        files.delete(nameOf(key));
      }
    },
    search(query) {
      const total = chunksById.size;
      const average = [...chunksById.values()].reduce((sum, chunk) => sum + chunk.length, 0) / Math.max(1, total);
      const scores = new Map<number, number>();
      const documentFrequencies = query.terms.map(({ term, prefix }) => {
        const counts = countsOf(term, prefix);
        const weight = Math.max(1e-6, Math.log((total - counts.size + 0.5) / (counts.size + 0.5)));
        for (const [id, count] of counts) {
          const length = chunksById.get(id)?.length ?? 0;
          const part = (weight * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / average));
          scores.set(id, (scores.get(id) ?? 0) + part);
        }
        return counts.size;
      });
      const rows = [...scores]
        .flatMap(([id, score]) => {
          const chunk = chunksById.get(id);
          return chunk && isAsked(chunk, query) ? [{ ...rowOf(chunk), score }] : [];
        })
        .toSorted((a, b) => b.score - a.score || Number(a.id) - Number(b.id))
        .slice(0, query.limit);
      return { rows, chunkCount: total, documentFrequencies };
    },
  };
}

/** Lets a file table do each of its calls on `build()`, after `enter` has had its say. */
export function tableOf(
  build: () => FakeBuild,
  enter: (method: keyof FileTable, argument?: unknown) => Promise<void>,
  changed: () => RevisionStep | undefined,
): FileTable {
  return {
    async listFiles() {
      await enter("listFiles");
      return build().list();
    },
    async replaceFiles(files) {
      await enter("replaceFiles", files);
      build().replace(files);
      return files.length > 0 ? changed() : undefined;
    },
    async touchFiles(files) {
      await enter("touchFiles", files);
      build().touch(files);
      return files.length > 0 ? changed() : undefined;
    },
    async removeFiles(files) {
      await enter("removeFiles", files);
      build().remove(files);
      return files.length > 0 ? changed() : undefined;
    },
  };
}

/** True for a file of the sources and of the scope that a search names. */
export function isAsked(file: FileKey, query: Pick<KeywordQuery, "sources" | "scope">): boolean {
  return query.sources.includes(file.source) && (query.scope === undefined || isInScope(file.path, query.scope));
}

function isInScope(path: string, { within, without }: PathScope): boolean {
  const isUnder = (place: string): boolean =>
    place === "" || place === path || (place.endsWith("/") && path.startsWith(place));
  return within.some(isUnder) && !without.some(isUnder);
}

export function rowOf({ id, path, source, startLine, endLine, text, context }: KeptChunk): ChunkRow {
  return { id, path, source, startLine, endLine, text, context };
}

function nameOf({ path, source }: FileKey): string {
  return `${source}\0${path}`;
}
