import {
  type BigIntStats,
  type Dirent,
  lstatSync,
  readdirSync,
  realpathSync,
  type StatsBase,
  statfsSync,
} from "node:fs";
import path from "node:path";
import type { SentenceCode } from "@memslot/core";
import { jsonOf } from "../json-values.ts";

// The thread that watches reads this too: nothing else of memslot is loaded for it.

export const maxFileBytes: number = 16 * 1024 * 1024;

export interface FileState {
  mtimeMs: number;
  size: number;
  /** See `stampOf`. Absent if only the content shows a change. */
  stamp?: string | undefined;
}

export function stateOf(stats: BigIntStats): FileState {
  return { mtimeMs: mtimeMsOf(stats), size: Number(stats.size) };
}

/** State in a file record besides size and time: text for notes, JSON for conversations. */
export interface RecordedState {
  /** What the file system reported when it was read; absent if that does not tell one state from another. */
  stamp?: string | undefined;
  /** Why it has no text: code of a sentence, or the sentence itself in older indexes. */
  skipped?: string | undefined;
  /** Of a conversation: where the agent was at work, if its lines say so. */
  folder?: string | undefined;
  /** Of a conversation: lines that could not be read, or not to their end. */
  passedOver?: number | undefined;
}

const skippedMark = "skipped: ";

export function recordedState({ cursor }: { cursor?: string | undefined }): RecordedState {
  if (cursor === undefined) return {};
  if (cursor.startsWith("{")) return (jsonOf(cursor) ?? {}) as RecordedState;
  const at = cursor.indexOf(skippedMark);
  const stamp = (at < 0 ? cursor : cursor.slice(0, at)).trimEnd();
  return { stamp: stamp || undefined, skipped: at < 0 ? undefined : cursor.slice(at + skippedMark.length) };
}

export function noteCursor({ stamp, skipped }: RecordedState): string | undefined {
  const parts = [stamp, skipped === undefined ? undefined : skippedMark + skipped];
  return parts.filter((part) => part !== undefined).join(" ") || undefined;
}

/** Time resolution of most file systems, with a margin. */
const fineGrainMs = 50;
/** Of those whose times are whole seconds. */
const coarseGrainMs = 2000;

/** The stamp of a file: file system state that changes with every save. */
export function stampOf({
  size,
  mtimeNs,
  ctimeNs,
  ino,
}: Pick<BigIntStats, "ino" | "size" | "mtimeNs" | "ctimeNs">): string {
  return `${size}:${mtimeNs}:${ctimeNs}:${ino}`;
}

export function mtimeMsOf({ mtimeNs }: BigIntStats): number {
  return Number(mtimeNs / 1_000_000_000n) * 1000 + Number(mtimeNs % 1_000_000_000n) / 1e6;
}

/** Whether every later change shows in the stamp: not for very recent or future times. */
export function isLasting({ ctimeNs }: BigIntStats, nowMs: number, isUnchanged: boolean): boolean {
  const grainMs = ctimeNs % 1_000_000_000n === 0n ? coarseGrainMs : fineGrainMs;
  const ageMs = nowMs - Number(ctimeNs / 1_000_000n);
  return ageMs > grainMs || (ageMs < -grainMs && isUnchanged);
}

/** File systems without ctime, by their Linux number. */
const keepNone = new Set([0x4d44, 0x2011bab0]);
/** File systems that pass on another one, which may lack ctime. */
const handOn = new Set([0x65735546, 0xff534d42, 0xfe534d42, 0x517b, 0x01021997, 0x786f4256, 0xbacbacbc]);

/** Decides which stamps are reliable: files need an inode and a real ctime. */
export class StampTrust {
  readonly #typeOf: (absolutePath: string) => number | undefined;
  readonly #reliable = new Map<bigint, "yes" | "no" | "unless shown">();
  /** Files of devices whose times have to be shown first. */
  readonly #unsure: { file: FileState; dev: bigint; stamp: string }[] = [];

  constructor(typeOf: (absolutePath: string) => number | undefined = fileSystemType) {
    this.#typeOf = typeOf;
  }

  /** Takes the state of a file into its record, with the stamp if that is known to be reliable. */
  see(file: FileState, stats: BigIntStats, absolutePath: string): void {
    const { dev, ino, mtimeNs, ctimeNs } = stats;
    let known = this.#reliable.get(dev);
    if (known === undefined) {
      const type = this.#typeOf(absolutePath);
      known = type === undefined ? "yes" : keepNone.has(type) ? "no" : handOn.has(type) ? "unless shown" : "yes";
      this.#reliable.set(dev, known);
    }
    if (known === "unless shown" && ctimeNs !== mtimeNs) this.#reliable.set(dev, "yes");
    if (known === "no" || ino === 0n || ctimeNs <= 0n) return;
    if (known === "yes") file.stamp = stampOf(stats);
    else this.#unsure.push({ file, dev, stamp: stampOf(stats) });
  }

  judge(): void {
    for (const { file, dev, stamp } of this.#unsure) if (this.#reliable.get(dev) === "yes") file.stamp = stamp;
  }
}

function fileSystemType(absolutePath: string): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // The number is signed on some machines.
    return statfsSync(absolutePath).type >>> 0;
  } catch {
    return undefined;
  }
}

/** A stamp for comparison with stamps only. One that might not show a change never compares equal. */
export function lastingStamp(stats: BigIntStats): string {
  const stamp = stampOf(stats);
  return isLasting(stats, Date.now(), false) ? stamp : `${stamp}:${performance.now()}`;
}

/** The files of a scan by inode, which detects hard links and other spellings. Without inodes the real path decides. */
export class KnownFiles<Known extends { absolutePath: string }> {
  readonly #devices = new Map<bigint, Map<string | bigint, Known>>();

  /** Returns the known file that this one is another name of; otherwise this one is known from now on. */
  add(file: Known, { dev, ino }: BigIntStats): Known | undefined {
    const isNumbered = ino !== 0n;
    const key = isNumbered ? ino : (realPathOf(file.absolutePath) ?? file.absolutePath);
    let known = this.#devices.get(dev);
    if (known === undefined) this.#devices.set(dev, (known = new Map()));
    const earlier = known.get(key);
    if (earlier === undefined) known.set(key, file);
    else if (
      earlier.absolutePath === file.absolutePath ||
      !isNumbered ||
      isSameFile(earlier.absolutePath, file.absolutePath)
    )
      return earlier;
    return undefined;
  }
}

/** Whether two paths are the same file. Inodes alone are not enough: FAT on macOS gives one to all empty files. */
export function isSameFile(left: string, right: string): boolean {
  const [a, b] = [statOf(left), statOf(right)];
  if (a instanceof Error || b instanceof Error || a.ino === 0n || stampOf(a) !== stampOf(b)) return false;
  return a.dev === b.dev && a.birthtimeNs === b.birthtimeNs;
}

export function statOf(absolutePath: string): BigIntStats | Error {
  try {
    return lstatSync(absolutePath, { bigint: true });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

export function fileIn(folder: string, name: string): string {
  return folder.endsWith(path.sep) ? folder + name : folder + path.sep + name;
}

/** Code of the sentence that names the kind of a file that is not regular. */
export function kindOf(stats: StatsBase<number | bigint>): SentenceCode {
  if (stats.isSymbolicLink()) return "file.link";
  if (stats.isDirectory()) return "file.folder";
  if (stats.isFIFO()) return "file.pipe";
  if (stats.isSocket()) return "file.socket";
  if (stats.isBlockDevice() || stats.isCharacterDevice()) return "file.device";
  return "file.none";
}

export function realPathOf(place: string): string | undefined {
  try {
    return realpathSync.native(place);
  } catch {
    return undefined;
  }
}

export function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

export function identityOf(folder: string): string | undefined {
  const stats = statOf(folder);
  if (stats instanceof Error || !stats.isDirectory()) return undefined;
  return `${stats.dev}:${stats.ino}:${stats.birthtimeNs}:${stats.mode}:${stats.uid}:${stats.gid}`;
}
