import type { MemorySource } from "@memslot/core";
import type { ChunkIndex, FileTable, FileRecord } from "../chunk-index.ts";

/** Files by source, and in there by path. */
export type StoredFiles = ReadonlyMap<MemorySource, ReadonlyMap<string, FileRecord>>;

/** What the store holds of each file, listed again only when it has changed. */
export interface StoredListing {
  files(): Promise<StoredFiles>;
  /** True where what `files` gave last is still so, as far as the store can tell. */
  isCurrent(): Promise<boolean>;
  /** What the store called its state when `files` was read from it last. */
  revision(): string | undefined;
  /** The next list is read from the store, whether or not that says that it has changed. */
  forget(): void;
}

export function createStoredListing(store: Pick<ChunkIndex, "listFiles" | "revision">): StoredListing {
  let known: { revision: string; files: StoredFiles } | undefined;
  return {
    async files() {
      // Asked before the list, so that a change in between shows at the next time.
      const revision = await store.revision?.();
      if (revision === undefined) return bySource(await store.listFiles());
      if (known?.revision !== revision) known = { revision, files: bySource(await store.listFiles()) };
      return known.files;
    },
    isCurrent: async () => known !== undefined && known.revision === (await store.revision?.()),
    revision: () => known?.revision,
    forget: () => void (known = undefined),
  };
}

/** The files of a build that nobody else writes to. */
export function listingOf(table: Pick<FileTable, "listFiles">): StoredListing {
  return {
    files: async () => bySource(await table.listFiles()),
    isCurrent: async () => true,
    revision: () => undefined,
    forget: () => undefined,
  };
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
