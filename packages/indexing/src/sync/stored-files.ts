import type { MemorySource } from "@memslot/core";
import { isAsked } from "../chunk-store.ts";
import { filesBySource, type SearchedSource, type StoredFiles } from "../indexed-source.ts";
import { timeOfPath } from "../text/times/note-days.ts";
import type { NoteIndex } from "../note-index.ts";
import type { FileTable } from "../ledger/ledger.ts";
import type { FileRecord, RevisionStep, IndexedFile } from "../index-row-types.ts";

export type TableWrites = Omit<FileTable, "listFiles">;

type FilesOf = (source: MemorySource) => Map<string, FileRecord>;

/** The files of the store, listed again only after changes by another process. */
export class StoredListing {
  readonly #store: Pick<FileTable, "listFiles"> & Pick<NoteIndex, "revision">;
  #known: { revision: string; files: StoredFiles } | undefined;
  #written: ((filesOf: FilesOf) => void)[] = [];

  constructor(store: Pick<FileTable, "listFiles"> & Pick<NoteIndex, "revision">) {
    this.#store = store;
  }

  async files(): Promise<StoredFiles> {
    // Asked before the list, so that a change in between is detected next time.
    const revision = await this.#store.revision();
    if (this.#known?.revision !== revision) {
      const files = filesBySource(await this.#store.listFiles());
      [this.#known, this.#written] = [{ revision, files }, []];
    } else if (this.#written.length > 0) {
      this.#known.files = changed(this.#known.files, this.#written);
      this.#written = [];
    }
    return this.#known.files;
  }

  /** True if the last result of `files` is current, as far as known. */
  async isCurrent(): Promise<boolean> {
    return this.#known !== undefined && this.#known.revision === (await this.#store.revision());
  }

  forget(): void {
    this.#known = undefined;
  }

  /** Wraps a table so that its writes update the list. */
  follow(table: TableWrites): TableWrites {
    return {
      replaceFiles: async (files) => {
        const rows = files.map(({ chunks: _chunks, fromLine: _fromLine, ...file }): FileRecord => file);
        this.#wrote(await table.replaceFiles(files), (filesOf) => {
          for (const file of rows) filesOf(file.source).set(file.path, file);
        });
      },
      touchFiles: async (files) => {
        this.#wrote(await table.touchFiles(files), (filesOf) => {
          for (const file of files) if (filesOf(file.source).has(file.path)) filesOf(file.source).set(file.path, file);
        });
      },
      removeFiles: async (files) => {
        this.#wrote(await table.removeFiles(files), (filesOf) => {
          for (const { source, path } of files) filesOf(source).delete(path);
        });
      },
    };
  }

  /** Any other step invalidates the list. */
  #wrote(step: RevisionStep | void, change: (filesOf: FilesOf) => void): void {
    if (step === undefined || this.#known?.revision !== step.from) return;
    this.#known.revision = step.to;
    this.#written.push(change);
  }
}

/** Copies on write for readers of the old list. */
function changed(files: StoredFiles, written: readonly ((filesOf: FilesOf) => void)[]): StoredFiles {
  const sources = new Map<MemorySource, Map<string, FileRecord>>();
  const filesOf: FilesOf = (source) => {
    const own = sources.get(source) ?? new Map(files.get(source));
    sources.set(source, own);
    return own;
  };
  for (const change of written) change(filesOf);
  return new Map([...files, ...sources]);
}

export interface BatchSize {
  files: number;
  characters: number;
}

const largeBatch: BatchSize = { files: 64, characters: 400_000 };
/** Smaller batches for a background build: searches run in between. */
export const smallBatch: BatchSize = { files: 8, characters: 64_000 };

/** Collects files into atomic batches; one batch is written while the next is filled. */
export class BatchWriter {
  /** Error of the store. It ends a sync; an unreadable file does not. */
  failure: { readonly error: unknown } | undefined;
  readonly #table: Pick<FileTable, "replaceFiles" | "touchFiles">;
  readonly #size: BatchSize;
  #files: IndexedFile[] = [];
  #touched: FileRecord[] = [];
  #characters = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(table: Pick<FileTable, "replaceFiles" | "touchFiles">, size: BatchSize = largeBatch) {
    this.#table = table;
    this.#size = size;
  }

  async replace(file: IndexedFile): Promise<void> {
    this.#files.push(file);
    for (const { text } of file.chunks) this.#characters += text.length;
    if (this.#files.length >= this.#size.files || this.#characters >= this.#size.characters) await this.#send();
  }

  async touch(file: FileRecord): Promise<void> {
    this.#touched.push(file);
    if (this.#touched.length >= this.#size.files) await this.#send();
  }

  async flush(): Promise<void> {
    await this.#send();
    await this.#running;
  }

  /** Waits for the running batch, since the store must not be closed during it. */
  async settled(): Promise<void> {
    await this.#running.catch(() => {});
  }

  async #send(): Promise<void> {
    const [replacing, touching, before] = [this.#files, this.#touched, this.#running];
    if (replacing.length === 0 && touching.length === 0) return;
    [this.#files, this.#touched, this.#characters] = [[], [], 0];
    this.#running = before.then(async () => {
      try {
        if (replacing.length > 0) await this.#table.replaceFiles(replacing);
        if (touching.length > 0) await this.#table.touchFiles(touching);
      } catch (error) {
        this.failure ??= { error };
        throw error;
      }
    });
    // Awaited by the next send or flush; not an unhandled rejection until then.
    this.#running.catch(() => {});
    await before;
  }
}

/** Returns the days with notes in these places, by file name. Includes visible notes only. */
export function createNoteDays(): (files: StoredFiles, places: readonly SearchedSource[]) => number[] {
  let known: { files: StoredFiles; dated: { path: string; source: string; day: number }[] } | undefined;
  return (files, places) => {
    if (known?.files !== files) known = { files, dated: datedIn(files) };
    const days = new Set<number>();
    for (const file of known.dated) {
      const isSeen = places.some(({ source, scope }) => isAsked(file, { sources: [source], scope }));
      if (isSeen) days.add(file.day);
    }
    return [...days].toSorted((a, b) => a - b);
  };
}

function datedIn(files: StoredFiles): { path: string; source: string; day: number }[] {
  return [...files].flatMap(([source, own]) =>
    [...own.keys()].flatMap((path) => {
      const day = timeOfPath(path)?.from;
      return day === undefined ? [] : [{ path, source, day }];
    }),
  );
}
