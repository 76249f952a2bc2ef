import type { MemorySource } from "@memslot/core";
import type { ChunkIndex, FileTable, FileRecord, RevisionStep } from "../chunk-index.ts";

/** Files by source, and in there by path. */
export type StoredFiles = ReadonlyMap<MemorySource, ReadonlyMap<string, FileRecord>>;

/** What writes to a table of files. */
type TableWrites = Omit<FileTable, "listFiles">;

/** What the store holds of each file, listed again only when somebody else has changed it. */
export interface StoredListing {
  files(): Promise<StoredFiles>;
  /** True where what `files` gave last is still so, as far as the store can tell. */
  isCurrent(): Promise<boolean>;
  /** What the store called its state when it was that of the list last. */
  revision(): string | undefined;
  /** The next list is read from the store, whether or not that says that it has changed. */
  forget(): void;
  /** The same table: what is written by it joins the list, which then need not be read again. */
  follow(table: TableWrites): TableWrites;
}

/** The files of a source, to be changed. */
type FilesOf = (source: MemorySource) => Map<string, FileRecord>;

export function createStoredListing(store: Pick<ChunkIndex, "listFiles" | "revision">): StoredListing {
  let known: { revision: string; files: StoredFiles } | undefined;
  /** What has been written since, in order. */
  let written: ((filesOf: FilesOf) => void)[] = [];

  /** A step from any other state than the one that is known leads to what has to be read. */
  function wrote(step: RevisionStep | void, change: (filesOf: FilesOf) => void): void {
    if (step === undefined || known?.revision !== step.from) return;
    known.revision = step.to;
    written.push(change);
  }

  return {
    async files() {
      // Asked before the list, so that a change in between shows at the next time.
      const revision = await store.revision?.();
      if (revision === undefined) return bySource(await store.listFiles());
      if (known?.revision !== revision) {
        const files = bySource(await store.listFiles());
        [known, written] = [{ revision, files }, []];
      } else if (written.length > 0) {
        known.files = changed(known.files, written);
        written = [];
      }
      return known.files;
    },
    isCurrent: async () => known !== undefined && known.revision === (await store.revision?.()),
    revision: () => known?.revision,
    forget: () => void (known = undefined),
    follow: (table) => ({
      async replaceFiles(files) {
        const rows = files.map(({ chunks: _chunks, fromLine: _fromLine, ...file }): FileRecord => file);
        wrote(await table.replaceFiles(files), (filesOf) => {
          for (const file of rows) filesOf(file.source).set(file.path, file);
        });
      },
      async touchFiles(files) {
        wrote(await table.touchFiles(files), (filesOf) => {
          // Of a file that is not there nothing is recorded.
          for (const file of files) if (filesOf(file.source).has(file.path)) filesOf(file.source).set(file.path, file);
        });
      },
      async removeFiles(files) {
        wrote(await table.removeFiles(files), (filesOf) => {
          for (const { source, path } of files) filesOf(source).delete(path);
        });
      },
    }),
  };
}

/** The files of a build that nobody else writes to. */
export function listingOf(table: Pick<FileTable, "listFiles">): StoredListing {
  return {
    files: async () => bySource(await table.listFiles()),
    isCurrent: async () => true,
    revision: () => undefined,
    forget: () => undefined,
    follow: (written) => written,
  };
}

/** Another list: whoever has the one before goes on with it. */
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

function bySource(files: readonly FileRecord[]): StoredFiles {
  const sources = new Map<MemorySource, Map<string, FileRecord>>();
  for (const file of files) {
    let own = sources.get(file.source);
    if (!own) sources.set(file.source, (own = new Map()));
    own.set(file.path, file);
  }
  return sources;
}
