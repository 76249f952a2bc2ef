import type { BigIntStats, Dirent } from "node:fs";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { codeOf } from "@memslot/core/files";
import { kindOf, StampTrust, stateOf } from "../scan/file-state.ts";
import { emptyScan, type ScanResult, type FolderLook, plainLook } from "../scan/scan.ts";
import { createTimeSlices, type TimeSlices } from "../time-slices.ts";
import type { ConversationFile } from "./read-conversation.ts";
import type { RecordReader } from "./lines.ts";

/** One scan of the folders of a source. Does not follow symbolic links below them. */
export class Finder {
  readonly files: Map<string, ConversationFile> = new Map();
  readonly result: ScanResult = emptyScan();
  /** What the paths in the index begin with. */
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

  /**
   * The entries of a folder, ordered by name; none if it does not exist. `inside`: what the paths in the index of its files
   * begin with, which stay in the index if the folder cannot be listed.
   */
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

  /** The names of the folders in a folder. */
  async folders(folder: string): Promise<string[]> {
    return (await this.list(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  }

  /**
   * Takes a file by its name in the index; of several with the same name the first. `refuse` says why a file is skipped,
   * `shown` is how a failure names it.
   */
  async take(
    name: string,
    absolutePath: string,
    file: Pick<ConversationFile, "kind" | "folder" | "records">,
    { shown = absolutePath, refuse }: { shown?: string; refuse?: (stats: BigIntStats) => string | undefined } = {},
  ): Promise<void> {
    if (this.#slices.isOver()) await this.#slices.pause();
    const place = this.pathOf(name);
    if (this.files.has(place)) return;
    const stats = this.#fileSystem.stat(path.dirname(absolutePath), path.basename(absolutePath));
    if (stats instanceof Error) {
      if (codeOf(stats) !== "ENOENT") this.missed(shown, messageOf(stats), place);
      return;
    }
    const reason = stats.isFile() ? refuse?.(stats) : kindOf(stats);
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

  /** Takes the files of a folder whose names match. */
  async takeAll(folder: string, names: RegExp, inside: string, file: Parameters<Finder["take"]>[2]): Promise<void> {
    for (const { name } of await this.list(folder, inside))
      if (names.test(name)) await this.take(inside + name, path.join(folder, name), file);
  }

  /** Takes the Markdown files of a folder. */
  async takeNotes(folder: string, inside: string, project: string | undefined): Promise<void> {
    await this.takeAll(folder, /\.md$/iu, inside, { kind: "note", folder: project });
  }

  /** Takes a conversation that is no file of its own, in place of a file with the same name. */
  add(name: string, conversation: Omit<ConversationFile, "path">): void {
    const place = this.pathOf(name);
    this.files.set(place, { ...conversation, path: place });
  }

  /** Reports what exists and cannot be read now; `unknown` is what then stays in the index, by default the whole source. */
  missed(shown: string, reason: string, unknown: string = this.pathOf("")): void {
    this.result.failed.push({ path: shown, reason });
    this.result.unknown.push(unknown);
  }

  /** Reports what is skipped, with the reason. */
  skip(place: string, reason: string): void {
    this.result.roots.push({ path: place, state: "skipped", reason });
  }

  /** The path of something in the index: `codex:/rollout-….jsonl`. */
  pathOf(name: string): string {
    return this.#prefix + name.normalize("NFC").split(path.sep).join("/");
  }

  /** Everything that was found. Called once, at the end: only then is known which stamps can be relied on. */
  done(): ScanResult {
    this.#trust.judge();
    this.result.files = [...this.files.values()];
    return this.result;
  }
}
