/** Whose conversations they are. */
export interface TranscriptPlace {
  stateDir: string;
  agentId: string;
}

/** The folders of transcripts by the name that results have for them. */
export type TranscriptLabel = "sessions" | "journal";
