import { ExitCode } from "./exit-code.ts";

const PATIENCE_MS = 2000;

/** What Ctrl-C and a polite kill mean: stop at the next whole file. The second one, or no end in time, ends at once. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** The exit code of an interrupted run; undefined while nothing has happened. */
  exitCode(): number | undefined;
  /** Gives more time until the process ends without the command. */
  setPatience(milliseconds: number): void;
}

export function listenForInterrupt(): Interrupt {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let patienceMs = PATIENCE_MS;
  const stop = (code: number) => (): void => {
    if (exitCode !== undefined) process.exit(exitCode);
    exitCode = code;
    controller.abort();
    setTimeout(() => process.exit(code), patienceMs).unref();
  };
  process.on("SIGINT", stop(ExitCode.interrupted));
  process.on("SIGTERM", stop(ExitCode.terminated));
  return {
    signal: controller.signal,
    exitCode: () => exitCode,
    setPatience(milliseconds) {
      patienceMs = milliseconds;
    },
  };
}
