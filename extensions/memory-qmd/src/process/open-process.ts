import {
  type QmdAnswer,
  QmdFailure,
  type QmdLimits,
  type QmdProcess,
  type QmdProcessOptions,
  type QmdProcessState,
  type QmdQuery,
} from "../qmd-contract.ts";
import { isAbort, messageOf } from "@memslot/core";
import { qmdEnvironment } from "./child/child-environment.ts";
import { createCommandLine } from "./command-line.ts";
import { createIndexWork } from "./index-work.ts";
import type { KeptProcess } from "./child/kept-process.ts";
import { defaultLimits } from "./child/limits.ts";
import { createMcpTransport } from "./mcp-transport.ts";
import { createTurns } from "./turns.ts";

/** Opens what talks to qmd. Nothing is started before the first call. */
export function openQmdProcess(options: QmdProcessOptions): QmdProcess {
  const { found, folder, environment } = options;
  const limits: QmdLimits = { ...defaultLimits, ...options.limits };
  const { argv } = found;
  const notify = onceForEach(options.notify);
  const running = new Set<KeptProcess>();
  const closing = new AbortController();
  /** Those that only ask: a pause waits for them. */
  const questions = createTurns();
  let mode = options.mode;
  let isPaused = false;
  let lastError: QmdProcessState["lastError"];
  /** The last lines of noise, and how many there were. */
  let noise: string[] = [];
  let noiseCount = 0;

  const onStart = (kept: KeptProcess): void => {
    running.add(kept);
    void kept.ended.then(() => running.delete(kept));
  };
  const onNoise = (line: string): void => {
    noise = [...noise, line].slice(-noiseKept);
    noiseCount++;
    notify(`qmd: ${line}`);
  };
  const noteFailure = (error: QmdFailure): void => {
    lastError = { reason: error.reason, message: error.message, at: new Date().toISOString() };
  };
  const commandLine = createCommandLine({
    argv,
    environment: (work) => qmdEnvironment({ environment, folder, mode }, work),
    folder,
    limits,
    onStart,
  });
  const mcp = createMcpTransport({
    argv,
    environment: () => qmdEnvironment({ environment, folder, mode }, "query"),
    folder,
    limits,
    isLexical: () => mode === "lexical",
    onNoise,
    onFailure: (failure) => {
      noteFailure(failure);
      notify(failure.message);
    },
    onStart,
  });
  const index = createIndexWork({ commandLine, folder, limits, onNoise });

  /** Runs a call of this module: not when it is closed or paused, ended by close, and its failure is kept. */
  async function run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (closing.signal.aborted) throw closedFailure();
    if (isPaused) throw pausedFailure();
    if (signal.aborted) throw abortOf(signal);
    try {
      return await work(AbortSignal.any([signal, closing.signal]));
    } catch (error) {
      if (signal.aborted) throw abortOf(signal);
      if (error instanceof QmdFailure) noteFailure(error);
      throw error;
    }
  }

  async function byCommandLine(query: QmdQuery): Promise<QmdAnswer> {
    // One process at a time. The wait for it is part of the time that a question has.
    const late = AbortSignal.timeout(limits.cliQueryMs);
    const signal = AbortSignal.any([query.signal, late]);
    try {
      const answer = await questions.take(signal, () => commandLine.query({ ...query, signal }));
      if (answer.noise !== undefined) notify(`qmd: ${answer.noise}`);
      return { ...answer, by: "cli" };
    } catch (error) {
      if (!late.aborted || query.signal.aborted) throw error;
      throw new QmdFailure("timeout", `qmd query gave no answer within ${limits.cliQueryMs / 1000} s`);
    }
  }

  async function ask(query: QmdQuery): Promise<QmdAnswer> {
    const usesModels = query.rerank || query.searches.some(({ type }) => type !== "lex");
    if (!mcp.canAsk()) {
      // A process that reads the models first takes longer than anyone waits.
      if (usesModels)
        throw new QmdFailure("models_unavailable", "the process that holds the models of qmd has ended and rests");
      return byCommandLine(query);
    }
    const before = noiseCount;
    try {
      const rows = await mcp.query(query);
      const since = Math.min(noiseCount - before, noise.length);
      return { rows, by: "mcp", ...(since === 0 ? {} : { noise: noise.slice(-since).join("\n") }) };
    } catch (error) {
      if (!(error instanceof QmdFailure) || usesModels || query.signal.aborted) throw error;
      noteFailure(error);
      if (isPaused) throw pausedFailure();
      return byCommandLine(query);
    }
  }

  async function endQuestions(): Promise<void> {
    await mcp.stop();
    await questions.idle();
  }

  return {
    probe: (signal) => run(signal, (either) => questions.take(either, () => commandLine.probe(either))),
    query: (query) => run(query.signal, (signal) => ask({ ...query, signal })),
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
      await Promise.all([endQuestions(), index.idle()]);
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
      lastError,
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

/** Lines of noise that one answer can be told with. */
const noiseKept = 20;
/** Texts that are remembered as told. */
const toldKept = 200;

function onceForEach(notify: (line: string) => void): (line: string) => void {
  const told = new Set<string>();
  return (line) => {
    if (told.has(line) || told.size >= toldKept) return;
    told.add(line);
    notify(line);
  };
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
