import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { isoDate, localDay } from "../../text/times/calendar.ts";

/** What was spent on one day for one agent, reason, provider and model. */
export interface UsageEntry {
  /** Local calendar day, `YYYY-MM-DD`. */
  day: string;
  agentId: string;
  /** Who wanted the vectors: `search`, `watch`, `cli`. */
  reason: string;
  provider: string;
  model: string;
  /** Failed ones are counted too. */
  requests: number;
  tokens: number;
}

/** A line of a file: what a request has cost, will cost (`id`), or has cost more or less in the end (`settles`). */
interface UsageLine extends UsageEntry {
  id?: string | undefined;
  settles?: string | undefined;
}

type Spent = Pick<UsageEntry, "reason" | "provider" | "model" | "tokens">;

/** Tokens that were taken for a request. */
interface Taken {
  /** How many it has cost in the end. */
  settle(tokens: number): void;
}

const keptDays = 92;
const newline = 0x0a;

/** Counts what one agent spends on vectors. Only `take` throws: a count must not cost anybody a search. */
export class Usage {
  readonly #stateDir: string;
  readonly #agentId: string;
  readonly #now: () => Date;
  /** The count of a day, as far as its file has been read. */
  #day = "";
  /** Bytes that were read, up to the end of a line. */
  #offset = 0;
  #tokens = 0;
  /** What this process has spent and could not write. */
  #unwritten = 0;
  /** Why the count is incomplete. */
  #fault: string | undefined;

  constructor(options: { stateDir: string; agentId: string; now?: (() => Date) | undefined }) {
    const { stateDir, agentId, now = () => new Date() } = options;
    this.#stateDir = stateDir;
    this.#agentId = agentId;
    this.#now = now;
  }

  /** Writes down what a request has cost; where that fails, the count holds for this process only. */
  add({ reason, provider, model, requests, tokens }: Spent & Pick<UsageEntry, "requests">): void {
    const file = this.#today();
    try {
      this.#write(file, { reason, provider, model, requests, tokens });
    } catch {
      this.#unwritten += tokens;
    }
  }

  /**
   * Writes down what a request will cost, before it is sent, where all of the day stays within `limit` with it; what other
   * processes have written before counts first. Undefined where it does not. Throws where it cannot be written.
   */
  take({ reason, provider, model, tokens }: Spent, limit: number): Taken | undefined {
    const file = this.#today();
    const id = randomUUID();
    const entry = { reason, provider, model };
    const settle = (cost: number, requests: number): void =>
      this.#write(file, { ...entry, requests, tokens: cost - tokens, settles: id });
    this.#write(file, { ...entry, requests: 0, tokens, id });
    const sum = this.#readOn(file, id) ?? Number.POSITIVE_INFINITY;
    if (sum + this.#unwritten > limit) {
      settle(0, 0);
      return undefined;
    }
    return {
      settle: (cost) => {
        try {
          settle(cost, 1);
        } catch {
          // What was written before stays, which is nearly the same.
          if (this.#today() === file) this.#unwritten += Math.max(0, cost - tokens);
        }
      },
    };
  }

  /** Why the tokens spent today are unknown; undefined where they are known. */
  fault(): string | undefined {
    const file = this.#today();
    try {
      closeSync(openForAppending(file));
    } catch (error) {
      return `${file} cannot be written: ${messageOf(error)}`;
    }
    this.#readOn(file);
    return this.#fault;
  }

  /** The tokens of this agent since midnight, local time, over all reasons and all processes. */
  tokensToday(): number {
    this.#readOn(this.#today());
    return this.#tokens + this.#unwritten;
  }

  /** The file of today. A clock that is set back by a day goes on in the day that was begun: its budget is not given twice. */
  #today(): string {
    const time = this.#now();
    const next = dayOf(time, -1);
    const day = existsSync(usageFile(this.#stateDir, next)) ? next : dayOf(time);
    if (day !== this.#day) [this.#unwritten, this.#offset, this.#tokens, this.#fault] = [0, 0, 0, undefined];
    this.#day = day;
    return usageFile(this.#stateDir, day);
  }

  /** Appends one line in one write, so that processes do not mix theirs. */
  #write(file: string, entry: object): void {
    const time = this.#now();
    const line = JSON.stringify({ at: time.toISOString(), agentId: this.#agentId, ...entry });
    const handle = openForAppending(file);
    try {
      const { size } = fstatSync(handle);
      const last = Buffer.alloc(1);
      const isCutOff = size > 0 && readSync(handle, last, 0, 1, size - 1) === 1 && last[0] !== newline;
      // Half a line, left by a process that died, must not take this one with it.
      const bytes = Buffer.from(`${isCutOff ? "\n" : ""}${line}\n`);
      const written = writeSync(handle, bytes);
      if (written < bytes.length) throw new Error(`${file} took only ${written} of ${bytes.length} bytes`);
      if (size === 0) removeOld(path.dirname(file), dayOf(time, keptDays));
    } finally {
      closeSync(handle);
    }
  }

  /** Reads what this and other processes have appended since the last time. Returns the sum at the entry of this id. */
  #readOn(file: string, id?: string): number | undefined {
    let handle: number | undefined;
    let sum: number | undefined;
    try {
      handle = openSync(file, "r");
      const { size } = fstatSync(handle);
      // The file was deleted and recreated.
      if (size < this.#offset) [this.#offset, this.#tokens, this.#fault] = [0, 0, undefined];
      const bytes = Buffer.alloc(size - this.#offset);
      const read = bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, this.#offset));
      const whole = read.subarray(0, read.lastIndexOf(newline) + 1);
      const damaged = (): void =>
        void (this.#fault = `${file} is damaged; delete it to begin the count of the day anew`);
      for (const entry of parseUsage(whole.toString(), this.#day, damaged)) {
        if (entry.agentId === this.#agentId) this.#tokens += entry.tokens;
        if (id !== undefined && entry.id === id) sum = this.#tokens;
      }
      this.#offset += whole.length;
    } catch (error) {
      // No file: nothing was spent today. One that cannot be read adds nothing to what is known.
      if (existsSync(file)) this.#fault = `${file} cannot be read: ${messageOf(error)}`;
    } finally {
      if (handle !== undefined) closeSync(handle);
    }
    return sum;
  }
}

/**
 * What was spent, summed up for each day, agent, reason, provider and model; the oldest day first. Some three months are
 * kept. Files that are missing or cannot be read count as nothing spent.
 */
export async function readUsage(
  stateDir: string,
  options: {
    agentId?: string | undefined;
    /** Only so many days, today included. */
    days?: number | undefined;
    now?: (() => Date) | undefined;
  } = {},
): Promise<UsageEntry[]> {
  const { agentId, days, now = () => new Date() } = options;
  const first = days === undefined ? "" : dayOf(now(), days - 1);
  const sums = new Map<string, UsageEntry>();
  for (const name of await readdir(usageFolder(stateDir)).catch(() => [])) {
    const fileDay = dayOfFile(name);
    if (fileDay === undefined || fileDay < first) continue;
    for (const line of parseUsage(await readFile(usageFile(stateDir, fileDay), "utf8").catch(() => ""), fileDay)) {
      if (agentId !== undefined && line.agentId !== agentId) continue;
      const { day, agentId: agent, reason, provider, model } = line;
      const key = JSON.stringify([day, agent, reason, provider, model]);
      const { requests, tokens } = sums.get(key) ?? { requests: 0, tokens: 0 };
      const sum = { requests: requests + line.requests, tokens: tokens + line.tokens };
      sums.set(key, { day, agentId: agent, reason, provider, model, ...sum });
    }
  }
  return [...sums.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
}

/** Tokens that may be spent in a day. They are taken before they are sent, so that no two processes spend the same. */
export interface Budget {
  /** The tokens left today, those on their way included; 0 where the count is unknown. */
  left(): number;
  /** Takes so many tokens for one request. Throws `OverBudget` where fewer are left. */
  take(spent: Spent): Taken;
  /** Why no more may be spent. */
  reason(): string;
}

/** A request was not sent, as the budget of the day does not reach for it. */
export class OverBudget extends Error {
  readonly code = "OVER_BUDGET";
}

export function createBudget(usage: Usage, tokensPerDay: number): Budget {
  /** Tokens of requests that are on their way: their sender counts them by itself. */
  let away = 0;
  let writeFault: string | undefined;
  const fault = (): string | undefined => writeFault ?? usage.fault();
  const reason = (): string => {
    const uncounted = fault();
    return uncounted === undefined
      ? "the token budget of today is spent (memorySearch.budget.tokensPerDay); embedding goes on tomorrow, keywords go on now"
      : `memorySearch.budget.tokensPerDay cannot be kept, so that nothing is sent to be embedded: ${uncounted}`;
  };
  return {
    reason,
    left: () => (fault() === undefined ? tokensPerDay - usage.tokensToday() + away : 0),
    take(wanted) {
      let taken: Taken | undefined;
      try {
        taken = fault() === undefined ? usage.take(wanted, tokensPerDay) : undefined;
      } catch (error) {
        writeFault = messageOf(error);
      }
      if (taken === undefined) throw new OverBudget(reason());
      const { settle } = taken;
      away += wanted.tokens;
      return {
        settle(tokens) {
          away -= wanted.tokens;
          settle(tokens);
        },
      };
    },
  };
}

/**
 * The whole entries in a text of lines; damaged and cut off ones are skipped. `damaged` is called for a line that no process
 * has written: the end of one that died in the middle leaves the beginning of an entry, whose request was not sent.
 */
function parseUsage(text: string, day: string, damaged: () => void = () => undefined): UsageLine[] {
  return text.split("\n").flatMap((line) => {
    const entry = parsed(line);
    if (isEntry(entry)) return [{ ...entry, day }];
    if (entry !== undefined || !(line === "" || '{"at":"'.startsWith(line.slice(0, 7)))) damaged();
    return [];
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isEntry(value: unknown): value is Omit<UsageLine, "day"> {
  if (typeof value !== "object" || value === null) return false;
  const entry = value as Record<string, unknown>;
  return (
    ["agentId", "reason", "provider", "model"].every((name) => typeof entry[name] === "string") &&
    ["requests", "tokens"].every((name) => Number.isFinite(entry[name])) &&
    Number(entry["requests"]) >= 0 &&
    // Less than was taken for it, where it says so.
    (Number(entry["tokens"]) >= 0 || typeof entry["settles"] === "string")
  );
}

function openForAppending(file: string): number {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
}

function usageFolder(stateDir: string): string {
  return path.join(stateDir, "embeddings", "usage");
}

/** The file of one day; each line of it is one `UsageEntry` as JSON, without its day and with the time as `at`. */
function usageFile(stateDir: string, day: string): string {
  return path.join(usageFolder(stateDir), `${day}.jsonl`);
}

function dayOfFile(name: string): string | undefined {
  return /^(\d{4}-\d{2}-\d{2})\.jsonl$/.exec(name)?.[1];
}

/** The local calendar day of a time, or of some days before it, as `YYYY-MM-DD`. */
function dayOf(time: Date, daysBefore = 0): string {
  return isoDate(localDay(time) - daysBefore);
}

/** Deletes the files that are older than 92 days. What cannot be deleted stays. */
function removeOld(folder: string, oldest: string): void {
  try {
    for (const name of readdirSync(folder)) {
      if ((dayOfFile(name) ?? oldest) < oldest) rmSync(path.join(folder, name));
    }
  } catch {
    // In use on Windows, or not ours: the next day tries again.
  }
}
