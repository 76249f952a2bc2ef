import type { EmbeddingPrice } from "./embedding.ts";
import type { UnsearchedFiles } from "./report.ts";
import type { ExcludedNotes, LastSync, LeftOut, MemorySource, NoteLines } from "./status.ts";

/** What making the index up to date would cost. Nothing is changed and nothing is sent to find out. */
export interface SyncEstimate {
  /** Memory files, and how many of them would be indexed again. */
  files: number;
  changedFiles: number;
  chunks: number;
  /** Texts whose vector is there already; a text that stands twice counts once. */
  cachedTexts: number;
  /** Texts that would be sent. */
  pendingTexts: number;
  /** Short texts that would be sent besides, to measure what meaning is worth beside words. */
  measuringTexts?: number | undefined;
  /** Tokens of both, estimated. */
  tokens: number;
  /** Requests that they would be packed into. */
  requests: number;
  provider: string;
  model?: string | undefined;
  /** Why nothing would be sent: keyword search only. */
  reason?: string | undefined;
  price?: (EmbeddingPrice & { usd: number }) | undefined;
}

/** What is in the files, and is not found. */
export interface MemorySurvey {
  excluded: ExcludedNotes;
  /** How many notes there are, indexed or not. */
  notes: number;
  unsearched: UnsearchedFiles;
}

/** One thing that was examined in an index. */
export interface IndexFinding {
  /** `files`, `words`, `vectors`, `sample`, `space`, … */
  name: string;
  ok: boolean;
  /** What was counted and compared, with the figures. */
  message: string;
  /** What was done about it, where mending was asked for. */
  fixed?: string | undefined;
}

/** What a check of the whole index has shown. */
export interface IndexCheck {
  ok: boolean;
  findings: readonly IndexFinding[];
  /** Bytes of each table, the largest first, where the backend can tell. */
  tables?: readonly { name: string; bytes: number }[] | undefined;
}

/** What giving space back has brought. */
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

/** Vectors that may be compared with each other, and how many there are. */
export interface SpaceDetails {
  provider: string;
  model: string;
  dimensions: number;
  vectors: number;
  /** Whether questions are compared with it now. */
  inUse: boolean;
}

/** Details of an index on request: it is read for the answer, so that it is no part of the status. */
export interface IndexDetails {
  /** The last of them, over all processes and runs, the newest first; at most 100. */
  syncs: readonly SyncRecord[];
  /** Those that have vectors, the one that was written to last first. */
  spaces: readonly SpaceDetails[];
  /** What the provider in use costs. Absent if that is not known. */
  price?: EmbeddingPrice | undefined;
}

/** What is tried again from now on. */
export interface QuarantineRelease {
  /** Chunks that the provider had refused. The next sync sends them once more. */
  chunks: number;
}

/** A file of the memory, as the index has it. */
export interface MemoryFile {
  /** Relative to the workspace, with `/`. */
  path: string;
  source: MemorySource;
  bytes: number;
  /** When it was saved, as it was read last (ISO 8601). Absent if that is not known. */
  modified?: string | undefined;
  /** Passages that it was cut into, of a note. */
  passages?: number | undefined;
  /** Its last line that can be found, of a note. */
  lines?: number | undefined;
  /** What its front matter or its first heading calls it. */
  title?: string | undefined;
  aliases?: readonly string[] | undefined;
  /** Without `#`. */
  tags?: readonly string[] | undefined;
  /** The first and the last day that it is of, by its name or its front matter: `2026-03-05`. */
  days?: readonly [from: string, to: string] | undefined;
}

/**
 * What is in a folder of the memory or of the workspace and is not searched. `layout`: Markdown outside of what the
 * layout of the workspace takes. `excluded`: `memorySearch.exclude` names it. `failed`: it was to be taken and could
 * not be. `pending`: the next sync takes it.
 */
export interface LeftOutFile {
  path: string;
  /** An excluded folder is not entered: it counts as one. */
  kind: "file" | "folder";
  reason: LeftOut["reason"] | "layout" | "excluded" | "failed" | "pending";
  /** What is wrong and what to do about it, where it was to be taken. */
  detail?: string | undefined;
}

/** Which files are searched, and which are not. */
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

/** Lines of a note that are found together; passages may overlap. Lines are 1-based and inclusive. */
export interface MemoryPassage {
  startLine: number;
  endLine: number;
}

/** A link in a note: `[[Heat pump#Noise|the pump]]`, or `[the pump](../house/pump.md#noise)`. */
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

/** What the index knows of one note. */
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

/**
 * The passages of the memory as points: near each other where they are about the same, as far as two dimensions can
 * show it. A list for each thing, with an entry for each point, so that 20,000 of them are quickly handed on.
 */
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
  /**
   * Where more dimensions than two were asked for: the place of each point in all of them as bytes from -127 to 127,
   * one point behind the other, and behind them the query's where it has a place; in Base64. A finer picture can be
   * made of it.
   */
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
