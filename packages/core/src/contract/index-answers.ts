import type { EmbeddingPrice } from "./embedding.ts";
import type { UnsearchedFiles } from "./report.ts";
import type { ExcludedNotes, LastSync, LeftOut, MemorySource, NoteLines } from "./status.ts";

/** What making the index up to date would cost. Nothing is changed and nothing is sent to find out. */
export interface SyncEstimate {
  /** Memory files, and how many of them would be reindexed. */
  files: number;
  changedFiles: number;
  chunks: number;
  /** Texts with a stored vector; a repeated text counts once. */
  cachedTexts: number;
  /** Texts that would be sent. */
  pendingTexts: number;
  /** Additional short texts that would be sent to measure semantic weight. */
  measuringTexts?: number | undefined;
  /** Tokens of both, estimated. */
  tokens: number;
  /** Requests that they would be packed into. */
  requests: number;
  provider: string;
  model?: string | undefined;
  reason?: string | undefined;
  price?: (EmbeddingPrice & { usd: number }) | undefined;
}

/** What is in the files, and is not found. */
export interface MemorySurvey {
  excluded: ExcludedNotes;
  /** Number of notes, indexed or not. */
  notes: number;
  unsearched: UnsearchedFiles;
}

/** One thing that was examined in an index. */
export interface IndexFinding {
  name: string;
  ok: boolean;
  /** What was counted and compared, with the figures. */
  message: string;
  /** The repair, if one was requested. */
  fixed?: string | undefined;
}

/** What a check of the whole index has shown. */
export interface IndexCheck {
  ok: boolean;
  findings: readonly IndexFinding[];
  /** Bytes of each table, the largest first, where the backend can tell. */
  tables?: readonly { name: string; bytes: number }[] | undefined;
}

/** Result of compaction. */
export interface CompactReport {
  beforeBytes: number;
  afterBytes: number;
}

/** One sync that was asked for, has changed something, or has failed. */
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

export interface SpaceDetails {
  provider: string;
  model: string;
  dimensions: number;
  vectors: number;
  /** Whether queries are compared with it now. */
  inUse: boolean;
}

export interface IndexDetails {
  /** The latest syncs of all processes, newest first; at most 100. */
  syncs: readonly SyncRecord[];
  /** Spaces with vectors, most recently written first. */
  spaces: readonly SpaceDetails[];
  /** What the provider in use costs. Absent if that is not known. */
  price?: EmbeddingPrice | undefined;
}

export interface QuarantineRelease {
  /** Chunks that the provider had refused. The next sync sends them once more. */
  chunks: number;
}

export interface MemoryFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  source: MemorySource;
  bytes: number;
  /** Last known modification time (ISO 8601). */
  modified?: string | undefined;
  passages?: number | undefined;
  /** Its last line that can be found, of a note. */
  lines?: number | undefined;
  /** What its front matter or its first heading calls it. */
  title?: string | undefined;
  aliases?: readonly string[] | undefined;
  /** Without `#`. */
  tags?: readonly string[] | undefined;
  days?: readonly [from: string, to: string] | undefined;
}

/** A file that is not searched: outside the `layout`, `excluded`, `failed`, or `pending` until the next sync. */
export interface LeftOutFile {
  path: string;
  /** An excluded folder is not entered: it counts as one. */
  kind: "file" | "folder";
  reason: LeftOut["reason"] | "layout" | "excluded" | "failed" | "pending";
  /** The problem and the next step, for a failed file. */
  detail?: string | undefined;
}

export interface MemoryFileList {
  /** In the order of their paths, no more than were asked for. */
  files: readonly MemoryFile[];
  /** How many there are. */
  fileCount: number;
  /** Those that were to be taken first, then Markdown, then the rest; no more than were asked for. */
  leftOut: readonly LeftOutFile[];
  leftOutCount: number;
  /** True: the list of excluded files is incomplete. */
  more: boolean;
}

/** Indexed lines of a note; passages may overlap. Lines are 1-based and inclusive. */
export interface MemoryPassage {
  startLine: number;
  endLine: number;
}

export interface NoteLink {
  line: number;
  kind: "wiki" | "markdown";
  /** As it is written, without the text that is shown: `Heat pump#Noise`. */
  target: string;
  /** The note that it leads to; absent if there is none. */
  path?: string | undefined;
  /** The heading in it. */
  heading?: string | undefined;
}

/** A link to a note. */
export interface NoteBacklink {
  path: string;
  line: number;
  /** The line, shortened. */
  text: string;
}

export interface MemoryFileFacts {
  /** As the index writes it. */
  path: string;
  /** In their order, at most 2,000. */
  passages: readonly MemoryPassage[];
  passageCount: number;
  /** Links to notes, also where there is no such note; at most 500. Links to other places are none. */
  links: readonly NoteLink[];
  linkCount: number;
  /** From other notes, at most 500. */
  backlinks: readonly NoteBacklink[];
  backlinkCount: number;
}

/** The passages as points, near each other if similar. One list per property, for up to 20,000 points. */
export interface MemoryMap {
  /** What the places are made of: vectors of the space in use, or words if there are none. */
  by: "meaning" | "words";
  notes: readonly MapNote[];
  /** Of each point the index of its note, its lines (1-based and inclusive), and its place, both -1 to 1. */
  note: readonly number[];
  startLine: readonly number[];
  endLine: readonly number[];
  x: readonly number[];
  y: readonly number[];
  /** How many passages there are. Of more than 50,000 some are drawn; one without a vector is not. */
  passages: number;
  /** Points in all dimensions (more than two) as bytes -127 to 127, the query last; Base64. */
  fine?: string | undefined;
  /** Where the query would be. */
  query?: readonly [x: number, y: number] | undefined;
}

export interface MapNote {
  path: string;
  source: MemorySource;
  /** The day that it is of, by its name, or else when it was saved: `2026-03-05`. */
  day: string;
}

/** A passage that is near another one. */
export interface NearPassage extends NoteLines {
  source: MemorySource;
  /** The first of its words. */
  text: string;
}
