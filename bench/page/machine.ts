import { spawnSync } from "node:child_process";
import os from "node:os";

/** Where and with what a step was measured. */
export interface Machine {
  /** Such as 2026-11-24. */
  day: string;
  processor: string;
  cores: number;
  gigabytes: number;
  system: string;
  /** Processes that wanted a core, before and after: more than there are cores, and times are too long. */
  load: [before: number, after: number];
  node: string;
  /** The commit of this repository, with `+` where files were changed after it. */
  commit: string;
}

/** Runs a step, and says what it was run on. */
export async function onThisMachine<Figures>(
  measure: () => Promise<Figures>,
): Promise<{ machine: Machine; figures: Figures }> {
  const before = load();
  const figures = await measure();
  const [processor] = os.cpus();
  return {
    machine: {
      day: new Date().toISOString().slice(0, 10),
      processor: processor?.model.trim() ?? "unknown",
      cores: os.availableParallelism(),
      gigabytes: Math.round(os.totalmem() / 2 ** 30),
      system: `${os.type()} ${os.release().split("-")[0] ?? ""} ${os.arch()}`,
      load: [before, load()],
      node: process.version,
      commit: commit(),
    },
    figures,
  };
}

function load(): number {
  return Math.round((os.loadavg()[0] ?? 0) * 10) / 10;
}

function commit(): string {
  const git = (...args: string[]): string =>
    spawnSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" }).stdout?.trim() ?? "";
  const name = git("rev-parse", "--short=10", "HEAD");
  if (name === "") return "unknown";
  return git("status", "--porcelain", "--untracked-files=no", ":/packages", ":/extensions", ":/apps", ":/bench") === ""
    ? name
    : `${name}+`;
}
