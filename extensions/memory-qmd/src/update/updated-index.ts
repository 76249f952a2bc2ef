import path from "node:path";
import { type Collection, collectionsWith, everyNote } from "./collections.ts";
import { emptyIndex } from "./index-state.ts";
import { writeIndexYaml } from "./index-yaml.ts";
import { QmdFailure, type QmdIndexStatus, type QmdProcess } from "../qmd-contract.ts";
import type { QmdFile, QmdRecord } from "./qmd-record.ts";
import type { SessionExport } from "./session-export.ts";
import { hasIndex } from "../state-folder.ts";

export interface IndexInput {
  folder: string;
  workspaceDir: string;
  record: QmdRecord;
  sessions: SessionExport;
  process: QmdProcess;
  collections: () => Collection[];
}

/** The index of qmd beside the files: what it does not have yet, and one update of it. */
export class UpdatedIndex {
  readonly #input: IndexInput;
  /** What it held when it was asked last. */
  status: QmdIndexStatus | undefined;
  collections: readonly Collection[];
  /** What was not seen of these files when they were looked through last. */
  #known: { of: readonly QmdFile[]; collections: readonly Collection[]; unseen: readonly QmdFile[] } | undefined;
  #isLost = false;
  #isDamaged = false;

  constructor(input: IndexInput) {
    this.#input = input;
    this.collections = input.collections();
  }

  /** The files that it does not have as they are. */
  unseen(): readonly QmdFile[] {
    const { files } = this.#input.record;
    if (this.#known?.of !== files || this.#known.collections !== this.collections) {
      const unseen = files.filter(
        (file) => file.seen !== file.hash || (file.source === "memory" && this.#isPassedOver(file.path)),
      );
      this.#known = { of: files, collections: this.collections, unseen };
    }
    return this.#known.unseen;
  }

  #collectionsWith(shown: string): readonly Collection[] {
    return collectionsWith(this.collections, path.resolve(this.#input.workspaceDir, shown));
  }

  /** True for a note that qmd does not index, whatever it is told, or where it has found nothing in all of a folder. */
  #isPassedOver(shown: string): boolean {
    const { empty } = this.#input.record.state;
    return this.#collectionsWith(shown).every(({ name }) => empty.includes(name));
  }

  /** Collections that are to be read and that qmd does not tell of: it tells of none without documents. */
  #emptyOf(status: QmdIndexStatus | undefined): string[] {
    if (status === undefined) return [];
    const holding = new Set(status.collections.filter(({ documents }) => documents > 0).map(({ name }) => name));
    return this.collections.flatMap(({ name }) => (holding.has(name) ? [] : [name]));
  }

  /** Whether a folder is empty to qmd that these notes were read from: what a pattern fits may be read otherwise. */
  isEmptied(status: QmdIndexStatus | undefined, files: readonly QmdFile[]): boolean {
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
  async lost(isDamaged: boolean): Promise<void> {
    this.#isLost = true;
    this.#isDamaged ||= isDamaged;
    await this.#input.record.forgetSeen();
  }

  renewCollections({ write }: { write: boolean }): void {
    this.collections = this.#input.collections();
    if (write) writeIndexYaml(this.#input.folder, this.collections, true);
  }

  /** Whether an update would change anything, as far as is known. */
  #isBehind(): boolean {
    const { folder, record, process } = this.#input;
    if (this.#isLost || process.isTorn() || !hasIndex(folder) || record.gone().length > 0) return true;
    return record.files.some((file) => file.seen !== file.hash);
  }

  /** Does nothing where nothing has changed. `force`: it is made anew from nothing. */
  async update(force: boolean, signal: AbortSignal): Promise<void> {
    const { folder, record, process, sessions } = this.#input;
    await record.refresh();
    await sessions.update(record.files);
    this.collections = this.#input.collections();
    const isNew = writeIndexYaml(folder, this.collections, false);
    if (!force && !isNew && !this.#isBehind()) return;
    const started = performance.now();
    const damaged = this.#isDamaged;
    if (force || this.#isLost || damaged || process.isTorn()) await this.#anew({ damaged }, signal);
    const before = record.files;
    const hadGone = record.gone().length > 0;
    await this.#updateOnce(signal);
    if (hadGone) await process.cleanup(signal);
    if (isNew) await process.restart();
    const status = await this.#lookAfter(signal);
    this.#isLost = false;
    this.#isDamaged = false;
    const updateMs = Math.round(performance.now() - started);
    await record.markSeen(before, { updatedAt: new Date().toISOString(), updateMs, empty: this.#emptyOf(status) });
  }

  /** What it holds now. Where qmd has read the folders and holds nothing of them, it is made anew first. */
  async #lookAfter(signal: AbortSignal): Promise<QmdIndexStatus | undefined> {
    const { folder, record, process } = this.#input;
    const { files } = record;
    const first = await this.#lookSafely(signal);
    if (!this.isEmptied(first, files)) return first;
    await this.#anew({ damaged: false }, signal);
    await process.update({ files: files.length, signal });
    const second = await this.#lookSafely(signal);
    if (this.isEmptied(second, files))
      throw new QmdFailure("qmd_error", `qmd has indexed none of ${files.length} notes`, {
        action: `see what \`QMD_CONFIG_DIR=${folder} INDEX_PATH=${path.join(folder, "index.sqlite")} qmd status\` says`,
      });
    return second;
  }

  async #anew(how: { damaged: boolean }, signal: AbortSignal): Promise<void> {
    const { folder, process, record } = this.#input;
    // Vectors take minutes to make: whether there are some is asked where it is not known.
    if (this.status === undefined && !how.damaged && hasIndex(folder)) await this.#lookSafely(signal);
    const keepVectors = this.status?.hasVectorIndex === true;
    await emptyIndex({ folder, process, record, collections: this.collections, keepVectors, signal, ...how });
  }

  /** One update, and another one where what was wrong could be put right. */
  async #updateOnce(signal: AbortSignal): Promise<void> {
    const { folder, record, process } = this.#input;
    const run = (): Promise<void> => process.update({ files: record.files.length, signal });
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
