import { type BigIntStats, statfsSync } from "node:fs";

/** How fine the times of most file systems are, with room to spare: the clock behind them goes on every few ms. */
const fineGrainMs = 50;
/** Of those whose times are whole seconds. */
const coarseGrainMs = 2000;

/**
 * All that a file system tells of a state of a file without reading it. A save that leaves size and modification time as
 * they were (`cp -p`, `tar`, `touch -d`, another file moved into its place) changes the time of the last change, which no
 * program can set, or the number of the file.
 */
export function stampOf({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}:${mtimeNs}:${ctimeNs}:${ino}`;
}

/** What is told of a state of a file, in the form in which it is compared. */
interface FileState extends Pick<BigIntStats, "size" | "mtimeNs" | "ctimeNs" | "ino"> {
  mtimeMs: number;
  stamp: string;
}

/**
 * The states of files that are looked at again and again. As a rule nothing has changed, and comparing numbers costs a
 * fraction of writing them out.
 */
export class FileStates {
  #known = new Map<string, FileState>();
  #seen = new Map<string, FileState>();

  of(path: string, stats: BigIntStats): FileState {
    const { size, mtimeNs, ctimeNs, ino } = stats;
    const last = this.#known.get(path);
    const isSame = last?.ctimeNs === ctimeNs && last.mtimeNs === mtimeNs && last.size === size && last.ino === ino;
    const state = isSame ? last : { mtimeMs: mtimeMsOf(stats), stamp: stampOf(stats), size, mtimeNs, ctimeNs, ino };
    this.#seen.set(path, state);
    return state;
  }

  /** A look at all files has ended: those that it has not met are forgotten. */
  endLook(): void {
    this.#known = this.#seen;
    this.#seen = new Map();
  }
}

/** The modification time as a number, as `Stats.mtimeMs` has it. */
export function mtimeMsOf({ mtimeNs }: BigIntStats): number {
  return Number(mtimeNs / 1_000_000_000n) * 1000 + Number(mtimeNs % 1_000_000_000n) / 1e6;
}

/**
 * Whether whatever happens to a file from now on shows in its stamp. One that was changed a moment ago may be changed
 * again within the same tick of the clock; one from the future, of a clock that was set back or of another machine, may
 * until it has been found unchanged.
 */
export function isLasting({ ctimeNs }: BigIntStats, nowMs: number, isUnchanged: boolean): boolean {
  const grainMs = ctimeNs % 1_000_000_000n === 0n ? coarseGrainMs : fineGrainMs;
  const ageMs = nowMs - Number(ctimeNs / 1_000_000n);
  return ageMs > grainMs || (ageMs < -grainMs && isUnchanged);
}

/** File systems that keep no time of the last change, by the number that Linux gives them: they show another in its place. */
const keepNone = new Set([0x4d44, 0x2011bab0]);
/** Those that hand on what is behind them, which may keep none. */
const handOn = new Set([0x65735546, 0xff534d42, 0xfe534d42, 0x517b, 0x01021997, 0x786f4256, 0xbacbacbc]);

/** Tells for the files of one look whether their stamps can be relied on. */
export interface StampTrust {
  /** To be called with every file, before any of them is judged. */
  see(stats: BigIntStats, absolutePath: string): void;
  /** False: only its content tells whether such a file has changed. */
  relies(stats: Pick<BigIntStats, "dev" | "ino" | "ctimeNs">): boolean;
}

/**
 * A stamp is worth something where a file has a number and the time of its last change is kept. FAT keeps none; of a
 * share or a mounted folder it is believed as soon as one of its files has another change time than modification time.
 */
export function createStampTrust(typeOf: (absolutePath: string) => number | undefined = fileSystemType): StampTrust {
  const reliable = new Map<bigint, "yes" | "no" | "unless shown">();
  return {
    see({ dev, mtimeNs, ctimeNs }, absolutePath) {
      let known = reliable.get(dev);
      if (known === undefined) {
        const type = typeOf(absolutePath);
        known = type === undefined ? "yes" : keepNone.has(type) ? "no" : handOn.has(type) ? "unless shown" : "yes";
        reliable.set(dev, known);
      }
      if (known === "unless shown" && ctimeNs !== mtimeNs) reliable.set(dev, "yes");
    },
    relies: ({ dev, ino, ctimeNs }) => ino !== 0n && ctimeNs > 0n && reliable.get(dev) === "yes",
  };
}

/** The kind of file system that something lies on; undefined where the system does not tell. */
function fileSystemType(absolutePath: string): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    // The number is signed on some machines.
    return statfsSync(absolutePath).type >>> 0;
  } catch {
    // What is gone by now is read, or found to be gone.
    return undefined;
  }
}

/**
 * The stamp of a state of a file that is compared with nothing but stamps. One that a change within the same tick of the
 * clock would leave as it is is never the same again.
 */
export function lastingStamp(stats: BigIntStats): string {
  const stamp = stampOf(stats);
  return isLasting(stats, Date.now(), false) ? stamp : `${stamp}:${performance.now()}`;
}
