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

/** One report of the thread about a folder. Reports are in order. */
export type FolderNote =
  /** From here on all changes in the folder are reported. `identity` names the folder at this path. */
  | { kind: "watched"; folder: string; identity: string }
  /** An event for a name in the folder, or for the folder. `isRename`: the name may have appeared or disappeared. */
  | { kind: "event"; folder: string; name: string | undefined; isRename: boolean };

/** All reports since the last answer. */
export type FolderNews =
  | { notes: FolderNote[] }
  /** Reports were lost. `barred`: and will be for a while. */
  | { lost: string; barred: boolean };

const all = new Set<FolderWatches>();
const overflowsAt = longestQueue() / 2;
let burst = 0;

/** Call for every event: Node does not report events dropped from a full queue. */
export function countEvent(): void {
  if (burst++ === 0) setImmediate(() => (burst = 0));
  if (burst < overflowsAt) return;
  for (const watches of all) watches.lose("more has happened at once than the system keeps", false);
}

const mostEvents = 2000;

/** Watches folders. All watches of a thread share one ordered inotify queue. */
export class FolderWatches {
  readonly #endings: readonly string[];
  readonly #sentinelDir: string;
  readonly #handles = new Map<string, FSWatcher>();
  readonly #hasMounted: () => boolean;
  #sentinel: Sentinel | undefined;
  #notes: FolderNote[] = [];
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

  place(folder: string): void {
    const old = this.#handles.get(folder);
    const handle = this.#open(folder);
    if (handle !== undefined) this.#handles.set(folder, handle);
    // Report that a watched folder is no longer watched.
    else if (this.#handles.delete(folder)) this.#notes.push({ kind: "event", folder, name: undefined, isRename: true });
    // After the new watch, so that no event is missed.
    old?.close();
  }

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

  /** Returns all events before this call, after the system has reported them. */
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
    if (++this.#events > mostEvents) return this.lose("more has happened than is reported one by one", false);
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

/** Files of killed processes are removed after this time. */
const keptMs = 24 * 60 * 60_000;

/** A deliberate change: its event follows all earlier ones. Throws file system errors. */
interface Sentinel {
  ask(arrived: () => void): void;
  close(): void;
}

/** A file renamed for each sentinel; the name identifies it. */
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
      const arrived = waiting.get(name ?? "");
      waiting.delete(name ?? "");
      arrived?.();
    });
    handle.on("error", () => handle?.close());
  }

  function step(): void {
    renameSync(path.join(folder, `${last}`), path.join(folder, `${last + 1}`));
    last++;
  }

  begin();
  removeOld(path.dirname(folder));

  return {
    ask(arrived) {
      waiting.set(`${last + 1}`, arrived);
      try {
        step();
      } catch {
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
      // Its owner removed it.
    }
  }
}
