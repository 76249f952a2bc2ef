import type {
  MemoryProviderStatus,
  SyncProgress,
  IndexDetails,
  Memory,
  MemoryHealth,
  MemoryMap,
  MemoryFileList,
  MemorySearchResult,
  SearchReport,
  SentenceMeaning,
  MemoryFile,
} from "@memslot/core";
import type { LoggedChange, HandOvers, ListedTranscript, TranscriptList } from "@memslot/agent-kit";

/** One event of `GET /api/events`. The first after connecting is `status`. */
export type UiEvent =
  | { type: "status"; status: MemoryProviderStatus }
  /** The index has changed: reload the displayed data. */
  | { type: "changed" }
  /** A check of the files: without `progress` while it scans them; `done` is the last event. */
  | { type: "sync"; progress: SyncProgress | undefined; done: boolean };

/** `GET /api/facts`: the header of each view. */
export interface Facts {
  agentId: string;
  workspaceDir: string;
  readOnly: boolean;
  /** The user's time zone: `Europe/Berlin`. */
  timeZone: string;
  today: string;
}

/**
 * The body of every answer with a status of 400 and above. `code`: that of a `MemoryError` or of a `RouteError`, or
 * `INTERNAL`. `message`: what happened and the next step, which `meaning` shows in another language.
 */
export interface Failure {
  error: { code: string; message: string; meaning: SentenceMeaning };
}

/** `GET /api/health`: facts that events do not bring. */
export interface HealthAnswer {
  health: MemoryHealth;
  /** Tokens sent to embedding providers, newest day first. */
  usage: readonly UsageDay[];
  /** Last syncs, vectors and costs. Absent: unknown to the backend. */
  details?: IndexDetails | undefined;
}

export interface UsageDay {
  day: string;
  tokens: number;
  /** By the price of the current provider. Absent with other providers or an unknown price. */
  usd?: number | undefined;
}

export type HealthAction = "sync" | "force" | "check" | "fix" | "compact" | "release";

/** The reports of the calls that an action has made. */
export type ActionAnswer = {
  [Call in "sync" | "check" | "compact" | "releaseQuarantine"]?: Awaited<ReturnType<Memory[Call]>> | undefined;
};

/** `GET /api/notes`: the indexed notes, in as few bytes as possible, see `notesIn`. */
export interface NotesAnswer {
  /** Absent: unknown to the backend. */
  folders?: readonly NoteFolder[] | undefined;
  /** Number of indexed files, conversations included. */
  fileCount: number;
  tags: Readonly<Record<string, number>>;
}

/** Notes of a folder in the order of their names. */
export interface NoteFolder {
  /** With `/` at its end; empty: the workspace. */
  path: string;
  /** Joined by `/`. One without the ending of Markdown ends with `.md`. */
  names: string;
  /** One per line; empty: none. */
  titles: string;
  /** First day of each note, one per line, unless its name has it; empty: none. */
  days: string;
}

/** `GET /api/notes/excluded`: files that are not searched. */
export type ExcludedAnswer = Pick<MemoryFileList, "leftOut" | "leftOutCount" | "more">;

/** `GET /api/changes`, with `path` for one note and `before` for older ones: newest first. */
export interface ChangesAnswer {
  changes: readonly LoggedChange[];
  count: number;
  /** `before` of the next page. */
  next?: string | undefined;
}

/** `GET /api/home`. */
export interface HomeAnswer {
  today: string;
  /** The log of today, and of the day before. */
  log?: HomeNote | undefined;
  before?: HomeNote | undefined;
  /** `MEMORY.md` and `USER.md`. */
  pinned: readonly HomeNote[];
  /** Notes that were changed last. */
  recent: readonly MemoryFile[];
  /** Since the beginning of yesterday, newest first. */
  changes: readonly LoggedChange[];
  changeCount: number;
}

export interface HomeNote {
  path: string;
  text: string;
  /** The text is only the beginning of the note. */
  isCut: boolean;
}

/** A displayed line; `matches`: its words of the query, in lower case. */
export type ShownLine =
  | { kind: "line"; number?: number | undefined; text: string; matches: readonly string[] }
  | { kind: "gap" };

export type FoundResult = Omit<MemorySearchResult, "lines"> & { lines: readonly ShownLine[] };

/** `GET /api/search?q=…`, also `max`, `tokens`, `min`, and `typing` for an unfinished query (keywords only). */
export interface SearchAnswer {
  results: readonly FoundResult[];
  report: SearchReport;
}

export interface AgentAnswer {
  text: string;
  tokens: number;
}

/** `GET /api/sessions`. */
export interface SessionsAnswer {
  sessions: TranscriptList;
  /** Dropped messages in the journal. */
  journal: TranscriptList;
  /** Compacted messages and their state: waiting ones first, then the newest. */
  handOvers: Pick<HandOvers, "all" | "count" | "broken">;
}

/** A day with content. */
export interface TimeDay {
  day: string;
  /** Of its notes. */
  lines: number;
  /** By agents and this page. */
  changes: number;
  /** Conversations with the first or the last entry on that day. */
  sessions: number;
}

/** `tags`: of each of the notes. */
export type MapAnswer = MemoryMap & { tags: readonly (readonly string[])[] };

/** `GET /api/time`. */
export interface TimeAnswer {
  today: string;
  /** In order, without empty days. */
  days: readonly TimeDay[];
  /** Notes without a day. */
  undated: number;
  /** Notes and conversations beyond the limits, which are not in `days`. */
  left: number;
  /** False: the backend cannot list notes. */
  isListed: boolean;
}

/** `GET /api/time/days?from=2026-03-05` answers three of them. */
export interface DayAnswer {
  day: string;
  /** The beginnings of notes of this day. */
  logs: readonly HomeNote[];
  /** Further notes of the day, of a period with it, or changed on it; and their number. */
  notes: readonly MemoryFile[];
  noteCount: number;
  sessions: readonly ListedTranscript[];
  changes: readonly LoggedChange[];
}
