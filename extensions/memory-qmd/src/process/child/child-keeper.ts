import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { FolderTrouble, FromKeeper, StartOrder, ToKeeper } from "./keeper-protocol.ts";

/**
 * The entry of the small process between the host and a command that the host does not trust to end. It runs the
 * command in a process group of its own, on the standard input and output that the host gave, and holds a pipe to the
 * host: when that closes, however the host ended, the whole group ends, by SIGTERM and after the grace by SIGKILL.
 * What the command leaves behind when it ends goes too.
 *
 * It is a process and no part of the command's, since that may be blocked, stopped or deaf. It holds the lock as well:
 * so the lock lasts exactly as long as the work, also where the host has gone before the command.
 */

const isWindows = process.platform === "win32";
const lockPollMs = 100;
const folderTrouble: FolderTrouble = "FOLDER";

let graceMs = 0;
let child: ChildProcess | undefined;
let isStopping = false;

process.on("message", (message: ToKeeper) => {
  if (message.type === "stop") stop();
  else void start(message).catch((error: unknown) => fail(error));
});
process.on("disconnect", stop);
// A keeper that ended first would leave its child alone.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, stop);

async function start(order: StartOrder): Promise<void> {
  graceMs = order.graceMs;
  const wasTorn = await prepare(order);
  // Told before this module was loaded, the end of the host would have been heard by nobody.
  if (!process.connected) process.exit();
  // What it starts has its priority.
  if (order.givesWay === true) setPriority(constants.priority.PRIORITY_LOW);
  child = spawn(order.command, order.args, { stdio: "inherit", detached: !isWindows, windowsHide: true, shell: false });
  const { pid } = child;
  child.once("error", (error) => {
    if (pid !== undefined) return; // What could not be sent to it, as a signal.
    if (order.marker !== undefined && !wasTorn) rmSync(order.marker, { force: true });
    fail(error);
  });
  child.once("exit", (code, signal) => {
    endGroup("SIGKILL");
    const isTorn = order.marker !== undefined && !isOrderly(code, signal);
    if (order.marker !== undefined && !isTorn && !wasTorn) rmSync(order.marker, { force: true });
    send({ type: "ended", code, signal, isTorn });
  });
  if (pid !== undefined) tell({ type: "started", pid, wasTorn });
}

/** Takes the lock and sets the marker. True where a marker was left from before. */
async function prepare({ lock, marker }: StartOrder): Promise<boolean> {
  try {
    if (lock !== undefined) await takeLock(lock);
    if (marker === undefined) return false;
    const wasTorn = existsSync(marker);
    writeFileSync(marker, String(process.pid));
    return wasTorn;
  } catch (error) {
    throw Object.assign(new Error(error instanceof Error ? error.message : String(error)), { code: folderTrouble });
  }
}

/**
 * Waits until nobody else holds the file. SQLite locks it by the operating system, which ends the lock with this process
 * whatever way it ends; a file with a process id in it would not.
 */
async function takeLock(path: string): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  const file = new DatabaseSync(path);
  process.once("exit", () => file.close());
  for (;;) {
    try {
      file.exec("BEGIN EXCLUSIVE");
      return;
    } catch (error) {
      const isHeld = error instanceof Error && "errcode" in error && error.errcode === 5;
      if (!isHeld) throw error;
    }
    await sleep(lockPollMs);
  }
}

/** Whether it came to its end by itself. SIGTERM and SIGINT are obeyed by an update when its work is done. */
function isOrderly(code: number | null, signal: NodeJS.Signals | null): boolean {
  if (signal !== null) return signal === "SIGTERM" || signal === "SIGINT";
  return code === null || code < 128 || code === 130 || code === 143;
}

function stop(): void {
  if (child?.pid === undefined) process.exit();
  if (isStopping) return;
  isStopping = true;
  endGroup("SIGTERM");
  setTimeout(() => endGroup("SIGKILL"), graceMs);
}

function endGroup(signal: "SIGTERM" | "SIGKILL"): void {
  if (child?.pid === undefined) return;
  if (isWindows) {
    // There is no signal that asks; `/T` takes the processes that it has started too.
    if (signal === "SIGKILL" && child.exitCode === null)
      spawn("taskkill", ["/PID", String(child.pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody of it is left.
  }
}

function fail(error: unknown): void {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  send({ type: "failed", code, message: error instanceof Error ? error.message : String(error) });
}

function tell(message: FromKeeper): void {
  if (process.connected) process.send?.(message, () => {});
}

/** The last message. */
function send(message: FromKeeper): void {
  if (process.connected) process.send?.(message, () => process.exit());
  else process.exit();
}
