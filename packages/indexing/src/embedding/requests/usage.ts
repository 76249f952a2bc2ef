import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { messageOf } from "@memslot/core";

import { type UsageEntry, localDay, parseUsage, removeOldUsage, usageFile } from "./usage-files.ts";

export { type UsageEntry, readUsage } from "./usage-files.ts";

/** Counts what one agent spends on vectors. Only `take` throws: a count must not cost anybody a search. */
export interface Usage {
  /** Writes down what a request has cost. */
  add(spent: Omit<UsageEntry, "day" | "agentId">): void;
  /**
   * Writes down what a request will cost, before it is sent, where all of the day stays within `limit` with it; what other
   * processes have written before counts first. Undefined where it does not. Throws where it cannot be written.
   */
  take(spent: Omit<UsageEntry, "day" | "agentId" | "requests">, limit: number): Taken | undefined;
  /** Why it cannot be told what was spent today; undefined where it can. */
  fault(): string | undefined;
  /** The tokens of this agent since midnight, local time, over all reasons and all processes. */
  tokensToday(): number;
}

const newline = 0x0a;

/** `notify` takes one line when the count cannot be written; it then holds for this process only. */
export function openUsage(options: {
  stateDir: string;
  agentId: string;
  now?: (() => Date) | undefined;
  notify?: ((line: string) => void) | undefined;
}): Usage {
  const { stateDir, agentId, now = () => new Date(), notify } = options;
  let counted: DayCount | undefined;

  /** A clock that is set back by a day goes on in the day that was begun: its budget is not given twice. */
  function today(): string {
    const time = now();
    const next = localDay(time, -1);
    return existsSync(usageFile(stateDir, next)) ? next : localDay(time);
  }

  function countOf(day: string): DayCount {
    if (counted?.day !== day) counted = new DayCount(day, usageFile(stateDir, day), agentId);
    return counted;
  }

  function write(day: string, entry: object): void {
    const time = now();
    const line = JSON.stringify({ at: time.toISOString(), agentId, ...entry });
    append(usageFile(stateDir, day), line, () => removeOldUsage(stateDir, time));
  }

  return {
    add(spent) {
      const day = today();
      const { reason, provider, model, requests, tokens } = spent;
      try {
        write(day, { reason, provider, model, requests, tokens });
      } catch (error) {
        countOf(day).unwritten += tokens;
        notify?.(`tokens are counted for this process only: ${messageOf(error)}`);
      }
    },
    take({ reason, provider, model, tokens }, limit) {
      const day = today();
      const id = randomUUID();
      const entry = { reason, provider, model };
      const settle = (cost: number, requests: number): void =>
        write(day, { ...entry, requests, tokens: cost - tokens, settles: id });
      write(day, { ...entry, requests: 0, tokens, id });
      const count = countOf(day);
      const sum = count.readOn(id) ?? Number.POSITIVE_INFINITY;
      if (sum + count.unwritten > limit) {
        settle(0, 0);
        return undefined;
      }
      return {
        settle(cost) {
          try {
            settle(cost, 1);
          } catch {
            // What was written before stays, which is nearly the same.
            countOf(day).unwritten += Math.max(0, cost - tokens);
          }
        },
      };
    },
    fault() {
      const day = today();
      const file = usageFile(stateDir, day);
      try {
        closeSync(openForAppending(file));
      } catch (error) {
        return `${file} cannot be written: ${messageOf(error)}`;
      }
      const count = countOf(day);
      count.readOn();
      return count.fault;
    },
    tokensToday() {
      const count = countOf(today());
      count.readOn();
      return count.tokens + count.unwritten;
    },
  };
}

/** What one agent has spent on a day, as far as the file of the day has been read. */
class DayCount {
  readonly day: string;
  readonly #file: string;
  readonly #agentId: string;
  /** Bytes that were read, up to the end of a line. */
  #offset = 0;
  /** Of this agent in what was read. */
  tokens = 0;
  /** What this process has spent and could not write. */
  unwritten = 0;
  /** Why what was read is not all. */
  fault: string | undefined;

  constructor(day: string, file: string, agentId: string) {
    this.day = day;
    this.#file = file;
    this.#agentId = agentId;
  }

  /** Reads what this and other processes have appended since the last time. Gives the sum at the entry of this id. */
  readOn(id?: string): number | undefined {
    let handle: number | undefined;
    let sum: number | undefined;
    try {
      handle = openSync(this.#file, "r");
      const { size } = fstatSync(handle);
      // Somebody has deleted it, and it was begun again.
      if (size < this.#offset) [this.#offset, this.tokens, this.fault] = [0, 0, undefined];
      const bytes = Buffer.alloc(size - this.#offset);
      const read = bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, this.#offset));
      const whole = read.subarray(0, read.lastIndexOf(newline) + 1);
      const damaged = (): void =>
        void (this.fault = `${this.#file} is damaged; delete it to begin the count of the day anew`);
      for (const entry of parseUsage(whole.toString(), this.day, damaged)) {
        if (entry.agentId === this.#agentId) this.tokens += entry.tokens;
        if (id !== undefined && entry.id === id) sum = this.tokens;
      }
      this.#offset += whole.length;
    } catch (error) {
      // No file: nothing was spent today. One that cannot be read adds nothing to what is known.
      if (existsSync(this.#file)) this.fault = `${this.#file} cannot be read: ${messageOf(error)}`;
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
    return sum;
  }
}

function openForAppending(file: string): number {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
}

/** Appends one line in one write, so that processes do not mix theirs. `begun` is called when the file is new. */
function append(file: string, line: string, begun: () => void): void {
  const handle = openForAppending(file);
  try {
    const { size } = fstatSync(handle);
    const last = Buffer.alloc(1);
    const isCutOff = size > 0 && readSync(handle, last, 0, 1, size - 1) === 1 && last[0] !== newline;
    // Half a line, left by a process that died, must not take this one with it.
    const bytes = Buffer.from(`${isCutOff ? "\n" : ""}${line}\n`);
    const written = writeSync(handle, bytes);
    if (written < bytes.length) throw new Error(`${file} took only ${written} of ${bytes.length} bytes`);
    if (size === 0) begun();
  } finally {
    closeSync(handle);
  }
}

/** Tokens that were taken for a request. */
export interface Taken {
  /** How many it has cost in the end. */
  settle(tokens: number): void;
}
