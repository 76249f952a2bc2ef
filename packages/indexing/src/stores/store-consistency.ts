import pLimit from "p-limit";
import type { FileRecord, IndexedFile } from "../index-row-types.ts";
import {
  type ChunkStore,
  type FileKey,
  fileName,
  spaceName,
  type StoredFile,
  type VectorSpace,
} from "../chunk-store.ts";
import type { Ledger } from "../ledger/ledger.ts";

const vectorsAtOnce = 2000;

const notes = {
  /** The revision of the store at which both held the same. */
  revision: "revision",
  /** The name of a build that was about to take over. */
  finishing: "finishing",
} as const;

export interface StoreParts {
  ledger: Ledger;
  store: ChunkStore;
  agreement: Agreement;
}

/** Keeps ledger and store in sync: the store is written first, a comparison finds differences. */
export class Agreement {
  readonly #ledger: Ledger;
  readonly #store: ChunkStore;
  readonly #givesVectors: boolean;
  readonly #readOnly: boolean;
  readonly #writes = pLimit(1);
  #unknown = new Map<string, StoredFile>();
  #isDistrusted = false;
  /** State at the last agreement; undefined: compare again. */
  #seen: string | undefined;
  #asked: Promise<string> | undefined;
  #lastState: string | undefined;
  #isWriting = false;
  #moves = 0;
  #remade: number;
  readonly #spaces = new Map<string, VectorSpace>();
  #edits = 0;
  #changes = 0;
  #losses = 0;

  constructor(input: { ledger: Ledger; store: ChunkStore; keepsVectors: boolean; readOnly: boolean }) {
    this.#ledger = input.ledger;
    this.#store = input.store;
    this.#readOnly = input.readOnly;
    this.#givesVectors = input.keepsVectors && !input.readOnly;
    this.#remade = input.ledger.health().remade ?? 0;
  }

  get edits(): number {
    return this.#edits;
  }

  /** Changes when the store and the ledger differed, or others have written. */
  get changes(): string {
    return `${this.#changes}.${this.#moves}`;
  }

  /** Revision of the store at the last check. Undefined: check again. */
  get at(): string | undefined {
    return this.#asked === undefined || this.#store.revision === undefined ? undefined : this.#lastState;
  }

  get losses(): number {
    return this.#losses;
  }

  /** Files in the store that the ledger does not know: read again or remove. */
  unknownFiles(): FileRecord[] {
    return [...this.#unknown.values()].map(unread);
  }

  /** True for a file that the store holds in this very form: only the ledger lacks it. */
  isHeld(file: IndexedFile): boolean {
    const held = this.#unknown.get(fileName(file));
    return file.fromLine === undefined && held?.hash === file.hash && held.recipe === file.recipe;
  }

  async importFiles(files: readonly IndexedFile[]): Promise<void> {
    await this.#writes(async () => {
      await this.#ledger.replaceFiles(files);
      await this.settled(files);
    });
  }

  async settled(files: readonly FileKey[]): Promise<void> {
    const spaces = new Map<string, { space: VectorSpace; files: FileKey[] }>();
    for (const file of files) {
      for (const space of this.#unknown.get(fileName(file))?.embedded ?? []) {
        const own = spaces.get(spaceName(space)) ?? { space, files: [] };
        own.files.push(file);
        spaces.set(spaceName(space), own);
      }
      this.#unknown.delete(fileName(file));
    }
    for (const { space, files: own } of spaces.values()) await this.#ledger.importVectors(space, own);
  }

  /** Runs writes to both, one at a time, and sends resulting vectors. */
  async write<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.#writes(async () => {
      try {
        this.#asked = undefined;
        const isOurs = await this.#isInStep();
        this.#edits++;
        this.#isWriting = true;
        const result = await work();
        await this.#sendVectors();
        this.#asked = undefined;
        if (isOurs) await this.#noteState();
        return result;
      } catch (error) {
        this.#asked = undefined;
        this.#isDistrusted = true;
        throw error;
      } finally {
        this.#isWriting = false;
      }
    });
  }

  async written(): Promise<boolean> {
    if (this.#writes.activeCount === 0) return false;
    await this.#writes(() => undefined);
    return true;
  }

  /** The store gets all vectors of this space, present ones at once. */
  async requestVectors(space: VectorSpace): Promise<void> {
    if (!this.#givesVectors) return;
    this.#spaces.set(spaceName(space), space);
    await this.#ledger.requestVectors(space);
    if ((await this.#ledger.unacknowledgedVectors(1)) !== undefined) await this.write(async () => undefined);
  }

  /** Compares the lists if one may have changed alone. `fresh`: check the present state. */
  async follow({ fresh = false }: { fresh?: boolean | undefined } = {}): Promise<void> {
    if (fresh) this.#asked = undefined;
    if (this.#readOnly || this.#writes.activeCount > 0 || (await this.#isInStep())) return;
    if (await this.#isBeingWritten()) return;
    await this.#writes(async () => {
      if (!(await this.#isInStep())) await this.#compareLists();
    });
  }

  /** Compares them unconditionally. True: the store had lost something. */
  async compare(): Promise<boolean> {
    return (
      !this.#readOnly &&
      (await this.#writes(() => {
        this.#asked = undefined;
        return this.#compareLists();
      }))
    );
  }

  distrust(): void {
    this.#isDistrusted = true;
  }

  /** Activates a build in the store, then in the ledger. */
  async finish(name: string, inStore: () => Promise<void>): Promise<void> {
    await this.#ledger.note(notes.finishing, name);
    await inStore();
    await this.#ledger.finishBuild();
    await this.#ledger.note(notes.finishing, undefined);
  }

  async #compareLists(): Promise<boolean> {
    const isFirst = this.#seen === undefined && this.#changes === 0;
    this.#edits++;
    const remade = this.#ledger.health().remade ?? 0;
    if (remade !== this.#remade) for (const space of this.#spaces.values()) await this.#ledger.requestVectors(space);
    this.#remade = remade;
    // Asked before the list, so that a change in between is detected next time.
    const before = await this.#state();
    const held = await this.#store.listFiles({ at: this.at });
    await this.#endFinishing(held);
    const { lost, unknown } = await this.#ledger.reconcile(held);
    this.#unknown = new Map(unknown.map((file) => [fileName(file), file]));
    if (lost.length > 0 || unknown.length > 0) this.#changes++;
    if (lost.length > 0 && !isFirst) this.#losses++;
    this.#isDistrusted = false;
    if (this.#store.revision === undefined) await this.#noteState();
    else await this.#ledger.note(notes.revision, (this.#seen = before));
    if (await this.#sendVectors()) this.#asked = undefined;
    return lost.length > 0;
  }

  async #endFinishing(held: readonly StoredFile[]): Promise<void> {
    const name = await this.#ledger.noted(notes.finishing);
    if (name === undefined) return;
    const build = await this.#ledger.currentBuild();
    const files = build?.name === name ? await build.table.listFiles() : undefined;
    if (files?.length === held.length && otherFiles(held, files).length === 0) {
      await this.#ledger.startBuild(name);
      await this.#ledger.finishBuild();
    }
    await this.#ledger.note(notes.finishing, undefined);
  }

  async #sendVectors(): Promise<boolean> {
    if (!this.#givesVectors) return false;
    for (let hasGiven = false; ; hasGiven = true) {
      const batch = await this.#ledger.unacknowledgedVectors(vectorsAtOnce);
      if (batch === undefined) return hasGiven;
      await this.#store.putVectors(batch.space, batch.entries);
      const hashes = batch.entries.map(({ hash }) => hash);
      await this.#ledger.acknowledgeVectors(batch.space, hashes);
    }
  }

  async #isInStep(): Promise<boolean> {
    if (this.#isDistrusted || (this.#ledger.health().remade ?? 0) !== this.#remade) return false;
    const now = await this.#state();
    if (now === this.#seen) return true;
    // Another process of this machine has written to both, or this one has been opened since.
    if (this.#store.revision === undefined || now !== (await this.#ledger.noted(notes.revision))) return false;
    this.#seen = now;
    return true;
  }

  async #noteState(): Promise<void> {
    this.#asked = undefined;
    this.#seen = await this.#state();
    if (this.#store.revision !== undefined) await this.#ledger.note(notes.revision, this.#seen);
  }

  #state(): Promise<string> {
    if (this.#asked !== undefined) return this.#asked;
    const state = this.#askState();
    this.#asked = state;
    state.catch(() => {
      if (this.#asked === state) this.#asked = undefined;
    });
    return state;
  }

  /** Revision of the store, or else of the ledger, which every writer of the store updates. */
  async #askState(): Promise<string> {
    const state = (await this.#store.revision?.()) ?? `ledger ${await this.#ledger.revision({ fresh: true })}`;
    if (this.#lastState !== undefined && this.#lastState !== state && !this.#isWriting) this.#moves++;
    this.#lastState = state;
    return state;
  }

  async #isBeingWritten(): Promise<boolean> {
    const { leases } = this.#ledger;
    const writers = [await leases?.holder("files"), await leases?.holder("build")];
    return writers.some((writer) => writer !== undefined && writer.pid !== process.pid);
  }
}

/** A record of a file that is only known to be in the store: it is read again. */
function unread({ path, source, recipe }: StoredFile): FileRecord {
  return { path, source, recipe, hash: "", mtimeMs: -1, size: -1 };
}

export function otherFiles(held: readonly StoredFile[], files: readonly FileRecord[]): StoredFile[] {
  const known = new Map(files.map((file) => [fileName(file), file]));
  return held.filter((file) => {
    const own = known.get(fileName(file));
    return own?.hash !== file.hash || own.recipe !== file.recipe;
  });
}
