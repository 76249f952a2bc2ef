import { readFileSync, readlinkSync } from "node:fs";
import os from "node:os";
import { codeOf } from "./error-code.ts";

/**
 * Where the numbers of processes mean the same: the host, and on Linux its boot and pid namespace too, since containers
 * can share a host name. A process sees only those of its own scope.
 */
export function processScope(): string {
  return (scope ??= [os.hostname(), ...linuxScope()].join(" "));
}

let scope: string | undefined;

function linuxScope(): string[] {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return [boot, readlinkSync("/proc/self/ns/pid")];
  } catch {
    return [];
  }
}

/** A name of this process for files that other processes read. */
export function processMark(): string {
  return `${process.pid} ${processScope()}`;
}

/** Whether the process of a mark, or of a number of this scope, runs. Undefined for a process of another scope. */
export function isRunning(mark: string): boolean | undefined {
  const [pid = "", ...theirs] = mark.split(" ");
  if (theirs.length > 0 && theirs.join(" ") !== processScope()) return undefined;
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    // `EPERM`: it runs and belongs to another user.
    return codeOf(error) === "EPERM";
  }
}
