import type { IndexFinding, WriterStatus } from "@memslot/core";
import type {
  Chunk,
  ChunkIndex,
  FileTable,
  LeaseName,
  IndexBuilds,
  IndexHealth,
  IndexLeases,
  IndexStats,
  IndexUpkeep,
  RevisionStep,
  VectorSpace,
} from "@memslot/indexing";
import { type FakeBuild, createFakeBuild, isAsked, rowOf, tableOf } from "./fake-build.ts";
import { createFakeLeases } from "./fake-leases.ts";
import { createFakeVectors, type FakeVectors } from "./fake-vectors.ts";

type FakeMethod =
  | Exclude<keyof ChunkIndex, "health" | "builds" | "leases" | "upkeep">
  | `next.${keyof FileTable}`
  | `builds.${keyof IndexBuilds}`
  | `leases.${keyof IndexLeases}`
  | `upkeep.${keyof IndexUpkeep}`;

export interface FakeStore extends ChunkIndex {
  revision(): Promise<string>;
  readonly builds: IndexBuilds;
  readonly leases: IndexLeases;
  readonly upkeep: IndexUpkeep;
  /**
   * Every call so far, by method, with its argument; the two of a call about a space are `{ space, of }`. A call of the
   * table of the next build is `next.replaceFiles`, one of the parts `builds.finish` or `leases.acquire`.
   */
  readonly calls: { method: FakeMethod; argument: unknown }[];
  /** From now on the method throws what `make` gives; `undefined` mends it. */
  fail(method: FakeMethod, make: ((argument: unknown) => Error | undefined) | undefined): void;
  /** Runs before the method answers. */
  before(method: FakeMethod, action: () => void | Promise<void>): void;
  setHealth(change: Partial<IndexHealth>): void;
  /** What `stats` answers in place of what was counted. */
  setStats(change: Partial<IndexStats>): void;
  /** What `upkeep.check` finds. `upkeep.repair` mends it all. */
  setFindings(findings: readonly IndexFinding[]): void;
  /** From now on another process has this lease; `undefined`: it has let go of it. */
  leaseHeldByOther(name: LeaseName, writer: Partial<WriterStatus> | undefined): void;
  /** The leases that this store has. */
  heldLeases(): LeaseName[];
  /** Of the build that answers. */
  chunksOf(path: string, source?: string): Chunk[];
  paths(): string[];
  /** The files of the build that is being made, and its name; undefined where there is none. */
  readonly next: { name: string; paths: string[] } | undefined;
  readonly kept: FakeVectors["kept"];
  /** The one that `useSpace` named last. */
  readonly space: VectorSpace | undefined;
}

/** A chunk store in memory that can be told to fail. What it holds is there again after `close`, all but the leases. */
export function createFakeStore(): FakeStore {
  const calls: FakeStore["calls"] = [];
  const failures = new Map<FakeMethod, (argument: unknown) => Error | undefined>();
  const actions = new Map<FakeMethod, () => void | Promise<void>>();
  let health: IndexHealth = {
    location: "fake",
    fts: { enabled: true, available: true },
    vector: { enabled: true, available: true },
    notices: [],
  };
  let statsChange: Partial<IndexStats> = {};
  let findings: readonly IndexFinding[] = [{ name: "fake", ok: true, message: "nothing to compare" }];
  let space: VectorSpace | undefined;
  let lastChunk = 0;
  let lastBuild = 1;
  let revision = 0;
  const newBuild = (): FakeBuild => createFakeBuild(() => ++lastChunk);
  let answering: { id: number; build: FakeBuild; builtAt?: number } = { id: lastBuild, build: newBuild() };
  let next: { id: number; name: string; startedAt: number; build: FakeBuild } | undefined;

  async function enter(method: FakeMethod, argument?: unknown): Promise<void> {
    calls.push({ method, argument });
    await actions.get(method)?.();
    const failure = failures.get(method)?.(argument);
    if (failure) throw failure;
  }

  const leases = createFakeLeases(enter);
  const { kept, all, forgetRefused, ...vectorCalls } = createFakeVectors(
    () => answering.build,
    () => next?.build,
    enter,
  );
  const table = tableOf(() => answering.build, enter, changed);

  function changed(): RevisionStep {
    const from = String(revision);
    revision += 1;
    forgetRefused();
    return { from, to: String(revision) };
  }
  function nextChanged(): undefined {
    forgetRefused();
  }

  function statsOf(): IndexStats {
    const files = answering.build.list();
    const chunks = answering.build.chunks();
    return {
      files: files.length,
      chunks: chunks.length,
      sources: [...new Set(files.map(({ source }) => source))].toSorted().map((source) => {
        const ofSource = chunks.filter((chunk) => chunk.source === source);
        return {
          source,
          files: files.filter((file) => file.source === source).length,
          chunks: ofSource.length,
          bytes: files.reduce((sum, file) => sum + (file.source === source ? file.size : 0), 0),
          chunkBytes: ofSource.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
        };
      }),
      cachedVectors: all().length,
      cachedVectorBytes: all().reduce((sum, vector) => sum + vector.byteLength, 0),
      databaseBytes: 0,
      walBytes: 0,
      reusableBytes: 0,
      generation: {
        id: answering.id,
        ...(answering.builtAt === undefined ? {} : { builtAt: answering.builtAt }),
        ...(next === undefined
          ? {}
          : {
              next: {
                id: next.id,
                name: next.name,
                startedAt: next.startedAt,
                files: next.build.list().length,
                chunks: next.build.chunks().length,
              },
            }),
      },
      ...statsChange,
    };
  }

  return {
    calls,
    fail: (method, make) => void (make ? failures.set(method, make) : failures.delete(method)),
    before: (method, action) => void actions.set(method, action),
    setHealth: (change) => void (health = { ...health, ...change }),
    setStats: (change) => void (statsChange = { ...statsChange, ...change }),
    setFindings: (given) => void (findings = given),
    leaseHeldByOther: (name, writer) => leases.heldByOther(name, writer),
    heldLeases: () => leases.held(),
    chunksOf: (path, source = "memory") => answering.build.chunksOf({ path, source }),
    paths: () => pathsOf(answering.build),
    get next() {
      return next && { name: next.name, paths: pathsOf(next.build) };
    },
    get space() {
      return space;
    },
    kept,
    ...table,
    ...vectorCalls,
    leases,
    async revision() {
      await enter("revision");
      return String(revision);
    },
    builds: {
      async start(name) {
        await enter("builds.start", name);
        if (next?.name !== name) {
          next = { id: ++lastBuild, name, startedAt: Date.now(), build: newBuild() };
          forgetRefused();
        }
        const { id } = next;
        const ofThis = (): FakeBuild => {
          if (next?.id !== id) throw new Error(`build "${name}" is over: it was finished, abandoned or dropped`);
          return next.build;
        };
        return tableOf(ofThis, (method, argument) => enter(`next.${method}`, argument), nextChanged);
      },
      async finish() {
        await enter("builds.finish");
        if (next === undefined) throw new Error("no build was started");
        answering = { id: next.id, build: next.build, builtAt: Date.now() };
        next = undefined;
        changed();
      },
      async abandon() {
        await enter("builds.abandon");
        next = undefined;
        forgetRefused();
      },
    },
    upkeep: {
      async check() {
        await enter("upkeep.check");
        return findings.map((finding) => ({ ...finding }));
      },
      async repair() {
        await enter("upkeep.repair");
        const done = findings.map((finding) => (finding.ok ? finding : { ...finding, ok: true, fixed: "made anew" }));
        findings = findings.map((finding) => ({ ...finding, ok: true }));
        return done.map((finding) => ({ ...finding }));
      },
      async compact() {
        await enter("upkeep.compact");
        return { beforeBytes: 0, afterBytes: 0 };
      },
      async tables() {
        await enter("upkeep.tables");
        return [{ name: "chunks", bytes: answering.build.chunks().length * 100 }];
      },
      async sample(count) {
        await enter("upkeep.sample", count);
        const chunks = answering.build.chunks().slice(0, count);
        return chunks.map((chunk) => ({ ...rowOf(chunk), hash: chunk.hash }));
      },
      async vectorOf(wanted, hash) {
        await enter("upkeep.vectorOf", { space: wanted, of: hash });
        return kept(wanted).vectors.get(hash);
      },
    },
    async searchKeyword(query) {
      await enter("searchKeyword", query);
      return answering.build.search(query);
    },
    async listChunks(asked) {
      await enter("listChunks", asked);
      const own = answering.build.chunks().filter((chunk) => isAsked(chunk, asked));
      return own.map((chunk) => (asked.withText ? rowOf(chunk) : { ...rowOf(chunk), text: "" }));
    },
    async useSpace(wanted) {
      await enter("useSpace", wanted);
      space = wanted;
    },
    async probeVector() {
      await enter("probeVector");
      return true;
    },
    async stats() {
      await enter("stats");
      return statsOf();
    },
    health: () => health,
    async close() {
      await enter("close");
      leases.releaseAll();
    },
  };
}

function pathsOf(build: FakeBuild): string[] {
  return build
    .list()
    .map(({ path }) => path)
    .toSorted();
}
