import { type ExecFileException, execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { PassThrough, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@memslot/test-tools/files";
import { createOutput } from "../src/terminal/output.ts";
import { runProgram } from "../src/program.ts";

// The processes of all tests run the same sources: only the first one has to compile them.
const compileCache = fileURLToPath(new URL("../../../node_modules/.cache/compile", import.meta.url));

const cli = fileURLToPath(new URL("../src/cli.ts", import.meta.url));

export interface Finished {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** A folder, home and state folder of one test, which are removed after it. */
export interface Sandbox {
  /** Contains all the others. */
  folder: string;
  /** Where the command runs. */
  cwd: string;
  workspace: string;
  stateDir: string;
  env: NodeJS.ProcessEnv;
  /** Writes a file of the workspace; `null` stands for an empty folder of that name. */
  write(relPath: string, content: string | Uint8Array | null): Promise<void>;
  /** Writes a note that cannot be indexed: its name is no UTF-8, so that no path leads to it. */
  writeLost(): Promise<void>;
  writeConfig(content: string): Promise<string>;
  /** Runs `memslot ARGS` in this process, as its program does. */
  run(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** The same with `--workspace` of this sandbox. */
  runHere(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** The same on a terminal where this is typed; nothing is, where it is left out. */
  onTerminal(args: readonly string[], options: { typed?: string; signal?: AbortSignal }): Promise<Finished>;
}

interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Its stdin, where it runs in this process. */
  stdin?: string | NodeJS.ReadableStream;
  /** How long its process is to have run, where it runs in this process. */
  runningMs?: number;
  /** In a process of its own: for what a process keeps, as the code of plugins. */
  apart?: boolean;
  /** The program, where it is not that of this package. Always in a process of its own. */
  cli?: string;
}

/** How the command is started in a test: the sources, as they are. */
export const command: readonly string[] = [process.execPath, "--conditions=@memslot/source", cli];

/** In a temporary folder that is removed after the test, or in one that the caller removes. */
export async function createSandbox(folder: string = tempFolder()): Promise<Sandbox> {
  const cwd = path.join(folder, "here");
  const workspace = path.join(folder, "notes");
  const stateDir = path.join(folder, "state");
  await mkdir(cwd);
  await mkdir(workspace);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env["PATH"],
    HOME: path.join(folder, "home", "ada"),
    USERPROFILE: path.join(folder, "home", "ada"),
    MEMSLOT_HOME: stateDir,
    NODE_COMPILE_CACHE: compileCache,
    // A test does not depend on the pace of its machine.
    MEMSLOT_HOOK_DEADLINE_MS: "60000",
  };
  const run: Sandbox["run"] = (args, options = {}) => {
    const where = { cwd: options.cwd ?? cwd, env: { ...env, ...options.env }, stdin: options.stdin };
    const runningMs = (): number => options.runningMs ?? 0;
    return options.apart === true || options.cli !== undefined
      ? runCommand(args, { ...where, cli: options.cli ?? cli })
      : runInside(args, { ...where, runningMs });
  };
  return {
    folder,
    cwd,
    workspace,
    stateDir,
    env,
    run,
    runHere: (args, options) => run([...args, "--workspace", workspace], options),
    onTerminal(args, { typed, signal }) {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      if (typed !== undefined) stdin.end(typed);
      return runInside([...args, "--workspace", workspace], { cwd, env, stdin, signal });
    },
    async write(relPath, content) {
      const file = path.join(workspace, relPath);
      await mkdir(content === null ? file : path.dirname(file), { recursive: true });
      if (content !== null) await writeFile(file, content);
    },
    async writeLost() {
      await mkdir(path.join(workspace, "memory"), { recursive: true });
      await writeFile(
        Buffer.concat([Buffer.from(`${workspace}/memory/bad-`), Buffer.of(0xff), Buffer.from(".md")]),
        "x",
      );
    },
    async writeConfig(content) {
      const file = path.join(folder, "memslot.json5");
      await writeFile(file, content);
      return file;
    },
  };
}

interface World {
  cwd: string;
  env: NodeJS.ProcessEnv;
  stdin: string | NodeJS.ReadableStream | undefined;
  signal?: AbortSignal | undefined;
  runningMs?: () => number;
}

async function runInside(
  args: readonly string[],
  { cwd, env, stdin: given, runningMs, signal = new AbortController().signal }: World,
): Promise<Finished> {
  const [stdout, stderr] = [createPipe(), createPipe()];
  const output = createOutput(stdout.stream, stderr.stream, env);
  const stdin = typeof given === "object" ? given : Readable.from(given === undefined ? [] : [given]);
  const exitCode = await runProgram(args, { cwd, env, output, stdin, signal, runningMs });
  await output.flush();
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

/** A pipe, as a process has it in place of a terminal. */
function createPipe(): { stream: NodeJS.WriteStream; text(): string } {
  const stream = new PassThrough();
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  return { stream: stream as unknown as NodeJS.WriteStream, text: () => Buffer.concat(pieces).toString("utf8") };
}

function runCommand(
  args: readonly string[],
  { cli: file, ...options }: { cwd: string; env: NodeJS.ProcessEnv; cli: string },
): Promise<Finished> {
  const [program = process.execPath, ...fixed] = [...command.slice(0, -1), file];
  return new Promise((resolve) => {
    execFile(
      program,
      [...fixed, ...args],
      { ...options, timeout: 300_000, maxBuffer: 32 * 1024 * 1024 },
      (error: ExecFileException | null, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ exitCode, stdout, stderr });
      },
    );
  });
}
