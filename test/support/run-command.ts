import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface CommandRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  /** In place of this process's own, without what vitest and pnpm set for themselves. */
  readonly env?: NodeJS.ProcessEnv;
}

const fiveMinutes = 300_000;

/** Runs a command to its end. An exit code other than 0 is an error with all that was said. */
export async function run(command: string, options: readonly string[], where: CommandOptions): Promise<CommandRun> {
  const result = await tryCommand(command, options, where);
  if (result.exitCode === 0) return result;
  throw new Error(
    `${[command, ...options].join(" ")} in ${where.cwd} ended with ${result.exitCode}\n${result.stdout}\n${result.stderr}`,
  );
}

/** Runs a command to its end, whatever its exit code. */
export async function tryCommand(
  command: string,
  options: readonly string[],
  { cwd, env = plainEnvironment() }: CommandOptions,
): Promise<CommandRun> {
  const child = spawn(command, options, {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // Only a shell finds npm.cmd and pnpm.cmd.
    shell: process.platform === "win32" && !command.includes("\\"),
    timeout: fiveMinutes,
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (data: string) => (stdout += data));
  child.stderr.setEncoding("utf8").on("data", (data: string) => (stderr += data));
  const [exitCode] = (await once(child, "close")) as [number | null];
  return { exitCode, stdout, stderr };
}

/** The environment of this process without what its runner added: conditions, package manager settings, keys. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const added =
    /^(NODE_OPTIONS|NODE_PATH|NODE_ENV|NODE_COMPILE_CACHE|VITEST.*|npm_.*|MEMSLOT_.*|OPENAI_.*|GEMINI_.*|HF_.*)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !added.test(name)));
}

const cli = fileURLToPath(new URL("../../apps/memslot/src/cli.ts", import.meta.url));
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/compile", import.meta.url));

export interface CliRun {
  exitCode: number | string;
  stdout: string;
  stderr: string;
}

/** Runs `memslot ARGS` from the sources with a state folder; a signal that ends it is its exit code. */
export async function runCli(
  args: readonly string[],
  {
    stateDir,
    config,
    signal,
    stopWith = "SIGKILL",
  }: { stateDir: string; config: string; signal?: AbortSignal; stopWith?: NodeJS.Signals },
): Promise<CliRun> {
  const env = { PATH: process.env["PATH"], HOME: stateDir, MEMSLOT_HOME: stateDir, NODE_COMPILE_CACHE: compileCache };
  const child = spawn(process.execPath, ["--conditions=@memslot/source", cli, ...args, "--config", config], { env });
  const stop = (): void => void child.kill(stopWith);
  signal?.addEventListener("abort", stop);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (data: string) => (stdout += data));
  child.stderr.setEncoding("utf8").on("data", (data: string) => (stderr += data));
  const [code, killed] = (await once(child, "close")) as [number | null, string | null];
  signal?.removeEventListener("abort", stop);
  return { exitCode: code ?? killed ?? "", stdout, stderr };
}
