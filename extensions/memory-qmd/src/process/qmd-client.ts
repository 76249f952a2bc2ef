import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAbort, MemoryError, messageOf, withDeadline } from "@memslot/core";
import { SerialQueue } from "@memslot/core/host";
import { acquireLock, codeOf, type ProcessLock } from "@memslot/core/files";
import { isRunning } from "@memslot/core/process-mark";
import { QmdFailure, type QmdFailureReason } from "../failures.ts";
import type { FoundQmd } from "./find-qmd.ts";
import { isSettledWithin, McpServer } from "./mcp-server-process.ts";
import {
  defaultLimits,
  type HostEnvironment,
  qmdEnvironment,
  type QmdLimits,
  runQmd,
  type StartOptions,
} from "./run-qmd.ts";

/** One list of files that qmd makes; qmd fuses the lists. */
export interface QmdSearch {
  type: "lex" | "vec";
  query: string;
}

export interface QmdQuery {
  /** 1 to 10. */
  searches: readonly QmdSearch[];
  limit: number;
  collections: readonly string[];
  rerank: boolean;
  /** Candidates that the model reads, with `rerank`. */
  candidateLimit?: number | undefined;
  deadlineMs: number;
  signal: AbortSignal;
}

export interface QmdRow {
  collection: string;
  path: string;
  /** Where qmd believes the match to be. Often wrong. */
  line?: number | undefined;
}

export interface QmdIndexStatus {
  documents: number;
  needsEmbedding: number;
  hasVectorIndex: boolean;
  /** Collections with at least one document. */
  collections: { name: string; documents: number }[];
}

type Activity = "update" | "embed" | "cleanup";

export interface QmdClientState {
  pid?: number | undefined;
  restarts: number;
  activity?: Activity | undefined;
  lastError?: { reason: QmdFailureReason; message: string; at: string } | undefined;
}

export interface QmdClientOptions {
  found: FoundQmd;
  folder: string;
  environment: HostEnvironment;
  limits?: Partial<QmdLimits> | undefined;
  notify: (line: string) => void;
}

const busyPollMs = 200;
/** Longer than any update. The process id in an older marker may belong to another program by now. */
const longestUpdateMs = 3_600_000;
const embedExtraMs = 60_000;

/**
 * Talks to qmd: an MCP server for searches, and one process at a time per machine for commands. Throws `QmdFailure`.
 */
export class QmdClient {
  readonly #options: QmdClientOptions;
  readonly #limits: QmdLimits;
  readonly #server: McpServer;
  readonly #work = new SerialQueue();
  readonly #closing = new AbortController();
  readonly #marker: string;
  #mode: "lexical" | "semantic" = "lexical";
  #isPaused = false;
  #activity: Activity | undefined;
  #lastError: QmdClientState["lastError"];

  constructor(options: QmdClientOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#marker = join(options.folder, "update.unfinished");
    const start = (): StartOptions => this.#startOptions("query", "mcp", this.#limits.killMs);
    this.#server = new McpServer(this.#limits, start);
  }

  /** Files for a query, best first. Throws `unknown_collection`. A slow query with models leaves the server alive. */
  async query({ deadlineMs, signal, collections, ...query }: QmdQuery): Promise<QmdRow[]> {
    return await this.#run(signal, async (inner) => {
      const mayBeSlow = query.rerank || query.searches.some(({ type }) => type !== "lex");
      const limits = { deadlineMs, signal: inner, mayBeSlow };
      const { results } = await this.#server.call("query", { ...query, collections }, limits);
      if (!isRows(results)) throw new QmdFailure("invalid_output", "qmd answered a search without a list of results");
      if (results.length > 0) return results.map(rowOf);
      // qmd answers alike for a collection without a match and for an unknown one.
      const known = statusOf(await this.#server.call("status", {}, limits));
      if (known.collections.some(({ name }) => collections.includes(name))) return [];
      throw new QmdFailure("unknown_collection", `qmd does not know the collection ${collections.join(", ")}`);
    });
  }

  async status(signal: AbortSignal): Promise<QmdIndexStatus> {
    const { statusMs } = this.#limits;
    const ask = (inner: AbortSignal) => this.#server.call("status", {}, { deadlineMs: statusMs, signal: inner });
    return statusOf(await this.#run(signal, ask));
  }

  /** Reads all collections; `files` sets the deadline. Throws `timeout` (see `isTorn`) and `unknown_collection`. */
  async update({ files, signal }: { files: number; signal: AbortSignal }): Promise<void> {
    const { updateBaseMs, updatePerFileMs } = this.#limits;
    const { stdout, stderr } = await this.#command("update", updateBaseMs + files * updatePerFileMs, signal);
    if (/^\s*No collections found\b/m.test(stdout))
      throw new QmdFailure("unknown_collection", "qmd update found no collections, though index.yml names them");
    for (const line of stderr.split("\n")) if (/skipp/i.test(line)) this.#options.notify(`qmd: ${line.trim()}`);
  }

  async embed({ minutes, signal }: { minutes: number; signal: AbortSignal }): Promise<void> {
    await this.#command("embed", minutes * 60_000 + embedExtraMs, signal, ["--timeout", `${minutes}`]);
  }

  async cleanup(signal: AbortSignal): Promise<void> {
    await this.#command("cleanup", this.#limits.updateBaseMs, signal);
  }

  async restart(): Promise<void> {
    await this.#server.stop();
  }

  /** Runs `change` while no command of any process changes the index. Other calls throw `index_busy` meanwhile. */
  async exclusively(change: () => void, signal: AbortSignal): Promise<void> {
    await this.#alone("a rebuild", signal, async () => {
      this.#isPaused = true;
      try {
        await this.#server.stop();
        change();
      } finally {
        this.#isPaused = false;
      }
    });
  }

  /** Whether an update was killed, so that a document may be missing from the index. */
  isTorn(): boolean {
    return markState(this.#marker) === "left";
  }

  clearTorn(): void {
    rmSync(this.#marker, { force: true });
  }

  async setMode(mode: "lexical" | "semantic"): Promise<void> {
    if (mode === this.#mode) return;
    this.#mode = mode;
    await this.restart();
  }

  state(): QmdClientState {
    const { pid, restarts } = this.#server;
    return { pid, restarts, activity: this.#activity, lastError: this.#lastError };
  }

  /** Ends the server and commands. An update that does not end soon is not awaited: it ends after its grace. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#server.stop();
    await isSettledWithin(this.#work.settled(), this.#limits.stopMs + this.#limits.killMs);
  }

  #startOptions(work: "query" | "update" | "embed", command: string, graceMs: number): StartOptions {
    const { found, folder, environment } = this.#options;
    return {
      argv: [...found.argv, command, "--index", "index"],
      environment: qmdEnvironment({ environment, folder, mode: this.#mode, work }),
      folder,
      graceMs,
    };
  }

  /** Rejects at once when the signal is aborted or this client is closed. Keeps the last failure. */
  async #run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const closing = this.#closing.signal;
    try {
      if (this.#isPaused) throw new QmdFailure("index_busy", "the index of qmd is being rebuilt");
      return await withDeadline({ what: "qmd", signals: [signal, closing] }, work);
    } catch (error) {
      if (closing.aborted && !signal.aborted) throw new QmdFailure("closed", "qmd was closed", { cause: error });
      if (error instanceof QmdFailure) {
        const { reason, message } = error;
        this.#lastError = { reason, message, at: new Date().toISOString() };
      }
      throw error;
    }
  }

  async #command(
    name: Activity,
    deadlineMs: number,
    given: AbortSignal,
    more: readonly string[] = [],
  ): Promise<{ stdout: string; stderr: string }> {
    const start = this.#startOptions(name === "embed" ? "embed" : "update", name, this.#limits.updateGraceMs);
    const options = {
      ...start,
      argv: [...start.argv, ...more],
      what: `qmd ${name}`,
      deadlineMs,
      // An embed uses all processors for minutes, and no caller waits for it.
      isBackground: name === "embed",
      marker: name === "update" ? this.#marker : undefined,
    };
    const work = async (signal: AbortSignal): Promise<{ stdout: string; stderr: string }> => {
      this.#activity = name;
      try {
        return await runQmd({ ...options, signal });
      } finally {
        this.#activity = undefined;
      }
    };
    return await this.#run(given, (signal) => this.#alone(`qmd ${name}`, signal, () => work(signal)));
  }

  /** Runs work that changes the index once no other work of any process does. */
  async #alone<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const busy = `${what} waits for another process that uses the same index`;
    return await this.#work.run(async () => {
      const lock = await this.#lock(busy, signal);
      try {
        // The update of a host that was killed runs on to its end.
        const endsAt = performance.now() + this.#limits.lockWaitMs;
        while (markState(this.#marker) === "running") {
          if (performance.now() > endsAt) throw new QmdFailure("index_busy", busy);
          await sleep(busyPollMs, undefined, { signal });
        }
        return await work();
      } finally {
        await lock.release();
      }
    }, signal);
  }

  async #lock(busy: string, signal: AbortSignal): Promise<ProcessLock> {
    const file = join(this.#options.folder, "work.lock");
    try {
      return await acquireLock(file, { waitMs: this.#limits.lockWaitMs, busy: () => busy, signal });
    } catch (error) {
      if (isAbort(error)) throw error;
      if (MemoryError.is(error, "BUSY")) throw new QmdFailure("index_busy", busy, { cause: error });
      throw new QmdFailure("no_space", `the state folder of qmd cannot be used: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** The state of the update that wrote the marker; undefined without a marker. */
function markState(marker: string): "running" | "left" | undefined {
  try {
    const ageMs = Date.now() - statSync(marker).mtimeMs;
    const mark = readFileSync(marker, "utf8").trim();
    return ageMs < longestUpdateMs && isRunning(mark) === true ? "running" : "left";
  } catch (error) {
    // An update that ends removes it.
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

interface RawRow {
  file: string;
  line?: unknown;
}

function isRows(value: unknown): value is RawRow[] {
  return Array.isArray(value) && value.every((row: unknown) => typeof (row as RawRow | null)?.file === "string");
}

/** A file is named `collection/path`, by other versions with `qmd://` and `?index=`. */
export function rowOf({ file, line }: RawRow): QmdRow {
  const inner = file.replace(/^qmd:\/\//, "").replace(/\?index=[^/?]*$/, "");
  const slash = inner.indexOf("/");
  const isLine = typeof line === "number" && Number.isSafeInteger(line) && line > 0;
  return {
    // A name without a collection belongs to none.
    collection: inner.slice(0, Math.max(0, slash)),
    path: inner.slice(slash + 1),
    ...(isLine && { line }),
  };
}

function statusOf({
  totalDocuments,
  needsEmbedding,
  hasVectorIndex,
  collections,
}: Record<string, unknown>): QmdIndexStatus {
  if (!Array.isArray(collections)) throw new QmdFailure("invalid_output", "qmd reported a status without collections");
  const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
  return {
    documents: numberOf(totalDocuments),
    needsEmbedding: numberOf(needsEmbedding),
    hasVectorIndex: hasVectorIndex === true,
    collections: (collections as Record<string, unknown>[]).map(({ name, documents }) => ({
      name: String(name),
      documents: numberOf(documents),
    })),
  };
}
