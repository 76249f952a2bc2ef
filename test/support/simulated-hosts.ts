import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  type Chunk,
  type NoteIndex,
  type ChunkStore,
  type IndexedFile,
  type StoreBuild,
  type VectorSpace,
} from "@memslot/indexing";
import { createStoredIndex } from "@memslot/indexing/engine";
import { openLedger } from "@memslot/indexing/ledger";
import { afterwards, tempFolder } from "@memslot/test-tools/files";
import type { InMemoryStore } from "@memslot/testkit";

export const space: VectorSpace = { provider: "test", model: "hash", providerKey: "", dimensions: 16 };

/** Ends a process in the middle of a call, as far as the one who made it can tell. */
export class Killed extends Error {}

/** A store that ends its process at a call, before the call is made or after it. */
export interface BreakableStore {
  store: ChunkStore;
  /** The call that many calls from now is the last one. */
  breakAt(calls: number, when: "before" | "after"): void;
  mend(): void;
  /** Calls that write files. */
  writes(): number;
}

export function breakable(inner: InMemoryStore): BreakableStore {
  let left = Number.POSITIVE_INFINITY;
  let moment: "before" | "after" = "before";
  let writes = 0;
  async function call<Result>(run: () => Promise<Result>): Promise<Result> {
    if (left <= 0) throw new Killed("killed");
    const isLast = --left === 0;
    if (isLast && moment === "before") throw new Killed("killed");
    const result = await run();
    if (isLast) throw new Killed("killed");
    return result;
  }
  /** The same object, each of whose methods is such a call. */
  function throughCalls<Target extends object>(target: Target): Target {
    return new Proxy(target, {
      get(_, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        if (name === "close") return async () => undefined;
        return (...given: unknown[]) => {
          if (name === "replaceFiles" || name === "removeFiles") writes++;
          const run = async (): Promise<unknown> => await Reflect.apply(method, target, given);
          return call(async () => (name === "build" ? throughCalls((await run()) as StoreBuild) : await run()));
        };
      },
    });
  }
  return {
    store: throughCalls<ChunkStore>(inner),
    breakAt(calls: number, when: "before" | "after") {
      [left, moment] = [calls, when];
    },
    mend: () => void (left = Number.POSITIVE_INFINITY),
    writes: () => writes,
  };
}

/** The notes as they are on the disk of every host: words of each chunk by path. */
export type Disk = Map<string, string[]>;

/** One host: its ledger, and the store that it may share. */
export interface Host {
  index: NoteIndex;
  /** Ends what is open and opens it again, as a new process would. */
  restart(): Promise<void>;
  /** Brings the index up to date with the disk, vectors included, as the sync of a memory does. */
  sync(disk: Disk): Promise<void>;
  /** Builds all of it again beside the one that answers. */
  rebuild(disk: Disk): Promise<void>;
  /** How often each text was embedded by this host. */
  embedded: ReadonlyMap<string, number>;
  /** What the next files are cut by. */
  recipe: string;
  forgetLedger(): Promise<void>;
}

export async function openHost(store: ChunkStore, folder: string = tempFolder()): Promise<Host> {
  const path = join(folder, "ledger.sqlite");
  const embedded = new Map<string, number>();
  const open = async (): Promise<NoteIndex> => {
    const ledger = await openLedger({ store: "memory-test", path, cacheMaxEntries: 1000 });
    try {
      return await createStoredIndex({ ledger, store });
    } catch (error) {
      await ledger.close();
      throw error;
    }
  };

  async function fill(index: NoteIndex): Promise<void> {
    for (;;) {
      const pending = await index.pendingVectors(space, 5);
      if (pending.length === 0) return;
      for (const { hash } of pending) embedded.set(hash, (embedded.get(hash) ?? 0) + 1);
      await index.putVectors(
        space,
        pending.map(({ hash, text }) => ({ hash, vector: vectorOf(text) })),
      );
    }
  }

  async function bring(
    files: Pick<NoteIndex, "listFiles" | "replaceFiles" | "removeFiles">,
    disk: Disk,
  ): Promise<void> {
    const known = new Map((await files.listFiles()).map((file) => [file.path, file]));
    const wanted = [...disk].map(([file, words]) => fileOf(file, words, host.recipe));
    const changed = wanted.filter(({ path: file, hash }) => known.get(file)?.hash !== hash);
    for (let from = 0; from < changed.length; from += 3) await files.replaceFiles(changed.slice(from, from + 3));
    const gone = [...known.keys()].filter((file) => !disk.has(file));
    if (gone.length > 0) await files.removeFiles(gone.map((file) => ({ path: file, source: "memory" })));
  }

  const host: Host = {
    index: await open(),
    embedded,
    recipe: "first",
    async restart() {
      await host.index.close().catch(() => undefined);
      host.index = await open();
    },
    async sync(disk) {
      await host.index.revision?.({ fresh: true });
      await bring(host.index, disk);
      await fill(host.index);
      await host.index.useSpace(space);
    },
    async rebuild(disk) {
      const { index } = host;
      await index.revision?.({ fresh: true });
      const table = await index.startBuild?.(host.recipe);
      if (table === undefined) return;
      await bring(table, disk);
      await fill(index);
      await index.finishBuild();
    },
    async forgetLedger() {
      await host.index.close().catch(() => undefined);
      for (const suffix of ["", "-wal", "-shm", "-sum"]) rmSync(path + suffix, { force: true });
      host.index = await open();
    },
  };
  afterwards(() => host.index.close().catch(() => undefined));
  return host;
}

export function fileOf(path: string, words: readonly string[], recipe: string): IndexedFile {
  const chunks = words.map((word, index): Chunk => {
    const text = `${word} ${index}`;
    return { startLine: index + 1, endLine: index + 1, text, context: "", terms: word, hash: sha256(text) };
  });
  return { path, source: "memory", hash: sha256(words.join("\n")), recipe, mtimeMs: 1, size: words.length, chunks };
}

export function vectorOf(text: string): Float32Array {
  const bytes = createHash("sha256").update(text).digest();
  const vector = Float32Array.from({ length: space.dimensions }, (_, index) => (bytes[index] ?? 0) - 127.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What is wrong with the answers of an index about these notes; nothing where it knows them and nothing else. */
export async function faultsOf(index: NoteIndex, disk: Disk): Promise<string[]> {
  const faults: string[] = [];
  await index.revision?.({ fresh: true });
  const listed = new Map((await index.listFiles()).map((file) => [file.path, file.hash]));
  if (listed.size !== disk.size) faults.push(`${listed.size} files in place of ${disk.size}`);
  const places = new Map<string, Set<string>>();
  for (const [path, words] of disk) {
    for (const [at, word] of words.entries()) {
      const own = places.get(word) ?? new Set<string>();
      places.set(word, own.add(`${path}:${at + 1}`));
    }
  }
  for (const [word, expected] of places) {
    const { rows, incomplete } = await index.searchKeyword({
      terms: [{ term: word, prefix: false }],
      sources: ["memory"],
      limit: 1000,
    });
    const found = new Set(rows.map(({ path, startLine }) => `${path}:${startLine}`));
    if (rows.length !== found.size) faults.push(`${word}: a chunk twice`);
    if (found.size !== expected.size || [...found].some((place) => !expected.has(place)))
      faults.push(`${word}: ${[...found].join(" ")} in place of ${[...expected].join(" ")}`);
    if (incomplete !== undefined) faults.push(incomplete);
  }
  for (const [path, words] of disk) {
    for (const [at, word] of words.entries()) {
      const query = { space, vector: vectorOf(`${word} ${at}`), sources: ["memory"], limit: 50 };
      const { rows } = await index.searchVector(query);
      const own = rows.find((row) => row.path === path && row.startLine === at + 1);
      if (own === undefined || own.score < 0.999) faults.push(`${path}:${at + 1} is not found by its vector`);
    }
  }
  const { pending } = await index.spaceStats(space);
  if (pending > 0) faults.push(`${pending} chunks lack their vector`);
  return faults;
}
