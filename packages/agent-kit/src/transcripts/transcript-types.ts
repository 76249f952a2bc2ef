export interface TranscriptPlace {
  stateDir: string;
  agentId: string;
}

/** The folders of transcripts by the name that results have for them. */
export type TranscriptLabel = "sessions" | "journal";

export interface ShownText {
  text: string;
  /** Characters of the whole text, if this is not all of it. */
  characters?: number | undefined;
}

export type TranscriptShown = {
  /** Its begin, in bytes. */
  start: number;
  /** ISO 8601; absent if the line has no time. */
  at?: string | undefined;
} & (
  | ({
      kind: "message";
      role: "user" | "assistant";
      toolCalls?: readonly { name: string; arguments: string }[] | undefined;
    } & ShownText)
  | ({ kind: "result"; tool: string } & ShownText)
  | ({ kind: "compaction" } & ShownText)
);

export interface TranscriptPage {
  entries: readonly TranscriptShown[];
  /** Begin and end of the part, in bytes: the next `before` and `from`. */
  start: number;
  end: number;
  bytes: number;
  /** Lines of the part without a message: settings, labels of other hosts. */
  others: number;
  broken: number;
}

export interface TranscriptPageOptions {
  /** The first requested byte; 0 if left out. In the middle of a line, the next line is the first. */
  from?: number | undefined;
  /** Instead of `from`: the lines right before this byte. */
  before?: number | undefined;
  /** 1 to 5,000 lines with content; 100 if left out. */
  limit?: number | undefined;
  /** Characters of one text, 1 to 256 Ki; 4,000 if left out. */
  textLimit?: number | undefined;
  signal?: AbortSignal | undefined;
}
