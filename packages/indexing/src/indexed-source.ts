import type { ManagerReadParams, ManagerSyncParams, MemoryReadResult, MemorySource, SyncFailure } from "@memslot/core";
import type { IndexedFile, FileRecord } from "./index-records.ts";
import type { PathScope } from "./chunk-store.ts";
import type { FoundLines } from "./scan/verify-lines.ts";
import type { FolderLook, ScannedFile, ScanResult } from "./scan/scan.ts";

/** Files by source, and in there by path. */
export type StoredFiles = ReadonlyMap<MemorySource, ReadonlyMap<string, FileRecord>>;

/** What of a source a session may see. Undefined: all of it. A scope within nothing: none of it. */
export type SourceScope = (source: MemorySource) => PathScope | undefined;

/** A source that is searched by itself, so that none crowds another out of the candidates. */
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

/** What reading a file has given: its record alone where the store holds this very content. */
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
   * `indexed` is what the index holds, of every source, as it was before this sync. `look` is how the file system is asked
   * what folders hold; where it is absent, or is not used, it is asked each time. `isAsked`: false for a search, for which a
   * source whose changes are nobody's hurry may answer as it did a moment ago.
   */
  scan(
    signal: AbortSignal,
    indexed: () => Promise<StoredFiles>,
    look?: FolderLook,
    isAsked?: boolean,
  ): Promise<ScanResult>;
  /** Whether it need not be looked at for a search, though nobody watches its files. Absent: they are watched. */
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
  /**
   * Reads a file whose stamp cannot be relied on, and says whether it is the one that its record is about. Throws what
   * the file system throws. Absent: size and modification time have to do.
   */
  holdsContent?(file: ScannedFile, stored: FileRecord, signal: AbortSignal): Promise<boolean>;
  /** What of an indexed file was passed over, in a few words; undefined where nothing was. */
  issueOf?(stored: FileRecord): string | undefined;
  /**
   * For each of them, whether these lines stand in the file now, as they would be indexed. Absent: what is found is read
   * from the files themselves.
   */
  holds?(path: string, found: readonly FoundLines[], signal: AbortSignal): Promise<boolean[]>;
  /** Reads what is new. Undefined where the file is gone. Throws what the file system throws, for this file alone. */
  read(file: ScannedFile, stored: FileRecord | undefined, signal: AbortSignal): Promise<FileReading | undefined>;
  /** A window of one of its files. Throws `PATH_NOT_ALLOWED` with a shared audience and outside of the file's project. */
  readFile?(params: ManagerReadParams): Promise<MemoryReadResult>;
  /** What of it a session in this project may see; undefined: all. Absent: its files belong to no project. */
  scopeIn?(stored: ReadonlyMap<string, FileRecord> | undefined): PathScope | undefined;
}

/** What a look at one kind of memory has shown. */
export interface SourceOutcome {
  /** Files that are there. */
  eligible: number;
  /** What was passed over or failed, and why. */
  issues: string[];
  /** Files with news that are not taken yet: transcripts that have grown by little. */
  waiting: number;
  /** Notes and folders that are there and are not searched, each with the reason. */
  excluded: readonly SyncFailure[];
  /** Those that `memorySearch.exclude` names. */
  accepted: readonly string[];
  /** Where that is: paths, and folders that end with `/`. What the index holds of them may no longer be so. */
  unreadPlaces: readonly string[];
}
