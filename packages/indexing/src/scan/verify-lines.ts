import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";

/** Lines that the index says stand in a file. */
export interface FoundLines {
  /** 1-based and inclusive. */
  startLine: number;
  endLine: number;
  /** As the index holds them. */
  lines: readonly string[];
}

/** Files whose lines are remembered as looked at. */
const keptFiles = 1000;

/**
 * Tells whether lines stand in a file now. What was found to stand there is not looked for again while the file stays
 * the same: then a search costs one look at the directory entry of each file in its answer.
 */
export function createLineVerifier(input: {
  /** Where the file is; undefined where there must be none. */
  placeOf(path: string): string | undefined;
  /** For each of them, whether it stands in the file. */
  compare(absolutePath: string, found: readonly FoundLines[], signal: AbortSignal, path: string): Promise<boolean[]>;
}): (path: string, found: readonly FoundLines[], signal: AbortSignal) => Promise<boolean[]> {
  const known = new Map<string, { stamp: string; held: Set<string> }>();

  return async (path, found, signal) => {
    try {
      const absolutePath = input.placeOf(path);
      if (absolutePath === undefined) return found.map(() => false);
      const stamp = stampOf(absolutePath);
      const before = known.get(path);
      const held = before?.stamp === stamp ? before.held : new Set<string>();
      const keys = found.map(keyOf);
      const unknown = found.filter((_, index) => !held.has(keys[index] ?? ""));
      if (unknown.length > 0) {
        const compared = await input.compare(absolutePath, unknown, signal, path);
        // A file that was written meanwhile is looked at again the next time.
        if (stampOf(absolutePath) === stamp)
          for (const [index, each] of unknown.entries()) if (compared[index] === true) held.add(keyOf(each));
        known.delete(path);
        known.set(path, { stamp, held });
        for (const old of known.keys()) if (known.size > keptFiles) known.delete(old);
        const results = new Map(unknown.map((each, index) => [each, compared[index] === true]));
        return found.map((each) => results.get(each) ?? true);
      }
      return found.map(() => true);
    } catch (error) {
      if (signal.aborted) throw error;
      // Gone, or not to be read: whatever is said of it cannot be shown as what it holds.
      return found.map(() => false);
    }
  };
}

function keyOf({ startLine, endLine, lines }: FoundLines): string {
  return `${startLine}-${endLine} ${createHash("sha1").update(lines.join("\n")).digest("base64")}`;
}

function stampOf(absolutePath: string): string {
  const { dev, ino, size, mtimeNs, ctimeNs } = lstatSync(absolutePath, { bigint: true });
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}
