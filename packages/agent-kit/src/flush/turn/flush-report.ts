/** What came of a flush. */
export interface FlushReport {
  /**
   * `done`: the model wrote notes. `nothing`: it found nothing to keep. `failed`: the messages are still in the journal
   * and are tried again. `skipped`: nothing was tried, see `reason`; the messages are in the journal. `digested`: a
   * plain digest stands in the notes; the messages are in the journal until a model takes them.
   */
  readonly state: "done" | "nothing" | "failed" | "skipped" | "digested";
  /** Why, for a person; always there for `failed` and `skipped`. */
  readonly reason?: string | undefined;
  /** Citations of what was written. */
  readonly entries: readonly string[];
  /** How many messages it was about. */
  readonly messages: number;
  /** How often a model was asked, in this run. */
  readonly tries: number;
  /** Local days of the messages, as YYYY-MM-DD. */
  readonly days: readonly string[];
}

/** What became of messages that a host is about to drop. */
export interface DropReceipt {
  /**
   * `journaled`: on disk, and handed over behind. `nothing`: each of them was handed over before, or is in the journal.
   * `saved`: the journal cannot be written, so they were handed over before this resolved. `off`: the flush is off.
   * `skipped`: nothing is kept of them, see `reason`.
   */
  readonly state: "journaled" | "nothing" | "saved" | "off" | "skipped";
  readonly reason?: string | undefined;
  /** How many messages this call has put into the journal or handed over. */
  readonly messages: number;
}
