/** Handles Ctrl-C, SIGTERM and a closed output: stop, clean up, and exit with the matching code. */
export interface Interrupt {
  readonly signal: AbortSignal;
  exitCode(): number | undefined;
  /** The first call aborts; the next one ends the process at once. */
  stop(exitCode: number): void;
}

export const exitInterrupted = 130;
const patienceMs = 5_000;

export function listenForInterrupt(): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  const stop = (exitCode: number): void => {
    if (code !== undefined) process.exit(code);
    code = exitCode;
    controller.abort();
    setTimeout(() => process.exit(exitCode), patienceMs).unref();
  };
  process.on("SIGINT", () => stop(exitInterrupted));
  process.on("SIGTERM", () => stop(143));
  // A closed terminal; Windows sends it for a closed window.
  process.on("SIGHUP", () => stop(129));
  for (const stream of [process.stdout, process.stderr]) {
    // The reader of the answers (`| head`) has closed the pipe.
    stream.on("error", () => {
      if (code === undefined) stop(0);
    });
  }
  return { signal: controller.signal, exitCode: () => code, stop };
}
