import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { type UsageEntry, localDay, parseUsage, removeOldUsage, usageFile } from "./usage-files.ts";

export { type UsageEntry, readUsage } from "./usage-files.ts";

/** Counts what one agent spends on vectors. Nothing here throws: a count must not cost anybody a search. */
export interface Usage {
  /** Writes down what a request has cost. */
  add(spent: Omit<UsageEntry, "day" | "agentId">): void;
  /** The tokens of this agent since midnight, local time, over all reasons and all processes. */
  tokensToday(): number;
}

/** How far today's file has been read. */
interface Count {
  day: string;
  /** Bytes, up to the end of a line. */
  offset: number;
  /** Of this agent in what was read. */
  tokens: number;
  /** What this process has spent and could not write. */
  unwritten: number;
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
  let count: Count | undefined;

  function countOf(day: string): Count {
    if (count?.day !== day) count = { day, offset: 0, tokens: 0, unwritten: 0 };
    return count;
  }

  /** Reads what this and other processes have appended since the last time. */
  function readOn(count: Count): void {
    let handle: number | undefined;
    try {
      handle = openSync(usageFile(stateDir, count.day), "r");
      const { size } = fstatSync(handle);
      // Somebody has deleted it, and it was begun again.
      if (size < count.offset) [count.offset, count.tokens] = [0, 0];
      const bytes = Buffer.alloc(size - count.offset);
      const read = bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, count.offset));
      const whole = read.subarray(0, read.lastIndexOf(newline) + 1);
      for (const entry of parseUsage(whole.toString(), count.day)) {
        if (entry.agentId === agentId) count.tokens += entry.tokens;
      }
      count.offset += whole.length;
    } catch {
      // No file: nothing was spent today. One that cannot be read adds nothing to what is known.
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
  }

  return {
    add(spent) {
      const time = now();
      const day = localDay(time);
      const { reason, provider, model, requests, tokens } = spent;
      const line = JSON.stringify({ at: time.toISOString(), agentId, reason, provider, model, requests, tokens });
      try {
        append(usageFile(stateDir, day), line, () => removeOldUsage(stateDir, time));
      } catch (error) {
        countOf(day).unwritten += tokens;
        notify?.(`tokens are counted for this process only: ${messageOf(error)}`);
      }
    },
    tokensToday() {
      const today = countOf(localDay(now()));
      readOn(today);
      return today.tokens + today.unwritten;
    },
  };
}

/** Appends one line in one write, so that processes do not mix theirs. `begun` is called when the file is new. */
function append(file: string, line: string, begun: () => void): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const handle = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
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
