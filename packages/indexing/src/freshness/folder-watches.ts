import {
  type FSWatcher,
  readFileSync,
  watch,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { identityOf } from "../scan/file-state.ts";
import { createMountCheck, whyNotInOrder } from "./mounts.ts";

/** One thing that the thread has to tell of a folder. They are in order: each counts for what was told before it. */
export type FolderNote =
  /** From here on all that happens in the folder is told. `identity` says which folder it is that stands at this path. */
  | { kind: "watched"; folder: string; identity: string }
  /** Something has happened to a name in it; without a name, to the folder. `isRename`: the name may have come or gone. */
  | { kind: "event"; folder: string; name: string | undefined; isRename: boolean };

/** All that has happened to folders since it was told last. */
export type FolderNews =
  | { notes: FolderNote[] }
  /** What has happened is not known. `barred`: nor will it be soon. */
  | { lost: string; barred: boolean };

/** Those of this thread. */
const all = new Set<FolderWatches>();
const overflowsAt = longestQueue() / 2;
/** Events since the event loop went on. */
let burst = 0;

/**
 * To be called with everything that the system tells this thread. With as much as its queue holds, all told without the
 * event loop going on in between, some may have been dropped: the system says so, and Node does not hand that on.
 */
export function countEvent(): void {
  if (burst++ === 0) setImmediate(() => (burst = 0));
  if (burst < overflowsAt) return;
  for (const watches of all) watches.lose("more has happened at once than the system keeps", false);
}

/** More is not told one by one. */
const mostEvents = 2000;

/**
 * Watches single folders and keeps what the system tells of them until somebody asks. All watches of a thread are told of
 * through one queue in the order in which things happen (inotify), so that what was told before a sentinel is all that
 * happened before it.
 */
export class FolderWatches {
  readonly #endings: readonly string[];
  readonly #sentinelDir: string;
  readonly #handles = new Map<string, FSWatcher>();
  readonly #hasMounted: () => boolean;
  #sentinel: Sentinel | undefined;
  #notes: FolderNote[] = [];
  /** Folders that are among the notes as watched. */
  readonly #placed = new Set<string>();
  /** Events that are among the notes, and behind the last watch that was placed. */
  #known = new Set<string>();
  #events = 0;
  #lost: { lost: string; barred: boolean } | undefined;

  constructor(input: { roots: readonly string[]; endings: readonly string[]; sentinelDir: string }) {
    this.#hasMounted = createMountCheck(input.roots);
    this.#endings = input.endings;
    this.#sentinelDir = input.sentinelDir;
    all.add(this);
  }

  /** Watches a folder anew, whatever was watched at this path before. */
  place(folder: string): void {
    const old = this.#handles.get(folder);
    const handle = this.#open(folder);
    if (handle !== undefined) this.#handles.set(folder, handle);
    // Who was told that it is watched has to hear that it is not any more.
    else if (this.#handles.delete(folder)) this.#notes.push({ kind: "event", folder, name: undefined, isRename: true });
    // Behind the new one: where it is the same folder, nothing that happens is missed.
    old?.close();
  }

  /** Lets a folder go that whoever asks has heard the end of. */
  remove(folder: string): void {
    // It has come again since.
    if (this.#placed.has(folder)) return;
    this.#handles.get(folder)?.close();
    this.#handles.delete(folder);
  }

  #open(folder: string): FSWatcher | undefined {
    const before = identityOf(folder);
    if (before === undefined) return undefined;
    let handle: FSWatcher;
    try {
      const barred = whyNotInOrder(folder);
      if (barred !== undefined) this.lose(barred, true);
      handle = watch(folder, (kind, name) => this.#heard(folder, kind === "rename", name));
    } catch {
      // Gone, closed to us, or one watch too many: it is not watched, and nobody is told that it is.
      return undefined;
    }
    handle.on("error", (error) => this.lose(`${folder} could not be watched: ${error.message}`, false));
    if (identityOf(folder) !== before) {
      // Another one may have taken its place before it was watched.
      handle.close();
      return undefined;
    }
    this.#notes.push({ kind: "watched", folder, identity: before });
    this.#placed.add(folder);
    this.#known.clear();
    return handle;
  }

  /** Tells all that happened before now, when the system has told it. */
  ask(answer: (news: FolderNews) => void): void {
    try {
      this.#sentinel ??= createSentinel(this.#sentinelDir);
      this.#sentinel.ask(() => answer(this.#take()));
    } catch (error) {
      answer({ lost: `the sentinel could not be written: ${(error as Error).message}`, barred: true });
    }
  }

  close(): void {
    all.delete(this);
    this.#sentinel?.close();
    for (const handle of this.#handles.values()) handle.close();
  }

  #heard(folder: string, isRename: boolean, given: string | null): void {
    countEvent();
    // What is no UTF-8 could be any name.
    const name = given === null || given === "" || given.includes("\ufffd") ? undefined : given;
    if (name !== undefined && !isRename && !this.#matters(folder, name)) return;
    const key = `${folder}\0${name ?? ""}\0${isRename}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    if (++this.#events > mostEvents) return this.lose("more has happened than is told one by one", false);
    this.#notes.push({ kind: "event", folder, name, isRename });
  }

  /** Whether content or rights that have changed are those of memory, or of a folder. */
  #matters(folder: string, name: string): boolean {
    const lower = name.toLowerCase();
    return (
      this.#endings.some((ending) => lower.endsWith(ending)) ||
      name === ".gitignore" ||
      name === path.basename(folder) ||
      this.#handles.has(path.join(folder, name))
    );
  }

  /** What happened since the last answer is not known any more. */
  lose(lost: string, barred: boolean): void {
    this.#lost ??= { lost, barred };
    this.#notes = [];
    this.#known.clear();
  }

  #take(): FolderNews {
    if (this.#hasMounted()) this.lose("something was mounted or unmounted", false);
    const news = this.#lost ?? { notes: this.#notes };
    this.#lost = undefined;
    this.#notes = [];
    this.#known.clear();
    this.#placed.clear();
    this.#events = 0;
    return news;
  }
}

function longestQueue(): number {
  try {
    return Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8")) || 16_384;
  } catch {
    return 16_384;
  }
}

/** What a process that was killed leaves behind is taken away after so long. */
const keptMs = 24 * 60 * 60_000;

/**
 * Makes a change on purpose: when the system tells of it, it has told of all that happened before. Calls back when the system
 * has told of it, in the turn in which it tells. Throws what the file system throws.
 */
interface Sentinel {
  ask(told: () => void): void;
  close(): void;
}

/**
 * A file in a folder of its own that gets another name with each sentinel. The name says which one it is; the content of
 * a file would not, as it may be that of a later one by the time it is read. Folders beside it that others have left
 * behind are taken away.
 */
function createSentinel(folder: string): Sentinel {
  const waiting = new Map<string, () => void>();
  let handle: FSWatcher | undefined;
  let last = 0;

  function begin(): void {
    handle?.close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(folder, `${last}`), "", { mode: 0o600 });
    handle = watch(folder, (_, name) => {
      countEvent();
      const told = waiting.get(name ?? "");
      waiting.delete(name ?? "");
      told?.();
    });
    // Who waits for it finds that it does not come.
    handle.on("error", () => handle?.close());
  }

  function step(): void {
    renameSync(path.join(folder, `${last}`), path.join(folder, `${last + 1}`));
    last++;
  }

  begin();
  removeOld(path.dirname(folder));

  return {
    ask(told) {
      waiting.set(`${last + 1}`, told);
      try {
        step();
      } catch {
        // Somebody has tidied up.
        begin();
        step();
      }
    },
    close() {
      handle?.close();
      try {
        // A question that came in last may have made it after the caller has taken it away.
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // The next memory that writes a sentinel there takes it away.
      }
    },
  };
}

function removeOld(parent: string): void {
  for (const name of readdirSync(parent)) {
    const folder = path.join(parent, name);
    try {
      if (Date.now() - statSync(folder).mtimeMs > keptMs) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Whoever it belongs to was quicker.
    }
  }
}
