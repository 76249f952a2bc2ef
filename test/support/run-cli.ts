import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

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
