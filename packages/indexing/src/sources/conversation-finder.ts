import type { BigIntStats, Dirent } from "node:fs";
import path from "node:path";
import { messageOf, type Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { codeOf } from "@memslot/core/files";
import { kindOf, StampTrust, stateOf } from "../scan/file-state.ts";
import { emptyScan, type ScanResult, type FolderLook, plainLook } from "../scan/scan.ts";
import { createTimeSlices, type TimeSlices } from "../time-slices.ts";
import type { ConversationFile } from "./read-conversation.ts";
import type { RecordReader } from "./transcript-lines.ts";

export class Finder {
  readonly files: Map<string, ConversationFile> = new Map();
  readonly result: ScanResult = emptyScan();
  readonly #prefix: string;
  readonly #recordOf: RecordReader;
  readonly #fileSystem: FolderLook;
  readonly #slices: TimeSlices;
  readonly #trust = new StampTrust();

  constructor(prefix: string, recordOf: RecordReader, signal: AbortSignal, fileSystem: FolderLook = plainLook) {
    this.#prefix = prefix;
    this.#recordOf = recordOf;
    this.#fileSystem = fileSystem;
    this.#slices = createTimeSlices(signal);
  }

  /** The sorted entries of a folder; empty if missing. If unreadable, index entries below `inside` stay. */
  async list(folder: string, inside = ""): Promise<Dirent[]> {
    if (this.#slices.isOver()) await this.#slices.pause();
    try {
      return this.#fileSystem.list(folder).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const code = codeOf(error);
      if (code !== "ENOENT" && code !== "ENOTDIR")
        this.missed(folder, `cannot be listed: ${messageOf(error)}`, this.pathOf(inside));
      return [];
    }
  }

  async folders(folder: string): Promise<string[]> {
    return (await this.list(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  /** Adds a file under a free index name. `refuse` returns a reason to skip it. */
  async take(
    name: string,
    absolutePath: string,
    file: Pick<ConversationFile, "kind" | "folder" | "records">,
    { shown = absolutePath, refuse }: { shown?: string; refuse?: (stats: BigIntStats) => Sentence | undefined } = {},
  ): Promise<void> {
    if (this.#slices.isOver()) await this.#slices.pause();
    const place = this.pathOf(name);
    if (this.files.has(place)) return;
    const stats = this.#fileSystem.stat(path.dirname(absolutePath), path.basename(absolutePath));
    if (stats instanceof Error) {
      if (codeOf(stats) !== "ENOENT") this.missed(shown, messageOf(stats), place);
      return;
    }
    const reason = stats.isFile() ? refuse?.(stats) : sentence(kindOf(stats));
    if (reason !== undefined) return this.skip(place, reason);
    const taken: ConversationFile = {
      ...file,
      ...stateOf(stats),
      path: place,
      absolutePath,
      recordOf: this.#recordOf,
    };
    this.#trust.see(taken, stats, absolutePath);
    this.files.set(place, taken);
  }

  async takeAll(folder: string, names: RegExp, inside: string, file: Parameters<Finder["take"]>[2]): Promise<void> {
    for (const { name } of await this.list(folder, inside))
      if (names.test(name)) await this.take(inside + name, path.join(folder, name), file);
  }

  async takeNotes(folder: string, inside: string, project: string | undefined): Promise<void> {
    await this.takeAll(folder, /\.md$/iu, inside, { kind: "note", folder: project });
  }

  /** Adds a conversation that is not a file; replaces a file with the same name. */
  add(name: string, conversation: Omit<ConversationFile, "path">): void {
    const place = this.pathOf(name);
    this.files.set(place, { ...conversation, path: place });
  }

  /** Reports a failure. Files below `unknown` stay in the index, by default all of the source. */
  missed(shown: string, reason: string, unknown: string = this.pathOf("")): void {
    this.result.failed.push({ path: shown, reason });
    this.result.unknown.push(unknown);
  }

  skip(place: string, why: Sentence): void {
    this.result.roots.push({ path: place, state: "skipped", ...why });
  }

  pathOf(name: string): string {
    return this.#prefix + name.normalize("NFC").split(path.sep).join("/");
  }

  done(): ScanResult {
    this.#trust.judge();
    this.result.files = [...this.files.values()];
    return this.result;
  }
}
