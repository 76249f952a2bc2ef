import type { IndexFinding, WriterStatus } from "@memslot/core";
import {
  type Chunk,
  type NoteIndex,
  type ChunkRow,
  type FileTable,
  type IndexedFile,
  type IndexHealth,
  type IndexLeases,
  isAsked,
  type KeywordQuery,
  type LeaseName,
  type VectorSpace,
} from "@memslot/indexing";
import { openDatabaseStore } from "../../src/ledger/database-store.ts";
import { ledgerOf } from "../../src/ledger/open-ledger.ts";

type FakeMethod =
  | Exclude<Extract<keyof NoteIndex, string>, "health" | "leases">
  | `next.${keyof FileTable}`
  | `leases.${keyof IndexLeases}`;

export interface FakeStore extends NoteIndex {
  startBuild(name: string): Promise<FileTable>;
  readonly leases: IndexLeases;
  /**
   * Every call so far, by method, with its argument; several arguments are a list. A call of the table of the next build
   * is `next.replaceFiles`, one of the leases `leases.acquire`.
   */
  readonly calls: { method: FakeMethod; argument: unknown }[];
  /** From now on the method throws the error that `make` returns; `undefined` ends this. */
  fail(method: FakeMethod, make: ((argument: unknown) => Error | undefined) | undefined): void;
  /** Runs before the method answers. */
  before(method: FakeMethod, action: () => void | Promise<void>): void;
  setHealth(change: Partial<IndexHealth>): void;
  /** The findings of `check`. `repair` repairs all. */
  setFindings(findings: readonly IndexFinding[]): void;
  /** From now on another process has this lease; `undefined`: it has released it. */
  leaseHeldByOther(name: LeaseName, writer: Partial<WriterStatus> | undefined): void;
  /** The leases that this store has. */
  heldLeases(): LeaseName[];
  /** Of the build that answers. */
  chunksOf(path: string, source?: string): (ChunkRow & Pick<Chunk, "hash">)[];
  paths(): string[];
  /** The files of the build that is being made, and its name; undefined if there is none. */
  readonly next: { name: string; paths: string[] } | undefined;
  /** The vectors of a space, by the hash of their texts. */
  vectorsIn(space: VectorSpace): Map<string, Float32Array>;
  /** Why the provider of a space refuses a text, by its hash. */
  refusedIn(space: VectorSpace): Map<string, string>;
}

type Row = ChunkRow & Pick<Chunk, "hash"> & { length: number };

/**
 * A real ledger in memory, on the thread of the test, with a search that reads all chunks. Its calls are recorded and can
 * fail. Its content is available again after `close`, except for the leases.
 */
export function createFakeStore(): FakeStore {
  const calls: FakeStore["calls"] = [];
  const failures = new Map<string, (argument: unknown) => Error | undefined>();
  const actions = new Map<string, () => void | Promise<void>>();
  const [ownLeases, otherLeases] = [new Map<LeaseName, WriterStatus>(), new Map<LeaseName, WriterStatus>()];
  const options = { path: "/nowhere/none.sqlite", store: "fake", mayCreate: false, cacheMaxEntries: 50_000 };
  const ledger = openDatabaseStore({ ...options, busyTimeoutMs: 1000 });
  const client = {
    call: async (method: string, args: readonly unknown[]): Promise<unknown> => {
      const answer = (ledger as unknown as Record<string, (...given: unknown[]) => unknown>)[method]?.(...args);
      return answer instanceof Object && "next" in answer ? await lastOf(answer as AsyncIterator<unknown>) : answer;
    },
  };
  const thread = { ...ledger, client } as unknown as Parameters<typeof ledgerOf>[0];
  let health: IndexHealth = {
    location: "fake",
    fts: { enabled: true, available: true },
    vector: { enabled: true, available: true },
    notices: [],
  };
  let findings: readonly IndexFinding[] = [{ name: "fake", ok: true, message: "nothing to compare" }];
  const terms = new Map<string, string>();
  const hashes = new Set<string>();
  /** The chunks as they were read last, and for each word how often each chunk has it. */
  let read = { revision: "", rows: [] as Row[], words: new Map<string, Map<Row, number>>() };

  /** Records each call of these under its name, with what a test wants to happen before it. */
  function recorded<Calls extends object>(prefix: string, made: Calls): Calls {
    const entries = Object.entries(made).map(([name, call]: [string, (...args: unknown[]) => unknown]) => {
      const method = `${prefix}${name}`;
      const record = async (...args: unknown[]): Promise<unknown> => {
        const argument = args.length > 1 ? args : args[0];
        calls.push({ method: method as FakeMethod, argument });
        await actions.get(method)?.();
        const failure = failures.get(method)?.(argument);
        if (failure) throw failure;
        return await call(...args);
      };
      return [name, record];
    });
    return Object.fromEntries(entries) as Calls;
  }

  /** Keeps the terms of chunks, which a ledger leaves to the store. */
  function withTerms(table: FileTable): FileTable {
    return {
      ...table,
      async replaceFiles(files: readonly IndexedFile[]) {
        for (const { path, chunks } of files)
          for (const { hash, startLine, terms: of } of chunks) terms.set(`${path} ${startLine} ${hash}`, of);
        return await table.replaceFiles(files);
      },
    };
  }

  function content(): typeof read {
    const revision = ledger.revision();
    if (read.revision === revision) return read;
    read = { revision, rows: [], words: new Map() };
    for (const chunk of ledger.sample(1e9).toSorted((a, b) => Number(a.id) - Number(b.id))) {
      const of = terms.get(`${chunk.path} ${chunk.startLine} ${chunk.hash}`) ?? "";
      const words = of.split(" ").filter((term) => term !== "");
      const row = { ...chunk, length: words.length };
      read.rows.push(row);
      for (const word of words) {
        const counts = read.words.get(word) ?? new Map<Row, number>();
        read.words.set(word, counts.set(row, (counts.get(row) ?? 0) + 1));
      }
    }
    return read;
  }

  /** How often each chunk has the term. */
  function countsOf({ term, prefix }: KeywordQuery["terms"][number]): Map<Row, number> {
    const { words } = content();
    if (!prefix) return words.get(term) ?? new Map<Row, number>();
    const counts = new Map<Row, number>();
    for (const [word, own] of words)
      if (word.startsWith(term)) for (const [row, count] of own) counts.set(row, (counts.get(row) ?? 0) + count);
    return counts;
  }

  /** BM25 as SQLite has it, positive. */
  function searchKeyword({
    terms: asked,
    limit,
    ...filter
  }: KeywordQuery): Awaited<ReturnType<NoteIndex["searchKeyword"]>> {
    const { rows } = content();
    const average = rows.reduce((sum, { length }) => sum + length, 0) / Math.max(1, rows.length);
    const scores = new Map<Row, number>();
    const documentFrequencies = asked.map((term) => {
      const counts = countsOf(term);
      const weight = Math.max(1e-6, Math.log((rows.length - counts.size + 0.5) / (counts.size + 0.5)));
      for (const [row, count] of counts) {
        const part = (weight * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * row.length) / average));
        scores.set(row, (scores.get(row) ?? 0) + part);
      }
      return counts.size;
    });
    return { rows: best(scores, filter, limit), chunkCount: rows.length, documentFrequencies };
  }

  const { health: _health, leases: _leases, ...kept } = ledgerOf(thread, false);
  return {
    calls,
    fail: (method, make) => void (make ? failures.set(method, make) : failures.delete(method)),
    before: (method, action) => void actions.set(method, action),
    setHealth: (change) => void (health = { ...health, ...change }),
    setFindings: (given) => void (findings = given),
    leaseHeldByOther(name, writer) {
      if (writer === undefined) otherLeases.delete(name);
      else otherLeases.set(name, { pid: 4242, reason: "index", since: "2026-01-02T03:04:05.000Z", ...writer });
    },
    heldLeases: () => [...ownLeases.keys()],
    chunksOf: (path, source = "memory") => content().rows.filter((row) => row.path === path && row.source === source),
    paths: () => pathsOf(ledger.listFiles()),
    get next() {
      const current = ledger.currentBuild();
      return current && { name: current.name, paths: pathsOf(ledger.listFiles(current.build)) };
    },
    vectorsIn(space) {
      const known = ledger.knownVectors(space, [...hashes]);
      return new Map(known.map((hash) => [hash, ledger.vectorOf(space, hash) as Float32Array]));
    },
    refusedIn: (space) => new Map(ledger.quarantined(space, 1e9).map(({ hash, reason }) => [hash, reason])),
    ...recorded("", {
      ...kept,
      ...withTerms(kept),
      async putVectors(space, entries) {
        for (const { hash } of entries) hashes.add(hash);
        await kept.putVectors(space, entries);
      },
      searchKeyword: async (query) => searchKeyword(query),
      async searchVector({ space, vector, limit, ...filter }) {
        const scores = new Map<Row, number>();
        for (const row of content().rows) {
          const own = ledger.vectorOf(space, row.hash);
          if (own)
            scores.set(
              row,
              own.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0),
            );
        }
        return { rows: best(scores, filter, limit) };
      },
      startBuild: async (name) => recorded("next.", withTerms(await kept.startBuild(name))),
      check: async () => structuredClone([...findings]),
      async repair() {
        const done = findings.map((finding) => (finding.ok ? finding : { ...finding, ok: true, fixed: "rebuilt" }));
        findings = findings.map((finding) => ({ ...finding, ok: true }));
        return done;
      },
      // So nothing is measured, which would be more requests.
      sampleVectors: async () => [],
      close: async () => ownLeases.clear(),
    } satisfies Omit<NoteIndex, "health">),
    leases: recorded("leases.", {
      async acquire(name, reason) {
        if (otherLeases.has(name)) return false;
        ownLeases.set(name, { pid: process.pid, reason, since: new Date().toISOString() });
        return true;
      },
      release: async (name) => void ownLeases.delete(name),
      async report(progress) {
        const writer = ownLeases.get("build");
        if (writer) ownLeases.set("build", { ...writer, ...progress });
      },
      holder: async (name) => structuredClone(otherLeases.get(name) ?? ownLeases.get(name)),
    } satisfies IndexLeases),
    health: () => health,
  };
}

function best(
  scores: ReadonlyMap<Row, number>,
  filter: Pick<KeywordQuery, "sources" | "scope">,
  limit: number,
): (ChunkRow & { score: number })[] {
  return [...scores]
    .filter(([row]) => isAsked(row, filter))
    .map(([{ length: _length, hash: _hash, ...row }, score]) => ({ ...row, score }))
    .toSorted((a, b) => b.score - a.score || Number(a.id) - Number(b.id))
    .slice(0, limit);
}

async function lastOf(pieces: AsyncIterator<unknown>): Promise<unknown> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done === true) return value;
  }
}

function pathsOf(files: readonly { path: string }[]): string[] {
  return files.map(({ path }) => path).toSorted();
}
