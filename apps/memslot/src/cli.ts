import { messageOf } from "@memslot/core";
import { currentFolder } from "@memslot/core/host";
import { ExitCode } from "./terminal/exit-code.ts";
import { listenForInterrupt } from "./terminal/interrupt.ts";
import { createOutput } from "./terminal/output.ts";
import { runProgram } from "./program.ts";

const LEFT_OPEN_MS = 100;

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
    cwd = currentFolder();
  } catch (error) {
    output.notice(messageOf(error));
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
