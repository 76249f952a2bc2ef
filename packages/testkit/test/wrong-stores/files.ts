import type { FileChunks, KeywordQuery, Chunk } from "@memslot/indexing";
import type { InMemoryStore } from "@memslot/testkit";
import {
  type WrongStores,
  addAll,
  beforeCalls,
  changeAnswers,
  changeRows,
  eachChunk,
  eachFile,
  eachListed,
  everySource,
  pathsOf,
} from "../wrong.ts";

export const wrongWithFiles: WrongStores = {
  "files.replace": {
    "adds to a file in place of replacing it"(right) {
      const kept = new Map<string, FileChunks>();
      return {
        async replaceFiles(files) {
          for (const file of files) {
            const chunks = [...(kept.get(file.path)?.chunks ?? []), ...file.chunks];
            kept.set(file.path, { ...file, chunks });
            await right.replaceFiles([{ ...file, chunks }]);
          }
        },
      };
    },
  },
  "files.same-path": {
    "names a file by its path alone": (right) =>
      beforeCalls(right, {
        async replaceFiles(files) {
          await right.removeFiles(files.flatMap(({ path }) => everySource.map((source) => ({ path, source }))));
        },
      }),
  },
  "files.facts": {
    "forgets the recipe": (right) => eachListed(right, (file) => ({ ...file, recipe: "1" })),
    "makes a hash of its own": (right) => eachListed(right, (file) => ({ ...file, hash: `sha256-${file.hash}` })),
  },
  "files.similar-paths": {
    "composes the accents of paths": (right) =>
      eachFile(right, (file) => ({ ...file, path: file.path.normalize("NFC") })),
    "takes capitals of paths for small letters": (right) =>
      eachFile(right, (file) => ({ ...file, path: file.path.toLowerCase() })),
    "removes files by a pattern of its engine": (right) => ({
      async removeFiles(files) {
        const listed = await right.listFiles();
        const isLike = (path: string, pattern: string): boolean =>
          path.length === pattern.length && [...pattern].every((letter, at) => letter === "_" || letter === path[at]);
        await right.removeFiles(listed.filter(({ path }) => files.some((file) => isLike(path, file.path))));
      },
    }),
  },
  "files.empty-store": {
    "fails while it is empty": (right) =>
      beforeCalls(right, {
        async searchKeyword() {
          if ((await right.listFiles()).length === 0) throw new Error("no such table");
        },
      }),
  },
  "files.no-chunks": {
    "forgets files without chunks": (right) => ({
      replaceFiles: (files) => right.replaceFiles(files.filter(({ chunks }) => chunks.length > 0)),
    }),
  },
  "files.same-text": {
    "keeps a text once": (right) => byName(right, ({ hash }) => hash),
  },
  "files.two-versions": {
    "takes the first of two versions": (right) => ({ replaceFiles: (files) => right.replaceFiles(files.toReversed()) }),
  },
  "files.remove": {
    "removes nothing": () => ({ removeFiles: async () => undefined }),
    "finds removed files"(right) {
      const gone = new Set<string>();
      return {
        listFiles: async () => (await right.listFiles()).filter(({ path }) => !gone.has(path)),
        removeFiles: async (files) => {
          for (const { path, source } of files) if (source === "memory") gone.add(path);
        },
      };
    },
    "fails for a file that it does not hold": (right) =>
      beforeCalls(right, {
        async removeFiles(files) {
          const listed = new Set((await right.listFiles()).map(({ path }) => path));
          if (files.some(({ path }) => !listed.has(path))) throw new Error("no such row");
        },
      }),
  },
  "files.again": {
    "never takes a file again that was removed"(right) {
      const gone = new Set<string>();
      return {
        ...beforeCalls(right, { removeFiles: (files) => addAll(gone, pathsOf(files)) }),
        replaceFiles: (files) => right.replaceFiles(files.filter(({ path }) => !gone.has(path))),
      };
    },
  },
  "files.thousand": {
    "takes no more parameters than its engine": (right) =>
      beforeCalls(right, {
        removeFiles(files) {
          if (files.length > 998) throw new Error("too many SQL variables");
        },
      }),
  },
  "lifecycle.whole-files": {
    "writes a file chunk by chunk": (right) => ({
      async replaceFiles(files) {
        for (const file of files) {
          await right.replaceFiles([{ ...file, chunks: file.chunks.slice(0, 1) }]);
          await new Promise<void>((done) => setImmediate(done));
          await right.replaceFiles([file]);
        }
      },
    }),
  },
  "lifecycle.overlap": {
    "mixes up searches that overlap"(right) {
      let latest: KeywordQuery | undefined;
      return {
        async searchKeyword(query) {
          latest = query;
          await Promise.resolve();
          return right.searchKeyword(latest);
        },
      };
    },
  },
  "lifecycle.abort": {
    "answers nothing once a search was aborted"(right) {
      let isOver = false;
      return {
        async searchVector(query, options) {
          isOver ||= options?.signal?.aborted === true;
          return isOver ? { rows: [] } : right.searchVector(query);
        },
      };
    },
    "calls an abort a failure of its own": (right) => ({
      async searchKeyword(query, options) {
        if (options?.signal?.aborted === true) throw new Error("the connection is closed");
        return await right.searchKeyword(query);
      },
    }),
  },
  "lifecycle.next-search": {
    "answers words from what was there at the last search"(right) {
      const known = new Map<string, Awaited<ReturnType<typeof right.searchKeyword>>>();
      return {
        async searchKeyword(query) {
          const answer = known.get(JSON.stringify(query)) ?? (await right.searchKeyword(query));
          known.set(JSON.stringify(query), answer);
          return answer;
        },
      };
    },
  },
  "lifecycle.reopen": {
    "forgets the files that it was given before a reopen"(right) {
      const own = new Set<string>();
      return {
        ...beforeCalls(right, { replaceFiles: (files) => addAll(own, pathsOf(files)) }),
        ...changeAnswers(right, { listFiles: (files) => files.filter(({ path }) => own.has(path)) }),
      };
    },
    "loses the last write when it is closed"(right) {
      let last: readonly FileChunks[] = [];
      return {
        ...beforeCalls(right, { replaceFiles: (files) => (last = files) }),
        close: () => right.removeFiles(last),
      };
    },
    "has forgotten its vectors when it is opened again"(right) {
      let given = false;
      return {
        ...beforeCalls(right, { putVectors: () => (given = true) }),
        searchVector: async (query) => (given ? right.searchVector(query) : { rows: [] }),
      };
    },
  },
};

export const wrongWithTails: WrongStores = {
  "tails.replace": {
    "takes a tail for the whole file": (right) => eachFile(right, (file) => ({ ...file, fromLine: undefined })),
    "adds a tail to what is there": (right) => joinTails(right, (chunk) => chunk.startLine > 0),
    "keeps the chunk that begins with the tail": (right) =>
      joinTails(right, (chunk, fromLine) => chunk.startLine <= fromLine),
    "keeps the hash of a file that has grown"(right) {
      const first = new Map<string, string>();
      return {
        ...beforeCalls(right, {
          replaceFiles(files) {
            for (const { path, hash } of files) if (!first.has(path)) first.set(path, hash);
          },
        }),
        ...eachListed(right, (file) => ({ ...file, hash: first.get(file.path) ?? file.hash })),
      };
    },
  },
  "tails.long-chunk": {
    "replaces what ends at the first line of a tail or later": (right) =>
      joinTails(right, (chunk, fromLine) => chunk.endLine < fromLine),
  },
  "tails.new-file": {
    "passes over the tail of a file that it does not know": (right) => ({
      async replaceFiles(files) {
        const known = new Set((await right.listFiles()).map(({ path }) => path));
        await right.replaceFiles(files.filter(({ path, fromLine }) => fromLine === undefined || known.has(path)));
      },
    }),
  },
  "tails.other-files": {
    "cuts off the tail in every source": (right) =>
      beforeCalls(right, {
        async replaceFiles(files) {
          const listed = await right.listFiles();
          for (const { path, fromLine } of files) {
            for (const file of listed.filter((other) => other.path === path && everySource.includes(other.source)))
              if (fromLine !== undefined) await right.replaceFiles([{ ...file, fromLine, chunks: [] }]);
          }
        },
      }),
  },
  "tails.several": {
    "takes the last of several tails": (right) => ({
      replaceFiles: (files) => right.replaceFiles([...new Map(files.map((file) => [file.path, file])).values()]),
    }),
  },
  "tails.vectors": {
    "lays out no vectors for a file that has grown"(right) {
      const grown = new Set<string>();
      return {
        ...beforeCalls(right, {
          replaceFiles: (files) => addAll(grown, pathsOf(files.filter(({ fromLine }) => fromLine !== undefined))),
        }),
        ...changeRows(right, (rows) => rows.filter(({ path }) => !grown.has(path))),
      };
    },
  },
};

/** Writes whole files only, made of the old chunks that `stays` picks and those of the tail. */
function joinTails(
  right: InMemoryStore,
  stays: (chunk: Chunk, fromLine: number) => boolean,
): Pick<InMemoryStore, "replaceFiles"> {
  const kept = new Map<string, readonly Chunk[]>();
  return {
    async replaceFiles(files) {
      for (const { fromLine, ...file } of files) {
        const old = fromLine === undefined ? [] : (kept.get(file.path) ?? []).filter((chunk) => stays(chunk, fromLine));
        const whole: FileChunks = { ...file, chunks: [...old, ...file.chunks] };
        kept.set(file.path, whole.chunks);
        await right.replaceFiles([whole]);
      }
    },
  };
}

/** Keeps of several chunks the last one that has this name. */
function byName(right: InMemoryStore, nameOf: (chunk: Chunk) => string): Pick<InMemoryStore, "replaceFiles"> {
  return eachFile(right, (file) => ({
    ...file,
    chunks: [...new Map(file.chunks.map((chunk) => [nameOf(chunk), chunk])).values()],
  }));
}

export const wrongWithPieces: WrongStores = {
  "chunks.one-line": {
    "names a chunk by its line alone": (right) => byName(right, ({ startLine }) => String(startLine)),
    "gives the hash of the first piece for all of a line"(right) {
      const first = new Map<string, string>();
      return {
        ...beforeCalls(right, {
          replaceFiles(files) {
            for (const { path, chunks } of files)
              for (const { startLine, hash } of chunks.toReversed()) first.set(`${path}:${startLine}`, hash);
          },
        }),
        ...changeAnswers(right, {
          searchKeyword: (answer) => ({
            ...answer,
            rows: answer.rows.map((row) => ({ ...row, hash: first.get(`${row.path}:${row.startLine}`) ?? "" })),
          }),
        }),
      };
    },
    "names a chunk by its line and its hash": (right) => byName(right, ({ startLine, hash }) => `${startLine} ${hash}`),
  },
  "chunks.one-line-tails": {
    "keeps the pieces of the line that a tail begins with, where it does not bring them"(right) {
      const held = new Map<string, readonly Chunk[]>();
      return {
        async replaceFiles(files) {
          for (const { fromLine, ...file } of files) {
            const before = fromLine === undefined ? [] : (held.get(file.path) ?? []);
            const brought = new Set(file.chunks.map(({ hash }) => hash));
            const stays = before.filter(({ startLine, hash }) => startLine <= (fromLine ?? 0) && !brought.has(hash));
            const chunks = [...stays, ...file.chunks];
            held.set(file.path, chunks);
            await right.replaceFiles([{ ...file, chunks }]);
          }
        },
      };
    },
  },
  "chunks.one-line-vectors": {
    "finds one chunk of each line by vectors": (right) => ({
      async searchVector(query) {
        const { rows } = await right.searchVector({ ...query, limit: 1000 });
        const lines = new Map(rows.toReversed().map((row) => [`${row.path}:${row.startLine}`, row]));
        return { rows: [...lines.values()].toReversed().slice(0, query.limit) };
      },
    }),
  },
};

export const wrongWithTexts: WrongStores = {
  "chunks.odd-texts": {
    "takes no text over 64 kB": (right) => eachChunk(right, (chunk) => within(chunk, 65_536)),
    "takes no text with a NUL": (right) =>
      eachChunk(right, (chunk) => {
        if (chunk.text.includes("\0")) throw new Error("invalid byte sequence");
        return chunk;
      }),
    "takes no halves of characters": (right) =>
      eachChunk(right, (chunk) => {
        if (!chunk.text.isWellFormed()) throw new Error("invalid UTF-8");
        return chunk;
      }),
    "passes over a chunk without a text": (right) =>
      eachFile(right, (file) => ({ ...file, chunks: file.chunks.filter(({ text }) => text !== "") })),
  },
  "chunks.no-terms": {
    "passes over a chunk without a term": (right) =>
      eachFile(right, (file) => ({ ...file, chunks: file.chunks.filter(({ terms }) => terms !== "") })),
  },
  "keyword.many-terms": {
    "indexes the first thousand terms": (right) =>
      eachChunk(right, (chunk) => ({ ...chunk, terms: chunk.terms.split(" ").slice(0, 1000).join(" ") })),
    "cuts long terms": (right) => ({
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
    "looks at the first hundred terms of a question": (right) => ({
      async searchKeyword(query) {
        const answer = await right.searchKeyword({ ...query, terms: query.terms.slice(0, 100) });
        return {
          ...answer,
          documentFrequencies: query.terms.map((_, index) => answer.documentFrequencies[index] ?? 0),
        };
      },
    }),
  },
};

function within(chunk: Chunk, limit: number): Chunk {
  if (chunk.text.length > limit) throw new Error(`a value of ${chunk.text.length} characters`);
  return chunk;
}

function changeStats(right: InMemoryStore, change: () => Promise<object>): Partial<InMemoryStore> {
  return changeAnswers(right, { stats: async (stats) => ({ ...stats, ...(await change()) }) });
}

export const wrongWithStats: WrongStores = {
  "stats.plain": {
    "tells its key with its address": (right) =>
      changeStats(right, async () => ({ location: "https://someone:hunter2@db.example.com/notes" })),
    "does not say where it is": (right) => changeStats(right, async () => ({ location: "" })),
    "counts files in place of chunks": (right) =>
      changeStats(right, async () => ({ chunks: (await right.listFiles()).length })),
    "gives its database away": (right) => changeStats(right, async () => ({ database: new Map() })),
  },
  "files.remove": {
    "counts chunks that have gone"(right) {
      let most = 0;
      return {
        ...changeAnswers(right, { stats: (stats) => ({ ...stats, chunks: Math.max(most, stats.chunks) }) }),
        async replaceFiles(files) {
          await right.replaceFiles(files);
          most = (await right.stats()).chunks;
        },
      };
    },
  },
  "compact.same-answers": {
    "loses a file when it is compacted": (right) =>
      beforeCalls(right, {
        async compact() {
          await right.removeFiles([{ path: "b.md", source: "memory" }]);
        },
      }),
    "loses vectors when it is compacted"(right) {
      let lost = false;
      return {
        ...beforeCalls(right, { compact: () => (lost = true) }),
        searchVector: async (query) => (lost ? { rows: [] } : right.searchVector(query)),
      };
    },
    "grows when it is compacted": () => ({ compact: async () => ({ beforeBytes: 1, afterBytes: 2 }) }),
  },
  "compact.searches": {
    "answers no search while it is compacted"(right) {
      let busy = false;
      return beforeCalls(right, {
        async compact() {
          busy = true;
          for (let turn = 0; turn < 3; turn++) await new Promise<void>((done) => setImmediate(done));
          busy = false;
        },
        searchKeyword() {
          if (busy) throw new Error("database is locked");
        },
      });
    },
  },
};
