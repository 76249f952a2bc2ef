import { ExitCode } from "./exit-code.ts";
import { listenForInterrupt } from "./interrupt.ts";
import { createOutput } from "./output.ts";
import { runProgram } from "./program.ts";

const LEFT_OPEN_MS = 100;

const output = createOutput(process.stdout, process.stderr, process.env);
const interrupt = listenForInterrupt();
const exitCode = await runProgram(process.argv.slice(2), {
  cwd: process.cwd(),
  env: process.env,
  output,
  stdin: process.stdin,
  signal: interrupt.signal,
});
process.exitCode ||= interrupt.exitCode() ?? exitCode;
await output.flush();
// A backend that left a handle open does not keep the person waiting. Without one the process has ended before this.
setTimeout(() => process.exit(process.exitCode ?? ExitCode.ok), LEFT_OPEN_MS).unref();
