import type { ManagerReadParams, ManagerSyncParams, MemoryReadResult, MemorySource, SyncFailure } from "@memslot/core";
import type { IndexedFile, FileRecord } from "./index-records.ts";
import type { PathScope } from "./chunk-store.ts";
import type { FoundLines } from "./scan/verify-lines.ts";
import type { FolderLook, ScannedFile, ScanResult } from "./scan/scan.ts";

export type StoredFiles = ReadonlyMap<MemorySource, ReadonlyMap<string, FileRecord>>;

export type SourceScope = (source: MemorySource) => PathScope | undefined;

export interface SearchedSource {
  source: MemorySource;
  scope: PathScope | undefined;
}

export function filesBySource(files: readonly FileRecord[]): StoredFiles {
  const sources = new Map<MemorySource, Map<string, FileRecord>>();
  for (const file of files) {
    let own = sources.get(file.source);
    if (!own) sources.set(file.source, (own = new Map()));
    own.set(file.path, file);
  }
  return sources;
}

/** Result of reading a file; only its record if the store has this content. */
export interface FileReading {
  record: FileRecord;
  changed: IndexedFile | undefined;
  /** True: there is more to read behind `record.cursor`, in a further reading. */
  more?: boolean | undefined;
}

/** One kind of memory: where its files are, when they are due, and how they become chunks. */
export interface IndexedSource {
  readonly source: MemorySource;
  /** Names how files are read and cut. Files that were done otherwise are done again. */
  readonly recipe: string;
  /**
   * `indexed`: the whole index before this sync. `look`: how to list folders; default: ask the file system. `isAsked`:
   * false for a search; sources without urgent changes may then use their last scan.
   */
  scan(
    signal: AbortSignal,
    indexed: () => Promise<StoredFiles>,
    look?: FolderLook,
    isAsked?: boolean,
  ): Promise<ScanResult>;
  /** Whether a search may skip the scan although nothing watches the files. Absent: the files are watched. */
  isSettled?(): boolean;
  /**
   * Whether a file that looks changed is to be read in this sync. What is not due stays as it is in the index. Absent:
   * every changed file is.
   */
  isDue?(
    file: ScannedFile,
    stored: FileRecord | undefined,
    params: Pick<ManagerSyncParams, "reason" | "sessions">,
  ): boolean | Promise<boolean>;
  holdsContent?(file: ScannedFile, stored: FileRecord, signal: AbortSignal): Promise<boolean>;
  /** Parts of an indexed file that were skipped, in a few words. */
  issueOf?(stored: FileRecord): string | undefined;
  /** Whether these lines are in the file now, as they would be indexed. Absent: results are compared with the files. */
  holds?(path: string, found: readonly FoundLines[], signal: AbortSignal): Promise<boolean[]>;
  /** Reads what is new. Undefined if the file is gone. Throws what the file system throws, for this file alone. */
  read(file: ScannedFile, stored: FileRecord | undefined, signal: AbortSignal): Promise<FileReading | undefined>;
  /**
   * A window of one of its files. Throws `PATH_NOT_ALLOWED` with a shared audience and outside of the file's project.
   */
  readFile?(params: ManagerReadParams): Promise<MemoryReadResult>;
  /** What of it a session in this project may see; undefined: all. Absent: its files belong to no project. */
  scopeIn?(stored: ReadonlyMap<string, FileRecord> | undefined): PathScope | undefined;
}

/** What a look at one kind of memory has shown. */
export interface SourceOutcome {
  eligible: number;
  /** Parts that were skipped or failed, with reasons. */
  issues: string[];
  /** Files with changes that are not indexed yet: transcripts with little growth. */
  waiting: number;
  /** Notes and folders that are there and are not searched, each with the reason. */
  excluded: readonly SyncFailure[];
  /** Those that `memorySearch.exclude` names. */
  accepted: readonly string[];
  /** Where that is: paths, and folders that end with `/`. What the index holds of them may no longer be so. */
  unreadPlaces: readonly string[];
}
