import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

/** A change of a file, as it is counted. */
export type FileCall = "write" | "sync" | "truncate" | "unlink" | "rename" | "create" | "read";

const everyChange: readonly FileCall[] = ["write", "sync", "truncate", "unlink", "rename", "create"];
/** What a disk without space refuses. */
export const needsSpace: readonly FileCall[] = ["write", "create"];

export interface FaultSettings {
  /** What the paths of the files begin with. */
  below: string;
  on?: readonly FileCall[];
  /** A file: calls count only while it is there. */
  while?: string;
  /** Number of the call, from 1; left out: it is only counted. */
  at?: number;
  how?: "kill-before" | "kill-half" | "kill-after" | "ENOSPC" | "EIO";
  /** For how many calls from there on; `Infinity` for all. */
  times?: number;
  /** A file that gets a line for each call that counts. */
  log?: string;
  /** The files below `below` that are opened for reading are written down in `log`. */
  opens?: { below: string; log: string };
}

/** Makes the library that plays a bad disk to a process. A string says why there is none on this machine. */
export function buildFileFaults(folder: string): { library: string } | string {
  if (process.platform !== "linux") return "files can be made to fail on Linux only";
  const library = path.join(folder, "file-faults.so");
  const source = path.join(import.meta.dirname, "file-faults.c");
  const args = ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"];
  const { status, stderr, error } = spawnSync("cc", args, { encoding: "utf8", timeout: 60_000 });
  if (error !== undefined) return `there is no C compiler (cc: ${error.message})`;
  if (status !== 0) return `file-faults.c does not compile here: ${stderr}`;
  return { library };
}

/** The environment of a process that is to have these faults. */
export function faultEnvironment(library: string, faults: FaultSettings): NodeJS.ProcessEnv {
  const { below, on = everyChange, at = 0, how = "", times = 1, log = "", opens } = faults;
  return {
    LD_PRELOAD: library,
    FAULTS_BELOW: below,
    FAULTS_ON: on.join(" "),
    FAULTS_WHILE: faults.while ?? "",
    FAULTS_AT: String(at),
    FAULTS_HOW: how,
    FAULTS_TIMES: times === Number.POSITIVE_INFINITY ? "0" : String(times),
    FAULTS_LOG: log,
    ...(opens && { OPENS_BELOW: opens.below, OPENS_LOG: opens.log }),
  };
}

/** The lines of a log that the library or a process has written; none where it was never begun. */
export function linesOf(log: string): string[] {
  try {
    return readFileSync(log, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}
