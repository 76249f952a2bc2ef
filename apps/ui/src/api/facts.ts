/** `GET /api/facts`: what stands at the top of each view. */
export interface Facts {
  agentId: string;
  workspaceDir: string;
  version: string;
  readOnly: boolean;
  /** The zone that days of notes are in: `Europe/Berlin`. */
  timeZone: string;
  /** Today there: `2026-03-05`. */
  today: string;
}

/** What every route answers with a status of 400 and above. */
export interface Failure {
  error: {
    /** A code of `MemoryError`, or `UNAUTHORIZED`, `FORBIDDEN`, `NOT_FOUND`, `CONFLICT`, `INTERNAL`. */
    code: string;
    /** What happened and the next step. */
    message: string;
  };
}
