import { readdirSync } from "node:fs";
import path from "node:path";
import { statOf } from "./file-kind.ts";
import { codeOf } from "@memslot/core/files";
import { type MemoryRoot, toSlashes } from "./memory-roots.ts";

/** Where a note is, or would be. */
export interface NotePlace {
  /** As it is spelled on the disk. */
  absolutePath: string;
  /** The first link on the way, where there is one. */
  link?: string | undefined;
}

/**
 * Finds the place of a wanted path in the roots that may hold it; undefined where none does. What is not there under
 * the spelling that was given is looked for under any other way to write its accents: people and models write `é` as
 * one character, and file systems keep it as one or as two.
 */
export function placeOf(wanted: string, roots: readonly MemoryRoot[]): NotePlace | undefined {
  for (const spelled of [(name: string) => name, (name: string) => name.normalize("NFC")]) {
    for (const root of roots) {
      const inside = partsInside(spelled(root.absolutePath), spelled(wanted));
      if (inside === undefined || (inside === 0 ? root.kind !== "file" && !root.extra : root.kind === "file")) continue;
      // The parts as they were given: a spelling that is there is the one that is meant.
      const place = placeInside(root.absolutePath, inside === 0 ? [] : wanted.split(path.sep).slice(-inside));
      if (
        inside === 0
          ? !root.excludes("")
          : root.matches(toSlashes(path.relative(root.absolutePath, place.absolutePath)))
      )
        return place;
    }
  }
  return undefined;
}

/** How many parts of a path lie below a folder; undefined where it is not in it. */
function partsInside(folder: string, wanted: string): number | undefined {
  if (wanted === folder) return 0;
  const inside = path.relative(folder, wanted);
  const parts = inside.split(path.sep);
  return parts[0] === ".." || path.isAbsolute(inside) ? undefined : parts.length;
}

/** Goes down part by part, so that a folder that is a link is seen as well as a file that is one. */
function placeInside(root: string, parts: readonly string[]): NotePlace {
  let current = root;
  for (const [index, part] of ["", ...parts].entries()) {
    let next = path.join(current, part);
    let stats = statOf(next);
    if (stats instanceof Error && codeOf(stats) === "ENOENT") {
      next = path.join(current, otherSpelling(current, part) ?? part);
      stats = statOf(next);
    }
    // A part that is not there is an answer, not an error: the read says `not_found`.
    if (stats instanceof Error) return { absolutePath: path.join(next, ...parts.slice(index)) };
    current = next;
    if (stats.isSymbolicLink()) return { absolutePath: path.join(current, ...parts.slice(index)), link: current };
  }
  return { absolutePath: current };
}

/** The name in a folder that differs only in the way its accents are written. */
function otherSpelling(folder: string, name: string): string | undefined {
  // Names in ASCII have one spelling.
  if (!/[^\p{ASCII}]/u.test(name)) return undefined;
  const composed = name.normalize("NFC");
  try {
    const names = readdirSync(folder).filter((other) => other.normalize("NFC") === composed);
    return names.sort()[0];
  } catch {
    // What cannot be listed has no other names to offer.
    return undefined;
  }
}
