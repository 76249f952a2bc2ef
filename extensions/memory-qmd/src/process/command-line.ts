import { QmdFailure, type QmdLimits, type QmdQuery } from "../qmd-contract.ts";
import { type QmdWork } from "./child/child-environment.ts";
import { classifyEnd } from "./classify-failure.ts";
import type { KeptEnd, KeptProcess } from "./child/kept-process.ts";
import { type ParsedOutput, parseOutput } from "./parse-output.ts";
import { type RunResult, runOnce } from "./child/run-once.ts";

export interface CommandLineOptions {
  argv: readonly string[];
  environment: (work: QmdWork) => Readonly<Record<string, string>>;
  folder: string;
  limits: QmdLimits;
  onStart(kept: KeptProcess): void;
}

export interface Work {
  /** In messages. */
  what: string;
  work: QmdWork;
  args: readonly string[];
  deadlineMs: number;
  signal: AbortSignal;
  marker?: string | undefined;
  /** Told of its end, which may come after the call has ended. */
  onEnd?: ((end: KeptEnd) => void) | undefined;
}

/** The commands of qmd, a process each. */
export interface CommandLine {
  /** Finds nothing in the first of the collections of its `index.yml`; throws `QmdFailure` where that is not told well. */
  probe(signal: AbortSignal): Promise<void>;
  query(query: QmdQuery): Promise<ParsedOutput>;
  /** A command that writes: one at a time over all processes. Throws `QmdFailure` unless it ended well. */
  write(work: Work, lock: string): Promise<RunResult>;
}

export function createCommandLine({ argv, environment, folder, limits, onStart }: CommandLineOptions): CommandLine {
  async function ask(args: readonly string[], deadlineMs: number, signal: AbortSignal): Promise<string> {
    const result = await runOnce({
      argv: [...argv, ...args],
      environment: environment("query"),
      folder,
      graceMs: limits.killMs,
      deadlineMs,
      signal,
      waitsForEnd: false,
      onStart,
    });
    return outputOf("qmd query", result, deadlineMs);
  }

  return {
    async probe(signal) {
      // Every word of a line has to be there, and this one is in no note.
      const args = ["query", "--index", "index", "--json", "--no-rerank", "-n", "1", "--", "lex: memslotprobe7f3a"];
      parseOutput(await ask(args, limits.probeMs, signal));
    },

    async query({ searches, limit, collections, rerank, candidateLimit, signal }) {
      const args = [
        "query",
        "--index",
        "index",
        "--json",
        ...(rerank ? [] : ["--no-rerank"]),
        ...(candidateLimit === undefined ? [] : ["-C", String(candidateLimit)]),
        "-n",
        String(Math.max(1, limit)),
        ...collections.flatMap((name) => ["-c", name]),
        "--",
        searches.map(({ type, query }) => `${type}: ${query}`).join("\n"),
      ];
      return parseOutput(await ask(args, limits.cliQueryMs, signal));
    },

    async write({ what, work, args, deadlineMs, signal, marker, onEnd }, lock) {
      const result = await runOnce({
        argv: [...argv, ...args],
        environment: environment(work),
        folder,
        graceMs: limits.updateGraceMs,
        // It keeps all processors busy for minutes, and nobody waits for it.
        givesWay: work === "embed",
        deadlineMs,
        lockWaitMs: limits.lockWaitMs,
        lock,
        marker,
        signal,
        waitsForEnd: true,
        onStart: (kept) => {
          onStart(kept);
          if (onEnd !== undefined) void kept.ended.then(onEnd);
        },
      });
      outputOf(what, result, deadlineMs);
      return result;
    },
  };
}

/** What it said, where it ended well and in time. */
function outputOf(what: string, { stdout, stderr, end, stopped }: RunResult, deadlineMs: number): string {
  if (stopped === "time") throw new QmdFailure("timeout", `${what} was not done within ${deadlineMs / 1000} s`);
  if (stopped === "lock")
    throw new QmdFailure("index_busy", `${what} waits for another process that is at the same index`);
  if (stopped === "output") throw new QmdFailure("invalid_output", `${what} printed more than any answer has`);
  if (end.code !== 0) throw classifyEnd(what, end, stderr);
  return stdout;
}
