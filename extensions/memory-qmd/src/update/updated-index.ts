import path from "node:path";
import { type Collection, collectionsWith, everyNote } from "./collections.ts";
import { emptyIndex, hasIndex } from "./index-state.ts";
import { writeIndexYaml } from "./index-yaml.ts";
import type { Ledger, LedgerFile } from "./ledger.ts";
import { QmdFailure, type QmdIndexStatus, type QmdProcess } from "../qmd-contract.ts";

interface IndexInput {
  folder: string;
  workspaceDir: string;
  ledger: Ledger;
  process: QmdProcess;
  collections: () => Collection[];
}

/** The index of qmd beside the ledger: what it does not have yet, and one update of it. */
export class UpdatedIndex {
  readonly #input: IndexInput;
  /** What it held when it was asked last. */
  status: QmdIndexStatus | undefined;
  collections: readonly Collection[];
  /** What was not seen when the ledger was looked through last. */
  #known: { revision: string; collections: readonly Collection[]; files: readonly LedgerFile[] } | undefined;
  #isLost = false;
  #isDamaged = false;

  constructor(input: IndexInput) {
    const { folder, ledger } = input;
    this.#input = input;
    this.collections = input.collections();
    if (!hasIndex(folder) && ledger.files().some(({ seen }) => seen !== undefined)) ledger.forgetSeen();
  }

  /** What of the ledger it does not have as it is. */
  unseen(): readonly LedgerFile[] {
    const { ledger } = this.#input;
    const revision = ledger.revision();
    if (this.#known?.revision !== revision || this.#known.collections !== this.collections) {
      const files = ledger
        .files()
        .filter((file) => file.seen !== file.hash || (file.source === "memory" && this.#isPassedOver(file.path)));
      this.#known = { revision, collections: this.collections, files };
    }
    return this.#known.files;
  }

  #collectionsWith(shown: string): readonly Collection[] {
    return collectionsWith(this.collections, path.resolve(this.#input.workspaceDir, shown));
  }

  /** True for a note that qmd does not index, whatever it is told, or where it has found nothing in all of a folder. */
  #isPassedOver(shown: string): boolean {
    const { empty } = this.#input.ledger.facts();
    return this.#collectionsWith(shown).every(({ name }) => empty.includes(name));
  }

  /** Collections that are to be read and that qmd does not tell of: it tells of none without documents. */
  #emptyOf(status: QmdIndexStatus | undefined): string[] {
    if (status === undefined) return [];
    const holding = new Set(status.collections.filter(({ documents }) => documents > 0).map(({ name }) => name));
    return this.collections.flatMap(({ name }) => (holding.has(name) ? [] : [name]));
  }

  /** Whether a folder is empty to qmd that these notes were read from: what a pattern fits may be read otherwise. */
  isEmptied(status: QmdIndexStatus | undefined, files: readonly LedgerFile[]): boolean {
    const empty = new Set(this.#emptyOf(status));
    return files
      .filter(({ source, chunks }) => source === "memory" && chunks > 0)
      .flatMap((file) => this.#collectionsWith(file.path).slice(0, 1))
      .some(({ name, pattern }) => pattern === everyNote && empty.has(name));
  }

  async look(signal: AbortSignal): Promise<QmdIndexStatus> {
    this.status = await this.#input.process.status(signal);
    return this.status;
  }

  /** An update whose result cannot be counted has been made all the same. */
  async #lookSafely(signal: AbortSignal): Promise<QmdIndexStatus | undefined> {
    try {
      return await this.look(signal);
    } catch (error) {
      if (!(error instanceof QmdFailure) || signal.aborted) throw error;
      return undefined;
    }
  }

  /** It is made anew with the next update. */
  lost(isDamaged: boolean): void {
    this.#isLost = true;
    this.#isDamaged ||= isDamaged;
    this.#input.ledger.forgetSeen();
  }

  renewCollections({ write }: { write: boolean }): void {
    this.collections = this.#input.collections();
    if (write) writeIndexYaml(this.#input.folder, this.collections, true);
  }

  /** Whether an update would change anything, as far as is known. */
  #isBehind(): boolean {
    const { folder, ledger, process } = this.#input;
    if (this.#isLost || process.isTorn() || !hasIndex(folder) || ledger.facts().gone.length > 0) return true;
    return ledger.files().some((file) => file.seen !== file.hash);
  }

  /** Does nothing where nothing has changed. `force`: it is made anew from nothing. */
  async update(force: boolean, signal: AbortSignal): Promise<void> {
    const { folder, ledger, process } = this.#input;
    this.collections = this.#input.collections();
    const isNew = writeIndexYaml(folder, this.collections, false);
    if (!force && !isNew && !this.#isBehind()) return;
    const started = performance.now();
    const damaged = this.#isDamaged;
    if (force || this.#isLost || damaged || process.isTorn()) await this.#anew({ damaged }, signal);
    const before = ledger.snapshot();
    const hadGone = ledger.facts().gone.length > 0;
    await this.#updateOnce(signal);
    if (hadGone) await process.cleanup(signal);
    if (isNew) await process.restart();
    const status = await this.#lookAfter(before.size, signal);
    this.#isLost = false;
    this.#isDamaged = false;
    const updateMs = Math.round(performance.now() - started);
    ledger.markSeen(before, { updatedAt: new Date().toISOString(), updateMs, empty: this.#emptyOf(status) });
    ledger.save();
  }

  /** What it holds now. Where qmd has read the folders and holds nothing of them, it is made anew first. */
  async #lookAfter(files: number, signal: AbortSignal): Promise<QmdIndexStatus | undefined> {
    const { folder, ledger, process } = this.#input;
    const first = await this.#lookSafely(signal);
    if (!this.isEmptied(first, ledger.files())) return first;
    await this.#anew({ damaged: false }, signal);
    await process.update({ files, signal });
    const second = await this.#lookSafely(signal);
    if (this.isEmptied(second, ledger.files()))
      throw new QmdFailure("qmd_error", `qmd has indexed none of ${files} notes`, {
        action: `see what \`QMD_CONFIG_DIR=${folder} INDEX_PATH=${path.join(folder, "index.sqlite")} qmd status\` says`,
      });
    return second;
  }

  async #anew(how: { damaged: boolean }, signal: AbortSignal): Promise<void> {
    const { folder, process, ledger } = this.#input;
    // Vectors take minutes to make: whether there are some is asked where it is not known.
    if (this.status === undefined && !how.damaged && hasIndex(folder)) await this.#lookSafely(signal);
    const keepVectors = this.status?.hasVectorIndex === true;
    await emptyIndex({ folder, process, ledger, collections: this.collections, keepVectors, signal, ...how });
  }

  /** One update, and another one where what was wrong could be put right. */
  async #updateOnce(signal: AbortSignal): Promise<void> {
    const { folder, ledger, process } = this.#input;
    const run = (): Promise<void> => process.update({ files: ledger.files().length, signal });
    try {
      await run();
    } catch (error) {
      if (!(error instanceof QmdFailure)) throw error;
      if (error.reason === "index_damaged") await this.#anew({ damaged: true }, signal);
      else if (error.reason === "unknown_collection" || error.reason === "config_broken")
        writeIndexYaml(folder, this.collections, true);
      else throw error;
      await run();
    }
    if (process.isTorn()) {
      await this.#anew({ damaged: false }, signal);
      await run();
    }
  }
}
