import { ExitCode } from "./terminal/exit-code.ts";
import { createOutput } from "./terminal/output.ts";
import { runProgram } from "./program.ts";

const LEFT_OPEN_MS = 100;
const PATIENCE_MS = 2000;

const output = createOutput(process.stdout, process.stderr, process.env);
const interrupt = listenForInterrupt();
const exitCode = await run();
process.exitCode ||= interrupt.exitCode() ?? exitCode;
await output.flush();
// A backend that left a handle open does not keep the person waiting. Without one the process has ended before this.
setTimeout(() => process.exit(process.exitCode ?? ExitCode.ok), LEFT_OPEN_MS).unref();

async function run(): Promise<number> {
  let cwd: string;
  try {
    cwd = process.cwd();
  } catch {
    output.notice("the current folder does not exist any more; change to another one");
    return ExitCode.error;
  }
  return runProgram(process.argv.slice(2), {
    cwd,
    env: process.env,
    output,
    stdin: process.stdin,
    signal: interrupt.signal,
    needsToEnd: interrupt.setPatience,
    runningMs: () => performance.now(),
  });
}

/** Handles SIGINT and SIGTERM: the first aborts, the second or a timeout ends the process. */
interface Interrupt {
  readonly signal: AbortSignal;
  /** The exit code of an interrupted run; undefined before that. */
  exitCode(): number | undefined;
  setPatience(milliseconds: number): void;
}

function listenForInterrupt(): Interrupt {
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
