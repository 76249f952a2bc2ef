import type { MemoryErrorCode } from "@memslot/core";

/**
 * A failure inside the worker, on its way to become a `MemoryError` on the other side. The worker loads nothing of
 * `@memslot/core` but types: that would take as long as the rest of opening an index.
 */
export class StoreFailure extends Error {
  readonly code: MemoryErrorCode;

  constructor(code: MemoryErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreFailure";
    this.code = code;
  }
}

/** The message of anything that was thrown, on one line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/gu, " ").trim();
}
