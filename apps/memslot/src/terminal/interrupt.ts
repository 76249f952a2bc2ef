import { ExitCode } from "./exit-code.ts";

const PATIENCE_MS = 2000;

/** Handles SIGINT and SIGTERM: the first aborts, the second or a timeout ends the process. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** The exit code of an interrupted run; undefined before that. */
  exitCode(): number | undefined;
  /** Sets how long the command may take to stop. */
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
