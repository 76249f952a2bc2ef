import type { ManagerReadParams, ManagerSyncParams, MemoryReadResult, MemorySource, SyncFailure } from "@memslot/core";
import type { IndexedFile, FileRecord } from "./index-row-types.ts";
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

export interface FileReading {
  record: FileRecord;
  changed: IndexedFile | undefined;
  /** True: there is more to read behind `record.cursor`, in a further reading. */
  more?: boolean | undefined;
}

export interface IndexedSource {
  readonly source: MemorySource;
  /** Names how files are read and cut. Files that were done otherwise are done again. */
  readonly recipe: string;
  /** `indexed`: the index before this sync. `look`: lists folders. `isAsked`: false for a search. */
  scan(
    signal: AbortSignal,
    indexed: () => Promise<StoredFiles>,
    look?: FolderLook,
    isAsked?: boolean,
  ): Promise<ScanResult>;
  /** Whether a search may skip the scan although nothing watches the files. Absent: the files are watched. */
  isSettled?(): boolean;
  /** Whether a changed file is read in this sync. Absent: always. */
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
  /** A window of one file. Throws `PATH_NOT_ALLOWED` for a shared audience or outside the file's project. */
  readFile?(params: ManagerReadParams): Promise<MemoryReadResult>;
  /** What of it a session in this project may see; undefined: all. Absent: its files belong to no project. */
  scopeIn?(stored: ReadonlyMap<string, FileRecord> | undefined): PathScope | undefined;
}

export interface SourceOutcome {
  eligible: number;
  issues: string[];
  /** Files with changes that are not indexed yet: transcripts with little growth. */
  waiting: number;
  /** Notes and folders that are there and are not searched, each with the reason. */
  excluded: readonly SyncFailure[];
  /** Those that `memorySearch.exclude` names. */
  accepted: readonly string[];
  unreadPlaces: readonly string[];
}
