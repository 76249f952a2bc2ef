import type { EmbeddingPrice } from "./embedding.ts";
import type { UnsearchedFiles } from "./search-report.ts";
import type { Sentence } from "./sentences.ts";
import type { ExcludedNotes, LastSync, LeftOut, MemorySource } from "./status.ts";

/** Estimated cost of a sync. */
export interface SyncEstimate {
  /** Memory files. */
  files: number;
  /** Files that would be reindexed. */
  changedFiles: number;
  /** Chunks of all files. */
  chunks: number;
  /** Texts with a stored vector; a repeated text counts once. */
  cachedTexts: number;
  /** Texts that would be sent. */
  pendingTexts: number;
  /** Additional short texts that would be sent to measure semantic weight. */
  measuringTexts?: number | undefined;
  /** Estimated tokens of pending and measuring texts. */
  tokens: number;
  /** Provider requests for these texts. */
  requests: number;
  /** Embedding provider; `none` for keyword search only. */
  provider: string;
  model?: string | undefined;
  /** Why there is no provider. */
  reason?: string | undefined;
  /** Price list and estimated price in US dollars; absent if unknown. */
  price?: (EmbeddingPrice & { usd: number }) | undefined;
}

/** Files that a search cannot find. */
export interface MemorySurvey {
  /** Notes that belong to the memory and are not indexed. */
  excluded: ExcludedNotes;
  /** Number of notes, indexed or not. */
  notes: number;
  /** Markdown files of the workspace that do not belong to the memory. */
  unsearched: UnsearchedFiles;
}

/** One check of an index. */
export interface IndexFinding {
  /** Name of the checked part. */
  name: string;
  ok: boolean;
  /** What was compared, with the figures. */
  message: string;
  /** The repair, if one was requested. */
  fixed?: string | undefined;
}

/** Result of a check of the whole index. */
export interface IndexCheck {
  /** True if no finding is left that is not ok. */
  ok: boolean;
  findings: readonly IndexFinding[];
  /** Bytes of each table, the largest first; absent if the backend does not report them. */
  tables?: readonly { name: string; bytes: number }[] | undefined;
}

/** Result of compaction: size of the index on disk. */
export interface CompactReport {
  beforeBytes: number;
  afterBytes: number;
}

/** A sync that was requested, changed something or failed. */
export interface SyncRecord extends Omit<LastSync, "report"> {
  /** Files. Absent if the sync has failed as a whole. */
  added?: number | undefined;
  changed?: number | undefined;
  removed?: number | undefined;
  unchanged?: number | undefined;
  failed?: number | undefined;
  /** Why it failed as a whole. */
  error?: string | undefined;
}

/** A vector space: the vectors of one provider, model and length. */
export interface SpaceDetails {
  provider: string;
  model: string;
  dimensions: number;
  vectors: number;
  /** Whether searches use it now. */
  inUse: boolean;
}

export interface IndexDetails {
  /** The latest syncs of all processes, newest first; at most 100. */
  syncs: readonly SyncRecord[];
  /** Spaces with vectors, most recently written first. */
  spaces: readonly SpaceDetails[];
  /** Price list of the provider in use; absent if unknown. */
  price?: EmbeddingPrice | undefined;
}

export interface QuarantineRelease {
  /** Number of released chunks. The next sync sends them again. */
  chunks: number;
}

/** An indexed file. */
export interface MemoryFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  source: MemorySource;
  bytes: number;
  /** Last known modification time (ISO 8601). */
  modified?: string | undefined;
  /** Number of indexed passages. */
  passages?: number | undefined;
  /** Last indexed line of a note, 1-based. */
  lines?: number | undefined;
  /** From its front matter or first heading. */
  title?: string | undefined;
  aliases?: readonly string[] | undefined;
  /** Without `#`. */
  tags?: readonly string[] | undefined;
  /** First and last day of its content: `YYYY-MM-DD`. */
  days?: readonly [from: string, to: string] | undefined;
}

/** A file that is not searched: outside the `layout`, `excluded`, `failed`, or `pending` until the next sync. */
export interface LeftOutFile {
  path: string;
  /** An excluded folder is not entered: it counts as one. */
  kind: "file" | "folder";
  reason: LeftOut["reason"] | "layout" | "excluded" | "failed" | "pending";
  /** Problem and next step of a failed file, and the sentence of both. */
  detail?: string | undefined;
  problem?: Sentence | undefined;
}

export interface MemoryFileList {
  /** Indexed files in the order of their paths, at most `limit`. */
  files: readonly MemoryFile[];
  /** Number of all indexed files. */
  fileCount: number;
  /** Excluded files, at most `limit`: notes that should be indexed first, then Markdown, then the rest. */
  leftOut: readonly LeftOutFile[];
  /** Number of all excluded files; at least this many if `more`. */
  leftOutCount: number;
  /** True: the scan for excluded files was cut short. */
  more: boolean;
}

/** Indexed lines of a note; passages may overlap. Lines are 1-based and inclusive. */
export interface MemoryPassage {
  startLine: number;
  endLine: number;
}

/** A link in a note. */
export interface NoteLink {
  /** 1-based. */
  line: number;
  kind: "wiki" | "markdown";
  /** As written, without the display text: `Heat pump#Noise`. */
  target: string;
  /** Path of the linked note; absent if there is none. */
  path?: string | undefined;
  /** The linked heading of that note. */
  heading?: string | undefined;
}

/** A link to a note from another note. */
export interface NoteBacklink {
  /** Path of the linking note. */
  path: string;
  /** 1-based. */
  line: number;
  /** The linking line, shortened. */
  text: string;
}

/** Structure of one note. The counts are totals, also if a list is cut. */
export interface MemoryFileFacts {
  /** As in the index. */
  path: string;
  /** In the order of their lines, at most 2,000. */
  passages: readonly MemoryPassage[];
  passageCount: number;
  /** Links to notes, also to missing ones, at most 500. Links to web pages are not listed. */
  links: readonly NoteLink[];
  linkCount: number;
  /** From other notes, at most 500. */
  backlinks: readonly NoteBacklink[];
  backlinkCount: number;
}

/** Passages as points, similar ones near each other. One list per property, with up to 20,000 points. */
export interface MemoryMap {
  /** Basis of the layout: vectors of the space in use, or words if there are none. */
  by: "meaning" | "words";
  notes: readonly MapNote[];
  /** For each point: index in `notes`. */
  note: readonly number[];
  /** For each point: first and last line, 1-based and inclusive. */
  startLine: readonly number[];
  endLine: readonly number[];
  /** For each point: coordinates, -1 to 1. */
  x: readonly number[];
  y: readonly number[];
  /** Number of all passages. Passages without a vector have no point; of more than 50,000 a sample has. */
  passages: number;
  /** With more than two dimensions: all coordinates as bytes (-127 to 127) in Base64. */
  fine?: string | undefined;
}

export interface MapNote {
  path: string;
  source: MemorySource;
  /** Day in its name, else of its last change: `2026-03-05`. */
  day: string;
}
