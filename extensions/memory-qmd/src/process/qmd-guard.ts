import { existsSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { isMainThread, Worker, workerData } from "node:worker_threads";

export interface GuardSettings {
  /** Between SIGTERM and SIGKILL after the host has ended, in milliseconds. */
  graceMs: number;
  /** A file that exists while the command runs, and stays when the command was killed. */
  marker?: string | undefined;
  scope: string;
}

const hostPipe = 3;
const isWindows = process.platform === "win32";

/** Preloaded into qmd (`--import`): a thread ends the process when the host ends, even if qmd hangs. */
function guard(settings: GuardSettings): void {
  // Processes that qmd starts are not guarded.
  for (const name of ["NODE_OPTIONS", "MEMSLOT_QMD_GUARD"]) delete process.env[name];
  const { marker, scope } = settings;
  // The marker of a command that was killed stays until the index is rebuilt.
  if (marker !== undefined && !existsSync(marker)) {
    writeFileSync(marker, `${process.pid} ${scope}`);
    // Until qmd handles the signal itself.
    process.on("SIGTERM", () => process.listenerCount("SIGTERM") === 1 && process.exit(143));
    process.on("exit", (code) => {
      if (code < 128 || code === 130 || code === 143) rmSync(marker, { force: true });
    });
  }
  const watcher = new Worker(new URL(import.meta.url), { workerData: settings, execArgv: [], env: {} });
  // A command that passes no descriptors on cannot be watched.
  watcher.on("error", () => {});
  watcher.unref();
}

function watchHost({ graceMs }: GuardSettings): void {
  const pipe = new Socket({ fd: hostPipe });
  pipe.on("error", () => {});
  pipe.on("close", () => {
    // On Windows any signal kills at once, and an update has its grace to end by itself.
    if (!isWindows) endGroup("SIGTERM");
    setTimeout(() => endGroup("SIGKILL"), graceMs);
  });
  pipe.resume();
}

/** The host starts each command in a process group of its own. */
function endGroup(signal: NodeJS.Signals): void {
  process.kill(isWindows ? process.pid : 0, signal);
}

const given = process.env["MEMSLOT_QMD_GUARD"];
if (isMainThread && given !== undefined) guard(JSON.parse(given) as GuardSettings);
const { graceMs } = (workerData ?? {}) as Partial<GuardSettings>;
if (!isMainThread && graceMs !== undefined) watchHost(workerData as GuardSettings);
