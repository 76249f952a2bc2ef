import { isAbort, MemoryError } from "@memslot/core";
import { QmdFailure, type QmdFailureReason } from "./qmd-contract.ts";

const actions: Partial<Readonly<Record<QmdFailureReason, string>>> = {
  not_installed: "install it with: npm install -g @tobilu/qmd",
  unsupported_version: "update it with: npm install -g @tobilu/qmd",
  not_built: "install it again with: npm install -g @tobilu/qmd",
  crash: "see that `qmd status` works in a terminal under Node 22 or later",
  no_space: "make room on the disk, or make the state folder writable",
  index_damaged: "it is made anew; `memslot memory index --force` does it at once",
  index_busy: "another process works on it; try again in a moment",
  models_unavailable: "run `qmd pull`, or set memory.qmd.searchMode to search",
};

/** A failure of qmd as the rest of memslot knows failures: it opens the spare. An abort stays what it is. */
export function unavailable(error: unknown): unknown {
  if (isAbort(error) || MemoryError.is(error) || !(error instanceof QmdFailure)) return error;
  if (error.reason === "closed") return new MemoryError("CLOSED", error.message, { cause: error });
  const action = error.action ?? actions[error.reason];
  const text = `qmd cannot be used (${error.reason}): ${error.message}`;
  return new MemoryError("UNAVAILABLE", action === undefined ? text : `${text}; ${action}`, { cause: error });
}
