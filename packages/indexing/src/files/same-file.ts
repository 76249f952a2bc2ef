import type { BigIntStats } from "node:fs";
import { statOf } from "./file-kind.ts";
import { realPathOf } from "./quiet-look.ts";

/** Tells whether two paths are names of one file, as the file system sees it. */
export interface KnownFiles<Known extends { absolutePath: string }> {
  /** What is known already and is the same file; otherwise this one is known from now on. */
  add(file: Known, stats: BigIntStats): Known | undefined;
}

/**
 * Remembers files by the number that the file system gives them: two hard links have one, and so have two spellings
 * where the file system makes no difference between them. Where it gives none, its own spelling of the path tells.
 */
export function createKnownFiles<Known extends { absolutePath: string }>(): KnownFiles<Known> {
  const devices = new Map<bigint, Map<string | bigint, Known>>();
  return {
    add(file, stats) {
      const isNumbered = stats.ino !== 0n;
      const key = isNumbered ? stats.ino : (realPathOf(file.absolutePath) ?? file.absolutePath);
      let known = devices.get(stats.dev);
      if (known === undefined) devices.set(stats.dev, (known = new Map()));
      const earlier = known.get(key);
      if (earlier === undefined) known.set(key, file);
      else if (
        earlier.absolutePath === file.absolutePath ||
        !isNumbered ||
        isSameFile(earlier.absolutePath, file.absolutePath)
      )
        return earlier;
      return undefined;
    },
  };
}

/**
 * Compares what the file system says of two paths. A number alone is not enough: some file systems give one to all empty
 * files (FAT on macOS).
 */
export function isSameFile(left: string, right: string): boolean {
  const [a, b] = [statOf(left), statOf(right)];
  return (
    !(a instanceof Error) &&
    !(b instanceof Error) &&
    a.ino !== 0n &&
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs &&
    a.birthtimeNs === b.birthtimeNs
  );
}
