import {
  type QmdAnswer,
  QmdFailure,
  type QmdLimits,
  type QmdProcess,
  type QmdProcessOptions,
  type QmdProcessState,
  type QmdQuery,
} from "../qmd-contract.ts";
import { isAbort, messageOf, SerialQueue } from "@memslot/core";
import { qmdEnvironment } from "./child/child-environment.ts";
import { type CommandLine, createCommandLine } from "./command-line.ts";
import { createIndexWork } from "./index-work.ts";
import type { KeptProcess } from "./child/kept-process.ts";
import { defaultLimits } from "./child/limits.ts";
import { McpTransport } from "./mcp-transport.ts";

/** Lines of noise that one answer can be told with. */
const noiseKept = 20;
/** Texts that are remembered as told. */
const toldKept = 200;

/** What qmd has said besides its answers, and what has failed last. Each text is told once. */
class Complaints {
  lastError: QmdProcessState["lastError"];
  readonly #notify: (line: string) => void;
  readonly #told = new Set<string>();
  /** The last lines of noise, and how many there were. */
  #noise: string[] = [];
  #count = 0;

  constructor(notify: (line: string) => void) {
    this.#notify = notify;
  }

  tell(line: string): void {
    if (this.#told.has(line) || this.#told.size >= toldKept) return;
    this.#told.add(line);
    this.#notify(line);
  }

  noise(line: string): void {
    this.#noise = [...this.#noise, line].slice(-noiseKept);
    this.#count++;
    this.tell(`qmd: ${line}`);
  }

  noteFailure({ reason, message }: QmdFailure): void {
    this.lastError = { reason, message, at: new Date().toISOString() };
  }

  /** Begins to listen; gives then what was heard since. */
  listen(): () => { noise?: string } {
    const before = this.#count;
    return () => {
      const since = Math.min(this.#count - before, this.#noise.length);
      return since === 0 ? {} : { noise: this.#noise.slice(-since).join("\n") };
    };
  }
}

/** Opens what talks to qmd. Nothing is started before the first call. */
export function openQmdProcess(options: QmdProcessOptions): QmdProcess {
  const { found, folder, environment } = options;
  const limits: QmdLimits = { ...defaultLimits, ...options.limits };
  const complaints = new Complaints(options.notify);
  const running = new Set<KeptProcess>();
  const closing = new AbortController();
  /** Those that only ask: a pause waits for them. */
  const questions = new SerialQueue();
  let mode = options.mode;
  let isPaused = false;

  const onStart = (kept: KeptProcess): void => {
    running.add(kept);
    void kept.ended.then(() => running.delete(kept));
  };
  const onNoise = (line: string): void => complaints.noise(line);
  const environmentFor = (work: Parameters<typeof qmdEnvironment>[1]): ReturnType<typeof qmdEnvironment> =>
    qmdEnvironment({ environment, folder, mode }, work);
  const place = { argv: found.argv, folder, limits, onStart };
  const commandLine = createCommandLine({ ...place, environment: environmentFor });
  const mcp = new McpTransport({
    ...place,
    environment: () => environmentFor("query"),
    isLexical: () => mode === "lexical",
    onNoise,
    onFailure: (failure) => {
      complaints.noteFailure(failure);
      complaints.tell(failure.message);
    },
  });
  const index = createIndexWork({ commandLine, folder, limits, onNoise });
  const asker = { mcp, commandLine, questions, complaints, limits, isPaused: () => isPaused };

  /** Runs a call of this module: not when it is closed or paused, ended by close, and its failure is kept. */
  async function run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (closing.signal.aborted) throw closedFailure();
    if (isPaused) throw pausedFailure();
    if (signal.aborted) throw abortOf(signal);
    try {
      return await work(AbortSignal.any([signal, closing.signal]));
    } catch (error) {
      if (signal.aborted) throw abortOf(signal);
      if (error instanceof QmdFailure) complaints.noteFailure(error);
      throw error;
    }
  }

  return {
    probe: (signal) => run(signal, (either) => questions.run(() => commandLine.probe(either), either)),
    query: (query) => run(query.signal, (signal) => ask({ ...query, signal }, asker)),
    status: (signal) => run(signal, (either) => mcp.status({ deadlineMs: limits.cliQueryMs, signal: either })),
    update: ({ files, signal }) => run(signal, (either) => index.update(files, either)),
    embed: ({ minutes, signal }) => run(signal, (either) => index.embed(minutes, either)),
    cleanup: (signal) => run(signal, (either) => index.cleanup(either)),

    async restart() {
      await mcp.stop();
      mcp.reset();
    },

    async pause() {
      isPaused = true;
      const endQuestions = mcp.stop().then(() => questions.settled());
      await Promise.all([endQuestions, index.idle()]);
      await Promise.all([...running].map(({ ended }) => ended));
    },
    resume() {
      isPaused = false;
    },
    isTorn: () => index.isTorn(),
    mended() {
      index.mended();
      mcp.reset();
    },

    async setMode(wanted) {
      if (wanted === mode) return;
      mode = wanted;
      await mcp.stop();
    },

    state: () => ({
      transport: mcp.isGivenUp() ? "cli" : "mcp",
      pid: mcp.pid(),
      restarts: mcp.restarts(),
      activity: index.activity(),
      lastError: complaints.lastError,
    }),

    async close() {
      closing.abort(closedFailure());
      await mcp.stop();
      // What still ends, ends without being waited for longer: its keeper sees to that, also when this process has gone.
      await withinTime(Promise.all([...running].map(({ ended }) => ended)), limits.stopMs + limits.killMs);
      for (const kept of running) kept.hold(false);
    },
  };
}

interface Asker {
  mcp: McpTransport;
  commandLine: CommandLine;
  questions: SerialQueue;
  complaints: Complaints;
  limits: QmdLimits;
  isPaused: () => boolean;
}

/** By the long-lived child, and once by the command line where that fails. */
async function ask(query: QmdQuery, asker: Asker): Promise<QmdAnswer> {
  const { mcp, complaints } = asker;
  const usesModels = query.rerank || query.searches.some(({ type }) => type !== "lex");
  if (!mcp.canAsk()) {
    // A process that reads the models first takes longer than anyone waits.
    if (usesModels)
      throw new QmdFailure("models_unavailable", "the process that holds the models of qmd has ended and rests");
    return byCommandLine(query, asker);
  }
  const heard = complaints.listen();
  try {
    const rows = await mcp.query(query);
    return { rows, by: "mcp", ...heard() };
  } catch (error) {
    if (!(error instanceof QmdFailure) || usesModels || query.signal.aborted) throw error;
    complaints.noteFailure(error);
    if (asker.isPaused()) throw pausedFailure();
    return byCommandLine(query, asker);
  }
}

async function byCommandLine(
  query: QmdQuery,
  { commandLine, questions, complaints, limits }: Asker,
): Promise<QmdAnswer> {
  // One process at a time. The wait for it is part of the time that a question has.
  const late = AbortSignal.timeout(limits.cliQueryMs);
  const signal = AbortSignal.any([query.signal, late]);
  try {
    const answer = await questions.run(() => commandLine.query({ ...query, signal }), signal);
    if (answer.noise !== undefined) complaints.tell(`qmd: ${answer.noise}`);
    return { ...answer, by: "cli" };
  } catch (error) {
    if (!late.aborted || query.signal.aborted) throw error;
    throw new QmdFailure("timeout", `qmd query gave no answer within ${limits.cliQueryMs / 1000} s`);
  }
}

function closedFailure(): QmdFailure {
  return new QmdFailure("closed", "qmd was closed");
}

function pausedFailure(): QmdFailure {
  return new QmdFailure("index_busy", "the index of qmd is being made anew");
}

/** The error of an aborted call keeps its name, whatever reason the caller gave. */
function abortOf({ reason }: AbortSignal): Error {
  if (reason instanceof Error && isAbort(reason)) return reason;
  return new DOMException(reason instanceof Error ? messageOf(reason) : "This operation was aborted", {
    name: "AbortError",
    cause: reason,
  });
}

async function withinTime(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
