import pLimit from "p-limit";
import type { FileRecord, IndexedFile } from "../chunk-index.ts";
import { type ChunkStore, type FileKey, spaceName, type StoredFile, type VectorSpace } from "../chunk-store.ts";
import type { Ledger } from "../ledger/ledger.ts";

/** Vectors that are handed over in one call. */
const vectorsAtOnce = 2000;
/** What other hosts have changed within so short a time counts as changed after it. */
const revisionHoldsMs = 100;

/** Notes of the ledger about its store. */
export const notes = {
  /** The revision of the store at which both held the same. */
  revision: "revision",
  /** The name of a build that was about to take over. */
  finishing: "finishing",
} as const;

/**
 * Keeps a ledger and its store in step. The store is written first: what it holds and the ledger does not know is found
 * by comparing their lists, and given again or taken out. What the ledger has and the store lacks is forgotten, so that
 * the next sync reads it; of vectors the ledger itself knows which the store still has to get.
 */
export interface Agreement {
  /** Files that the store holds and the ledger does not know. They are to be read, or to be taken out. */
  unknownFiles(): FileRecord[];
  /** True for a file that the store holds in this very form: only the ledger lacks it. */
  isHeld(file: IndexedFile): boolean;
  /** The ledger knows these now, or the store does not hold them any more. */
  settled(files: readonly FileKey[]): Promise<void>;
  /** Runs work that writes to both, one at a time, and hands over the vectors that come of it. */
  write<Result>(work: () => Promise<Result>): Promise<Result>;
  /** From now on the store gets the vectors of this space, those that are there already at once. */
  owe(space: VectorSpace): Promise<void>;
  /** Compares the lists where the store may have changed without the ledger. */
  follow(): Promise<void>;
  /** Compares them whatever the store says. True: the store had lost something. */
  compare(): Promise<boolean>;
  /** Waits for the write that is under way. False where there is none. */
  written(): Promise<boolean>;
  /** The next `follow` compares the lists. */
  distrust(): void;
  /** How often something of this was found out and changed. */
  changes(): number;
  /** How often the store had lost files while it was open. */
  losses(): number;
}

export function createAgreement(input: {
  ledger: Ledger;
  store: ChunkStore;
  /** False: the store is given no vectors. */
  keepsVectors: boolean;
  /** True for somebody who only looks: nothing is compared and nothing handed over. */
  lookOnly: boolean;
}): Agreement {
  const { ledger, store, keepsVectors, lookOnly } = input;
  const writes = pLimit(1);
  let unknown = new Map<string, StoredFile>();
  let isDistrusted = false;
  /** What was said last when both held the same; undefined: they have to be compared. */
  let seen: string | undefined;
  let asked: { at: number; state: Promise<string> } | undefined;
  let remade = ledger.health().remade ?? 0;
  let changes = 0;
  let losses = 0;

  /** The revision of the store, or where it has none of the ledger, to which every process writes that writes to the store. */
  async function askState(): Promise<string> {
    const own = await store.revision?.();
    return own ?? `ledger ${await ledger.revision()}`;
  }

  /** Asked once for what belongs together. */
  function state(): Promise<string> {
    const now = performance.now();
    if (asked !== undefined && now - asked.at < revisionHoldsMs) return asked.state;
    const own = askState();
    asked = { at: now, state: own };
    // One that failed is asked again.
    own.catch(() => void (asked = undefined));
    return own;
  }

  async function isInStep(): Promise<boolean> {
    if (isDistrusted || (ledger.health().remade ?? 0) !== remade) return false;
    const now = await state();
    if (now === seen) return true;
    // Another process of this machine has written to both, or this one has been opened since.
    if (store.revision === undefined || now !== (await ledger.noted(notes.revision))) return false;
    seen = now;
    return true;
  }

  async function compareLists(): Promise<boolean> {
    const isFirst = seen === undefined && changes === 0;
    remade = ledger.health().remade ?? 0;
    asked = undefined;
    // Asked before the list, so that a change in between shows at the next time.
    const before = await state();
    const held = await store.listFiles();
    await endFinishing(held);
    const { lost, unknown: others } = await ledger.reconcile(held);
    unknown = new Map(others.map((file) => [nameOf(file), file]));
    if (lost.length > 0 || others.length > 0) changes++;
    if (lost.length > 0 && !isFirst) losses++;
    isDistrusted = false;
    if (store.revision === undefined) await noteState();
    else await ledger.note(notes.revision, (seen = before));
    await handOver();
    return lost.length > 0;
  }

  /** A process that ended between the store and the ledger, both of which were about to change to a new build. */
  async function endFinishing(held: readonly StoredFile[]): Promise<void> {
    const name = await ledger.noted(notes.finishing);
    if (name === undefined) return;
    const build = await ledger.currentBuild();
    if (build?.name === name && isSame(held, await build.table.listFiles())) {
      await ledger.startBuild(name);
      await ledger.finishBuild();
    }
    await ledger.note(notes.finishing, undefined);
  }

  /** Gives the store every vector that it is owed. */
  async function handOver(): Promise<void> {
    if (!keepsVectors || lookOnly) return;
    for (;;) {
      const owed = await ledger.owedVectors(vectorsAtOnce);
      if (owed === undefined) return;
      await store.putVectors(owed.space, owed.entries);
      await ledger.paidVectors(
        owed.space,
        owed.entries.map(({ hash }) => hash),
      );
    }
  }

  async function noteState(): Promise<void> {
    asked = undefined;
    seen = await state();
    if (store.revision !== undefined) await ledger.note(notes.revision, seen);
  }

  /** Somebody else writes to both just now: what they hold differs for a moment. */
  async function isBeingWritten(): Promise<boolean> {
    const writer = await ledger.leases?.holder("files");
    return writer !== undefined && writer.pid !== process.pid;
  }

  return {
    unknownFiles: () => [...unknown.values()].map(unread),
    isHeld(file) {
      const held = unknown.get(nameOf(file));
      return file.fromLine === undefined && held?.hash === file.hash && held.recipe === file.recipe;
    },
    async settled(files) {
      const spaces = new Map<string, { space: VectorSpace; files: FileKey[] }>();
      for (const file of files) {
        for (const space of unknown.get(nameOf(file))?.embedded ?? []) {
          const own = spaces.get(spaceName(space)) ?? { space, files: [] };
          own.files.push(file);
          spaces.set(spaceName(space), own);
        }
        unknown.delete(nameOf(file));
      }
      for (const { space, files: own } of spaces.values()) await ledger.adoptVectors(space, own);
    },
    write: (work) =>
      writes(async () => {
        try {
          // What somebody else has changed before must not count as ours.
          const isOurs = await isInStep();
          const result = await work();
          await handOver();
          if (isOurs) await noteState();
          return result;
        } catch (error) {
          // Nobody knows how far it came.
          isDistrusted = true;
          throw error;
        }
      }),
    async owe(space) {
      if (!keepsVectors || lookOnly) return;
      await ledger.oweVectors(space);
      await writes(handOver);
    },
    async follow() {
      if (lookOnly || writes.activeCount > 0 || (await isInStep()) || (await isBeingWritten())) return;
      await writes(async () => {
        if (!(await isInStep())) await compareLists();
      });
    },
    compare: async () => !lookOnly && (await writes(compareLists)),
    async written() {
      if (writes.activeCount === 0) return false;
      await writes(() => undefined);
      return true;
    },
    distrust: () => void (isDistrusted = true),
    changes: () => changes,
    losses: () => losses,
  };
}

/** A record of a file of which nothing is known but that it is held: it counts as changed, and is read as a whole. */
function unread({ path, source, recipe }: StoredFile): FileRecord {
  return { path, source, recipe, hash: "", mtimeMs: -1, size: -1 };
}

function isSame(held: readonly StoredFile[], files: readonly FileRecord[]): boolean {
  const known = new Map(files.map((file) => [nameOf(file), file]));
  if (known.size !== held.length) return false;
  return held.every((file) => {
    const own = known.get(nameOf(file));
    return own?.hash === file.hash && own.recipe === file.recipe;
  });
}

function nameOf({ source, path }: FileKey): string {
  return JSON.stringify([source, path]);
}
