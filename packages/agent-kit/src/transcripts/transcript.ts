/** Whose conversations they are. */
export interface TranscriptPlace {
  stateDir: string;
  agentId: string;
}

/** The folders of transcripts by the name that results have for them. */
export type TranscriptLabel = "sessions" | "journal";

/** A text as it is shown to a person. */
export interface ShownText {
  text: string;
  /** Characters that it has in all, where not all of them are here. */
  characters?: number | undefined;
}
