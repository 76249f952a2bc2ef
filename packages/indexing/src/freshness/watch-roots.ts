import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import path from "node:path";
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { messageOf, type WatchStatus } from "@memslot/core";
import type { WatchRoot } from "./watch-scope.ts";
import type { FolderNews } from "./folder-watches.ts";
import { networkFileSystem } from "./mounts.ts";
import type { NewsOrder, WatchOrder, WatchMessage } from "./watch-thread.ts";

export interface RootWatch {
  state(): WatchStatus;
  refresh(): void;
  /** All changes of folders so far. Never throws: unknown changes are reported as lost, with the reason. */
  news(folders: Pick<NewsOrder, "add" | "drop">): Promise<WatchNews>;
  close(): Promise<void>;
}

/** Changes as one thread saw them. With another thread number, all earlier watches are gone. */
export type WatchNews = FolderNews & { thread: number };

export interface RootWatchInput {
  roots: () => readonly WatchRoot[];
  maxFiles: number;
  event: () => void;
  began: () => void;
  notify: (line: string) => void;
  recursive?: boolean | undefined;
  retryMs?: number | undefined;
  quickRetryMs?: number | undefined;
  thread?: (() => URL) | undefined;
  /** Parent of the sentinel folders. Absent: no news. */
  sentinelDir?: string | undefined;
  newsWithinMs?: number | undefined;
}

type Failure = readonly [reason: string, advice: string];

const retryAfterMs = 5 * 60_000;
const mostQuickRetries = 3;
const quickRetryMs = 200;
/** An answer takes less than a millisecond; on a busy machine a scan is as fast. */
const newsWithinMs = 100;
/** inotify has one queue per thread. Other systems were not measured. */
const isInOrder = process.platform === "linux";
const ended = "the watcher has ended";
const late = "the watcher was late";
/** Scanning thousands of files makes garbage; a larger young generation would double the memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/** Reports changes below the roots. chokidar runs in a thread because its first scan blocks. */
export function watchRoots(input: RootWatchInput): RootWatch {
  const { event, began, maxFiles } = input;
  const recursive = input.recursive ?? (process.platform === "darwin" || process.platform === "win32");
  let phase: "starting" | "on" | "off" | "closed" = "starting";
  let offBecause = "";
  let retryAt = 0;
  const owner = {};
  let thread: Watching | undefined;
  let roots: readonly WatchRoot[] = [];
  let folders = 0;
  let threads = 0;
  let quickRetries = 0;
  let firstQuickAt = Number.NEGATIVE_INFINITY;
  let quickRetry: NodeJS.Timeout | undefined;
  /** Takes the answer to the request that the thread has not answered yet, late or not. */
  let answer: ((news: FolderNews) => void) | undefined;

  /** `isOwn`: it says nothing of what else is watched in this process. */
  function turnOff([reason, advice]: Failure, isOwn = false): void {
    phase = "off";
    offBecause = reason;
    retryAt = performance.now() + (input.retryMs ?? retryAfterMs);
    end();
    began();
    if (!isReported(reason, owner, isOwn))
      input.notify(
        `files are not watched: ${reason}. Searches look at the files themselves. ${advice}, or set sync.watch to false.`,
      );
  }

  function startAgain(failure: Failure): void {
    if (performance.now() - firstQuickAt > retryAfterMs) [quickRetries, firstQuickAt] = [0, performance.now()];
    if (quickRetries++ >= mostQuickRetries) return turnOff(failure);
    phase = "off";
    offBecause = failure[0];
    retryAt = Number.POSITIVE_INFINITY;
    end();
    quickRetry = setTimeout(start, input.quickRetryMs ?? quickRetryMs).unref();
    began();
  }

  function start(): void {
    const isAnother = phase === "on";
    clearTimeout(quickRetry);
    end();
    phase = "starting";
    roots = [...input.roots()];
    const remote = remoteRoot(roots);
    if (remote) return turnOff(remote);
    try {
      const sentinelDir =
        isInOrder && input.sentinelDir !== undefined
          ? path.join(input.sentinelDir, `${process.pid}-${randomBytes(6).toString("hex")}`)
          : undefined;
      const entry = input.thread?.() ?? new URL(import.meta.resolve("#watch-thread"));
      const own = watchInThread(entry, { roots, recursive, maxFiles, sentinelDir }, (message) => {
        if (thread !== own) return;
        if (isPassing(message)) startAgain(failureOf(message));
        else turnOff(failureOf(message));
      });
      thread = own;
      threads++;
      own.port.on("message", (message: WatchMessage) => {
        if (thread !== own) return;
        if (message.kind === "news") return answered(message.news);
        if (message.kind === "failed") return own.failed(message.message);
        if (message.kind === "tooMany") return turnOff(tooMany(maxFiles), true);
        if (message.kind === "rules") return start();
        folders = message.folders;
        if (message.kind === "changed") return event();
        phase = "on";
        reported.delete(owner);
        began();
        // New roots may have unseen changes.
        if (isAnother) event();
      });
      own.port.unref();
    } catch (error) {
      turnOff(failureOf(messageOf(error)));
    }
  }

  function answered(news: FolderNews): void {
    answer?.(news);
    answer = undefined;
  }

  function end(): Promise<unknown> | undefined {
    const gone = thread?.end();
    thread = undefined;
    answered(lost(ended));
    return gone;
  }

  start();

  function whyNoNews(): string | undefined {
    if (answer !== undefined) return late;
    if (!isInOrder) return "changes are known to be reported in order on Linux only";
    if (phase === "closed") return ended;
    if (phase === "off") return `watching is off: ${offBecause}`;
    if (phase === "starting") return "the folders are not all watched yet";
    return input.sentinelDir === undefined ? "there is no place for a sentinel" : undefined;
  }

  return {
    async news({ add, drop }) {
      const reason = whyNoNews();
      if (reason !== undefined) return { ...lost(reason), thread: threads };
      const asked = threads;
      const news = await new Promise<FolderNews>((resolve) => {
        const timer = setTimeout(resolve, input.newsWithinMs ?? newsWithinMs, lost(late));
        answer = (given) => {
          clearTimeout(timer);
          resolve(given);
        };
        thread?.port.postMessage({ add, drop } satisfies NewsOrder);
      });
      return { ...news, thread: asked };
    },

    state() {
      if (phase === "on")
        return { mode: recursive ? "recursive" : "folders", folders: recursive ? roots.length : folders };
      return { mode: "off", reason: phase === "off" ? offBecause : "the folders are being looked at" };
    },

    refresh() {
      if (phase === "off" && performance.now() >= retryAt) start();
      if (phase !== "on") return;
      const remote = remoteRoot(roots);
      if (remote) turnOff(remote);
      else if (JSON.stringify(input.roots()) !== JSON.stringify(roots)) start();
    },

    async close() {
      phase = "closed";
      reported.delete(owner);
      clearTimeout(quickRetry);
      await end();
    },
  };
}

function removeQuietly(folder: string | undefined): void {
  try {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  } catch {
    // The next memory that writes a sentinel there takes it away.
  }
}

/** Reasons of watches that are off; a failure of the whole process is reported once. */
const reported = new Map<object, string>();

function isReported(reason: string, owner: object, isOwn: boolean): boolean {
  const isKnown = reported.has(owner) || (!isOwn && [...reported.values()].includes(reason));
  if (!reported.has(owner)) reported.set(owner, reason);
  return isKnown;
}

interface Watching {
  port: MessagePort;
  failed(message: string): void;
  end(): Promise<unknown>;
}

/** Watching threads by their entry; all memories of a process share one. */
const watchers = new Map<string, { worker: Worker; all: Set<Watching> }>();

function watchInThread(entry: URL, order: Omit<WatchOrder, "port">, failed: (message: string) => void): Watching {
  const thread = watchers.get(entry.href) ?? startThread(entry);
  const { port1, port2 } = new MessageChannel();
  const closed = new Promise((resolve) => port1.once("close", resolve));
  const own: Watching = {
    port: port1,
    failed,
    async end() {
      port1.close();
      thread.all.delete(own);
      const isLast = thread.all.size === 0;
      if (isLast && watchers.get(entry.href) === thread) watchers.delete(entry.href);
      await (isLast ? thread.worker.terminate() : closed);
      removeQuietly(order.sentinelDir);
    },
  };
  thread.all.add(own);
  thread.worker.postMessage({ ...order, port: port2 } satisfies WatchOrder, [port2]);
  return own;
}

function startThread(entry: URL): { worker: Worker; all: Set<Watching> } {
  // Options that the process was started with may be none for a thread.
  const worker = new Worker(entry, { name: "memslot-watch", execArgv: [], resourceLimits });
  const thread = { worker, all: new Set<Watching>() };
  const ended = (message: string): void => {
    if (watchers.get(entry.href) === thread) watchers.delete(entry.href);
    for (const each of thread.all) each.failed(message);
  };
  worker.on("error", (error) => ended(messageOf(error)));
  worker.on("exit", (code) => ended(`the thread that watches has ended with code ${code}`));
  worker.unref();
  watchers.set(entry.href, thread);
  return thread;
}

function lost(reason: string): FolderNews {
  return { lost: reason, barred: false };
}

function remoteRoot(roots: readonly WatchRoot[]): Failure | undefined {
  for (const { kind, path } of roots) {
    const system = kind === "folder" ? networkFileSystem(path) : undefined;
    if (system !== undefined)
      return [
        `${path} is on a ${system} file system, which does not tell of changes made elsewhere`,
        "Keep the notes on a local disk",
      ];
  }
  return undefined;
}

function tooMany(maxFiles: number): Failure {
  return [
    `there are more than ${maxFiles} files and folders (sync.watchMaxFiles)`,
    "Raise sync.watchMaxFiles, name fewer folders in extraPaths",
  ];
}

/** chokidar may ask about something that changed meanwhile, such as a link that is a folder now. */
function isPassing(message: string): boolean {
  return /\b(?:EINVAL\b.*\breadlink|ENOTDIR|ENOENT)\b/.test(message);
}

function failureOf(message: string): Failure {
  if (message.includes("ENOSPC"))
    return ["the system allows no more watches (ENOSPC)", "On Linux, raise fs.inotify.max_user_watches"];
  // Node does not always name it by its code.
  const [shortage] = /EMFILE|ENFILE/.exec(message.replace("too many open files", "EMFILE")) ?? [];
  if (shortage !== undefined)
    return [
      `too many files are open, or too many programs watch files (${shortage})`,
      "Raise `ulimit -n`, or on Linux fs.inotify.max_user_instances",
    ];
  return [`files cannot be watched: ${message}`, "Check the folders"];
}
