import type { MemoryErrorCode } from "@memslot/core";

/** A call that comes in pieces goes through all of a large file. */
const longStuckMs = 900_000;

type Ask = (name: string, args: readonly unknown[], options: { deadlineMs?: number }) => Promise<unknown>;

export interface Method {
  name: string;
  isLong: boolean;
}

export type Remote<Calls> = {
  [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result extends Pieces<infer Whole> ? Whole : Awaited<Result>>
    : never;
};

const LongCall: unknown = Object.getPrototypeOf(async function* () {}).constructor;

export function methodsOf(calls: object): Method[] {
  return Object.entries(calls).map(([name, call]) => ({ name, isLong: call.constructor === LongCall }));
}

export function remote<Calls>(ask: Ask, methods: readonly Method[]): Remote<Calls> {
  const calls = methods.map(({ name, isLong }) => {
    const limits = isLong ? { deadlineMs: longStuckMs } : {};
    return [name, async (...given: readonly unknown[]) => await ask(name, sent(given), limits)];
  });
  return Object.fromEntries(calls) as Remote<Calls>;
}

function sent(given: readonly unknown[]): unknown[] {
  const last = given.at(-1);
  const signal = typeof last === "object" && last !== null && "signal" in last ? last.signal : undefined;
  if (!(signal instanceof AbortSignal)) return given.map(withoutSpare);
  signal.throwIfAborted();
  return given.slice(0, -1).map(withoutSpare);
}

/** Copies a vector that is part of a larger buffer. */
function withoutSpare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSpare);
  if (typeof value !== "object" || value === null || !("vector" in value)) return value;
  return value.vector instanceof Float32Array ? { ...value, vector: value.vector.slice() } : value;
}

export type Pieces<Result> = AsyncGenerator<void, Result, void>;

export function isPieces(value: unknown): value is Pieces<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
}

/** A worker failure that becomes a `MemoryError`. The worker imports only types of core, to start fast. */
export class StoreFailure extends Error {
  readonly code: MemoryErrorCode;

  constructor(code: MemoryErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreFailure";
    this.code = code;
  }
}

export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/gu, " ").trim();
}
