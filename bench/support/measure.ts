import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

export interface Usage {
  wallMs: number;
  /** User and system time of the process and of the Node processes that it started. */
  cpuMs: number;
  /** Of the largest single process. */
  peakMegabytes: number;
  /** Files of JavaScript that the process with the most has loaded; 0 where `MEMSLOT_BENCH_LOADS` is not in its environment. */
  files: number;
  stdout: string;
}

const hook = path.join(import.meta.dirname, "measure-process.mjs");

/** Runs a Node program once as a process of its own and tells what it used. Throws when it fails. */
export function measure(
  program: readonly string[],
  environment: NodeJS.ProcessEnv,
  timeoutMs: number,
  /** What it is given on stdin. */
  input = "",
): Usage {
  const folder = mkdtempSync(path.join(os.tmpdir(), "memslot-bench-usage-"));
  try {
    const started = performance.now();
    const run = spawnSync(process.execPath, program, {
      encoding: "utf8",
      input,
      timeout: timeoutMs,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...environment, MEMSLOT_BENCH_USAGE: folder, NODE_OPTIONS: `--import=${hook}` },
    });
    const wallMs = performance.now() - started;
    if (run.status !== 0)
      throw new Error(`${program.join(" ")} ended with ${run.status ?? run.signal}: ${run.stderr.slice(-2000)}`);
    const parts = readdirSync(folder).map(
      (file) => JSON.parse(readFileSync(path.join(folder, file), "utf8")) as Omit<Usage, "wallMs" | "stdout">,
    );
    return {
      wallMs,
      cpuMs: parts.reduce((sum, part) => sum + part.cpuMs, 0),
      peakMegabytes: Math.max(...parts.map((part) => part.peakMegabytes)),
      files: Math.max(...parts.map((part) => part.files)),
      stdout: run.stdout,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
