import type * as Fs from "node:fs";
import type * as FsPromises from "node:fs/promises";
import path from "node:path";

/** How a disk of the test differs from the one that it is played on. */
export interface FoldingRules {
  /** A name is found under other spellings: case, and the way accents are written. */
  folds: boolean;
  /** Files have no numbers. */
  hidesNumbers: boolean;
}

/**
 * Plays a disk as macOS and Windows have it, on one that makes a difference between all spellings: what is asked for
 * under one spelling is looked up under the one that is there.
 */
export function foldingFs(fs: typeof Fs, rules: FoldingRules): typeof Fs {
  const real = (given: string): string => (rules.folds ? realSpelling(fs, given) : given);
  const numbered = <Stats extends { ino: number | bigint } | undefined>(stats: Stats): Stats => {
    if (rules.hidesNumbers && stats) stats.ino = typeof stats.ino === "bigint" ? 0n : 0;
    return stats;
  };
  const lstatSync = (file: string, options?: object): unknown => numbered(fs.lstatSync(real(file), options as never));
  const native = (file: string): string => fs.realpathSync.native(real(file));
  return {
    ...fs,
    openSync: (file, flags, mode) => fs.openSync(real(String(file)), flags, mode),
    lstatSync: lstatSync as typeof fs.lstatSync,
    readdirSync: ((folder: string, options?: object) =>
      fs.readdirSync(real(folder), options as never)) as typeof fs.readdirSync,
    realpathSync: Object.assign((file: string) => fs.realpathSync(real(file)), { native }) as typeof fs.realpathSync,
  };
}

export function foldingFsPromises(fs: typeof Fs, promises: typeof FsPromises, rules: FoldingRules): typeof FsPromises {
  const real = (given: string): string => (rules.folds ? realSpelling(fs, given) : given);
  const open = async (file: string, ...more: unknown[]): Promise<FsPromises.FileHandle> =>
    await promises.open(real(file), ...(more as [string]));
  return { ...promises, open: open as typeof promises.open };
}

function realSpelling(fs: typeof Fs, given: string): string {
  let current = path.parse(given).root;
  for (const part of given.slice(current.length).split(path.sep)) {
    if (part === "" || fs.existsSync(path.join(current, part))) current = path.join(current, part);
    else {
      const names = fs.existsSync(current) && fs.lstatSync(current).isDirectory() ? fs.readdirSync(current) : [];
      current = path.join(current, names.find((name) => folded(name) === folded(part)) ?? part);
    }
  }
  return current;
}

function folded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}
