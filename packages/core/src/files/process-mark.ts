import { readFileSync, readlinkSync } from "node:fs";
import os from "node:os";
import { codeOf } from "./error-code.ts";

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

export function processMark(): string {
  return `${process.pid} ${processScope()}`;
}

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
