import {
  type ManagerSyncParams,
  type MemoryRootStatus,
  type MemorySearchSettings,
  type MemorySource,
  messageOf,
  type SyncReport,
} from "@memslot/core";
import type { ChunkStore, FileChunks, FileKey, StoredFile } from "./chunk-store.ts";
import { readChunks, recipeOf } from "./read-chunks.ts";
import { scanMemory, type ScannedFile } from "./scan.ts";

const source: MemorySource = "memory";
const batchFiles = 64;
const batchCharacters = 400_000;
const readsAtOnce = 8;

export interface SyncOutcome {
  report: SyncReport;
  roots: MemoryRootStatus[];
}

/**
 * Brings the words of the store up to date with the files: scan, compare, cut, write. Keyword search sees each file as
 * soon as it is in; vectors are made afterwards from what the store holds. One bad file is reported and passed over.
 */
export async function syncFiles(input: {
  store: ChunkStore;
  workspaceDir: string;
  settings: MemorySearchSettings;
  params: ManagerSyncParams;
}): Promise<SyncOutcome> {
  const { store, settings, params } = input;
  const { signal } = params;
  const scan = await scanMemory({
    workspaceDir: input.workspaceDir,
    extraPaths: settings.extraPaths,
    signal,
  });
  const report: SyncReport = {
    added: 0,
    changed: 0,
    removed: 0,
    unchanged: 0,
    failed: scan.failed,
  };

  const stored = new Map(
    (await store.listFiles()).filter((file) => file.source === source).map((file) => [file.path, file]),
  );
  const recipe = recipeOf(settings.chunking);
  const work = scan.files.filter((file) => {
    if (!params.force && isUnchanged(file, stored.get(file.path), recipe)) {
      report.unchanged++;
      return false;
    }
    return true;
  });

  const writer = batchWriter(store);
  let completed = 0;
  const read = async (file: ScannedFile): Promise<void> => {
    const before = stored.get(file.path);
    try {
      const result = await readChunks(file, source, params.force ? undefined : before, settings.chunking, signal);
      if (!result) {
        // Gone since the scan; what the store holds of it goes too.
        scan.files.splice(scan.files.indexOf(file), 1);
      } else if (result.changed) {
        await writer.replace(result.changed);
        if (before) report.changed++;
        else report.added++;
      } else {
        await writer.touch(result.record);
        report.unchanged++;
      }
    } catch (error) {
      if (signal.aborted || isStoreFailure(error)) throw error;
      report.failed.push({ path: file.path, reason: readFailure(error) });
    }
    completed++;
    params.progress({ completed, total: work.length, label: file.path });
  };
  if (work.length > 0) params.progress({ completed: 0, total: work.length });
  try {
    await forEachAtOnce(work, readsAtOnce, read);
    await writer.flush();
  } catch (error) {
    await writer.settled();
    throw error;
  }

  const present = new Set(scan.files.map((file) => file.path));
  const gone: FileKey[] = [];
  for (const file of stored.values()) {
    // What could not be looked at this time is not gone.
    const unknown = scan.unknown.some(
      (prefix) => file.path === prefix || (prefix.endsWith("/") && file.path.startsWith(prefix)),
    );
    if (!present.has(file.path) && !unknown) gone.push({ path: file.path, source });
  }
  signal.throwIfAborted();
  if (gone.length > 0) await store.removeFiles(gone);
  report.removed = gone.length;

  return { report, roots: scan.roots };
}

function isUnchanged(file: ScannedFile, stored: StoredFile | undefined, recipe: string): boolean {
  return (
    stored !== undefined && stored.mtimeMs === file.mtimeMs && stored.size === file.size && stored.recipe === recipe
  );
}

/** Gathers files into batches, each written whole; at most one batch is on its way while the next is filled. */
function batchWriter(store: ChunkStore): {
  replace(file: FileChunks): Promise<void>;
  touch(file: StoredFile): Promise<void>;
  flush(): Promise<void>;
  /** Waits for the batch that is on its way, whatever comes of it: nobody may close the store under it. */
  settled(): Promise<void>;
} {
  let files: FileChunks[] = [];
  let touched: StoredFile[] = [];
  let characters = 0;
  let running: Promise<void> = Promise.resolve();

  async function send(): Promise<void> {
    if (files.length === 0 && touched.length === 0) return;
    const [replacing, touching] = [files, touched];
    [files, touched, characters] = [[], [], 0];
    const before = running;
    running = before.then(async () => {
      try {
        if (replacing.length > 0) await store.replaceFiles(replacing);
        if (touching.length > 0) await store.touchFiles(touching);
      } catch (error) {
        throw new StoreFailure(error);
      }
    });
    // The next send or flush awaits it; until then a failure must not count as unhandled.
    running.catch(() => {});
    await before;
  }

  return {
    async replace(file) {
      files.push(file);
      characters += file.size;
      if (files.length >= batchFiles || characters >= batchCharacters) await send();
    },
    async touch(file) {
      touched.push(file);
      if (touched.length >= batchFiles) await send();
    },
    async flush() {
      try {
        await send();
        await running;
      } catch (error) {
        throw error instanceof StoreFailure ? error.cause : error;
      }
    },
    settled: async () => await running.catch(() => {}),
  };
}

/** Tells a store that failed, which ends the sync, from a file that could not be read, which does not. */
class StoreFailure extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

function isStoreFailure(error: unknown): boolean {
  return error instanceof StoreFailure;
}

async function forEachAtOnce<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  let failed = false;
  const workers = Array.from({ length: Math.min(atOnce, items.length) }, async () => {
    for (const item of queue) {
      // One failed: the others end with the item they have.
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  });
  try {
    await Promise.all(workers);
  } catch (error) {
    await Promise.allSettled(workers);
    throw error instanceof StoreFailure ? error.cause : error;
  }
}

function readFailure(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EACCES" || code === "EPERM") return "permission denied: make the file readable for this user";
  if (code === "ELOOP") return "is a symbolic link, which is not followed";
  return messageOf(error);
}
