import type { FolderLook } from "../scan/scan.ts";
import type { BigIntStats, Dirent } from "node:fs";
import path from "node:path";
import { listConfined } from "@memslot/core/files";
import { fileIn, statOf, lastingStamp, stampOf, identityOf } from "../scan/file-state.ts";
import { isMarkdown } from "../scan/folder-rules.ts";
import type { FolderNote } from "./folder-watches.ts";
import { mountedFiles } from "./mounts.ts";

interface Seen {
  entries: Dirent[] | undefined;
  stats: Map<string, BigIntStats>;
}

/** Caches folder listings that were read while the folder and its parents were watched. */
export class FolderView implements FolderLook {
  readonly #watched = new Map<string, string>();
  readonly #seen = new Map<string, Seen>();
  readonly #unwatched = new Set<string>();
  readonly #dropped = new Set<string>();
  /** Files with another name or mount elsewhere, with their state: a change there is not reported here. */
  readonly #linked = new Map<string, string>();
  #mounted: ReadonlySet<string> = new Set();
  #isNew = true;

  /** Whether every folder was watched before it was listed in the last scan. */
  get isWhole(): boolean {
    return this.#unwatched.size === 0;
  }

  begin(): void {
    this.#isNew = false;
    this.#unwatched.clear();
    this.#linked.clear();
    this.#mounted = mountedFiles(isNoteName);
  }

  list(folder: string): Dirent[] {
    const seen = this.#seen.get(folder);
    if (seen?.entries !== undefined) return seen.entries;
    const isWatched = this.#watched.has(folder);
    const entries = listConfined(folder);
    if (isWatched) this.#seen.set(folder, { entries, stats: seen?.stats ?? new Map<string, BigIntStats>() });
    else this.#unwatched.add(folder);
    return entries;
  }

  stat(folder: string, name: string): BigIntStats | Error {
    const seen = this.#seen.get(folder);
    const known = seen?.stats.get(name);
    if (known !== undefined) return known;
    const file = fileIn(folder, name);
    const stats = statOf(file);
    if (seen === undefined || stats instanceof Error || !stats.isFile()) return stats;
    if (stats.nlink > 1n || this.#mounted.has(`${stats.dev}:${stats.ino}`)) this.#linked.set(file, lastingStamp(stats));
    else seen.stats.set(name, stats);
    return stats;
  }

  hasChanged(): boolean {
    for (const [file, stamp] of this.#isNew ? [] : this.#linked) {
      const stats = statOf(file);
      if (stats instanceof Error || stampOf(stats) !== stamp) this.#isNew = true;
    }
    return this.#isNew;
  }

  /** Folders to watch (parents first) and folders to stop watching. */
  wanted(most: number): { add: string[]; drop: string[] } {
    const add = [...this.#unwatched].sort((left, right) => left.length - right.length).slice(0, most);
    for (const folder of add) this.#dropped.delete(folder);
    const drop = [...this.#dropped];
    this.#dropped.clear();
    return { add, drop };
  }

  /** Applies reports of the watcher in order. `roots` need no watched parent. */
  take(notes: readonly FolderNote[], roots: ReadonlySet<string>): void {
    for (const note of notes) {
      if (note.kind === "event") this.#happened(note);
      // An unwatched parent may have been moved meanwhile.
      else if (note.identity !== identityOf(note.folder)) this.#dropTree(note.folder);
      else if (roots.has(note.folder) || this.#watched.has(path.dirname(note.folder))) {
        if (this.#watched.get(note.folder) !== note.identity) this.#dropTree(note.folder);
        this.#watched.set(note.folder, note.identity);
        this.#dropped.delete(note.folder);
        // The cached state was unwatched or of another folder.
        if (this.#seen.delete(note.folder)) this.#isNew = true;
      }
    }
  }

  checkRoots(roots: ReadonlySet<string>): void {
    for (const root of roots) {
      const identity = this.#watched.get(root);
      if (identity !== undefined && identity !== identityOf(root)) this.#dropTree(root);
    }
  }

  forget(): void {
    this.#seen.clear();
    this.#linked.clear();
    this.#isNew = true;
  }

  reset(): void {
    for (const folder of this.#watched.keys()) this.#unwatched.add(folder);
    this.#watched.clear();
    this.forget();
  }

  #happened({ folder, name, isRename }: Extract<FolderNote, { kind: "event" }>): void {
    if (name === undefined) return this.#dropTree(folder);
    const seen = this.#seen.get(folder);
    const file = path.join(folder, name);
    if (seen !== undefined) {
      seen.stats.delete(name);
      if (isRename) seen.entries = undefined;
    }
    // The folder itself goes by its name too.
    if (name === path.basename(folder)) this.#dropTree(folder);
    if (this.#watched.has(file)) this.#dropTree(file);
    if (!this.#isNew) this.#isNew = mayBeMemory(file, name);
  }

  #dropTree(folder: string): void {
    this.#isNew = true;
    const inside = `${folder}/`;
    for (const known of this.#watched.keys()) {
      if (known !== folder && !known.startsWith(inside)) continue;
      this.#watched.delete(known);
      this.#seen.delete(known);
      this.#dropped.add(known);
    }
  }
}

function isNoteName(name: string): boolean {
  return isMarkdown(name) || name.toLowerCase().endsWith(".jsonl");
}

function mayBeMemory(file: string, name: string): boolean {
  if (isNoteName(name) || name === ".gitignore") return true;
  const stats = statOf(file);
  return !(stats instanceof Error) && !stats.isFile();
}
