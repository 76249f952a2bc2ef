/** `GET /api/facts`: the header of each view. */
export interface Facts {
  agentId: string;
  workspaceDir: string;
  version: string;
  readOnly: boolean;
  /** The user's time zone: `Europe/Berlin`. */
  timeZone: string;
  today: string;
}

/** The body of every answer with a status of 400 and above. */
export interface Failure {
  error: {
    /** A code of `MemoryError`, or `UNAUTHORIZED`, `FORBIDDEN`, `NOT_FOUND`, `CONFLICT`, `INTERNAL`. */
    code: string;
    /** What happened and the next step. */
    message: string;
  };
}
