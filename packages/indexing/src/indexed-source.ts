import type { ManagerSyncParams, MemorySource } from "@memslot/core";
import type { FileChunks, StoredFile } from "./chunk-store.ts";
import type { ScannedFile, ScanResult } from "./scan.ts";

/** What reading a file has given: its record alone where the store holds this very content. */
export interface FileReading {
  record: StoredFile;
  changed: FileChunks | undefined;
  /** True: there is more to read behind `record.cursor`, in a further reading. */
  more?: boolean | undefined;
}

/** One kind of memory: where its files are, when they are due, and how they become chunks. */
export interface IndexedSource {
  readonly source: MemorySource;
  /** Names how files are read and cut. Files that were done otherwise are done again. */
  readonly recipe: string;
  scan(signal: AbortSignal): Promise<ScanResult>;
  /**
   * Whether a file that looks changed is to be read in this sync. What is not due stays as it is in the index. Absent:
   * every changed file is.
   */
  isDue?(
    file: ScannedFile,
    stored: StoredFile | undefined,
    params: Pick<ManagerSyncParams, "reason" | "sessions">,
  ): boolean | Promise<boolean>;
  /** Why nothing of a file is indexed, as its record says. Absent: whatever is taken has words to find. */
  skippedBecause?(stored: StoredFile): string | undefined;
  /** What of an indexed file was passed over, in a few words; undefined where nothing was. */
  issueOf?(stored: StoredFile): string | undefined;
  /** Reads what is new. Undefined where the file is gone. Throws what the file system throws, for this file alone. */
  read(file: ScannedFile, stored: StoredFile | undefined, signal: AbortSignal): Promise<FileReading | undefined>;
}
