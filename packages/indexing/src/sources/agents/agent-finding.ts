import type { BigIntStats, Dirent } from "node:fs";
import path from "node:path";
import { type ClientSource, messageOf } from "@memslot/core";
import { codeOf, listInPlace } from "@memslot/core/files";
import { kindOf, statOf, withFile } from "../../files/file-kind.ts";
import { createStampTrust, mtimeMsOf, type StampTrust, stampOf } from "../../files/file-stamp.ts";
import type { ScanResult } from "../../files/scan.ts";
import { createTimeSlices, type TimeSlices } from "../../time-slices.ts";
import type { RecordReader } from "../record.ts";
import type { ClientFile } from "./agent.ts";

/** One look at what a program keeps. Symbolic links below its folder are not followed. */
export class ClientFinding {
  readonly signal: AbortSignal;
  readonly files: Map<string, ClientFile> = new Map();
  readonly result: ScanResult = { files: [], roots: [], failed: [], unknown: [] };
  readonly #source: string;
  readonly #slices: TimeSlices;
  readonly #trust: StampTrust = createStampTrust();
  readonly #seen: { file: ClientFile; stats: BigIntStats }[] = [];

  constructor(source: string, signal: AbortSignal) {
    this.#source = source;
    this.signal = signal;
    this.#slices = createTimeSlices(signal);
  }

  /**
   * What a folder holds, in the order of the names; nothing where it is not there. `inside`: what the names in the index of
   * what is below it begin with, where it cannot be looked at.
   */
  async list(folder: string, inside = ""): Promise<Dirent[]> {
    if (this.#slices.isOver()) await this.#slices.pause();
    try {
      return listInPlace(folder).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const code = codeOf(error);
      if (code !== "ENOENT" && code !== "ENOTDIR")
        this.missed(folder, `cannot be listed: ${messageOf(error)}`, this.pathOf(inside));
      return [];
    }
  }

  /** Takes a file by its name in the index. Of several with the same name the first counts. */
  async take(name: string, absolutePath: string, file: Pick<ClientFile, "kind" | "folder" | "records">): Promise<void> {
    if (this.#slices.isOver()) await this.#slices.pause();
    const place = this.pathOf(name);
    if (this.files.has(place)) return;
    const stats = statOf(absolutePath);
    if (stats instanceof Error) {
      if (codeOf(stats) !== "ENOENT") this.missed(absolutePath, messageOf(stats), place);
      return;
    }
    if (!stats.isFile()) return this.passOver(place, kindOf(stats));
    const taken: ClientFile = {
      ...file,
      path: place,
      absolutePath,
      mtimeMs: mtimeMsOf(stats),
      size: Number(stats.size),
    };
    this.#trust.see(stats, absolutePath);
    this.#seen.push({ file: taken, stats });
    this.files.set(place, taken);
  }

  /** Takes the Markdown files of a folder; `inside` is what their names in the index begin with. */
  async takeNotes(folder: string, inside: string, project: string | undefined): Promise<void> {
    for (const { name } of await this.list(folder, inside))
      if (/\.md$/iu.test(name))
        await this.take(inside + name, path.join(folder, name), { kind: "note", folder: project });
  }

  /** Takes what is no file of its own. Of several with the same name the first counts. */
  add(name: string, file: Omit<ClientFile, "path">): void {
    const place = this.pathOf(name);
    if (!this.files.has(place)) this.files.set(place, { ...file, path: place });
  }

  /** What is there and cannot be looked at now: what the index holds of it stays, all of the program if not said otherwise. */
  missed(place: string, reason: string, unknown: string = this.pathOf("")): void {
    this.result.failed.push({ path: place, reason });
    this.result.unknown.push(unknown);
  }

  /** What is left out, with the reason. */
  passOver(place: string, reason: string): void {
    this.result.roots.push({ path: place, state: "skipped", reason });
  }

  /** The name of something in the index: `codex:/rollout-….jsonl`. */
  pathOf(name: string): string {
    return `${this.#source}:/${name.normalize("NFC").split(path.sep).join("/")}`;
  }

  /** All that was found. Called once, at the end. */
  done(): ScanResult {
    for (const { file, stats } of this.#seen) if (this.#trust.relies(stats)) file.stamp = stampOf(stats);
    this.result.files = [...this.files.values()];
    return this.result;
  }
}

/** A program that keeps its conversations on this machine. */
export interface Client {
  readonly source: ClientSource;
  /** As people call it. */
  readonly name: string;
  /** How its lines are read. */
  readonly recordOf: RecordReader;
  /** Finds what it keeps in its folders. What cannot be looked at is told to `finding`. */
  find(finding: ClientFinding, folders: readonly string[]): Promise<void>;
}

const maxSmallBytes = 4 * 1024 * 1024;

/** The text of a small file that a program keeps beside its conversations; empty for whatever is none. Waits for nobody. */
export async function readSmall(file: string): Promise<string> {
  try {
    return await withFile(file, async (handle) => {
      const stats = await handle.stat();
      return stats.isFile() && stats.size <= maxSmallBytes ? await handle.readFile("utf8") : "";
    });
  } catch {
    return "";
  }
}
