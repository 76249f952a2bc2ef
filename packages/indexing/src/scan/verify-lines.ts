import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";
import { stampOf } from "./file-state.ts";

export interface FoundLines {
  startLine: number;
  endLine: number;
  /** As the index holds them. */
  lines: readonly string[];
}

/** Files whose lines are remembered as looked at. */
const keptFiles = 1000;

/** Verifies that lines are in a file; verified lines are valid while it is unchanged. */
export function createLineVerifier(input: {
  /** Where the file is; undefined if there must be none. */
  placeOf(path: string): string | undefined;
  /** For each of them, whether it is in the file. */
  compare(absolutePath: string, found: readonly FoundLines[], signal: AbortSignal, path: string): Promise<boolean[]>;
}): (path: string, found: readonly FoundLines[], signal: AbortSignal) => Promise<boolean[]> {
  const known = new Map<string, { stamp: string; held: Set<string> }>();

  return async (path, found, signal) => {
    try {
      const absolutePath = input.placeOf(path);
      if (absolutePath === undefined) return found.map(() => false);
      const stamp = stateOf(absolutePath);
      const before = known.get(path);
      const held = before?.stamp === stamp ? before.held : new Set<string>();
      const unknown = found.filter((each) => !held.has(keyOf(each)));
      if (unknown.length === 0) return found.map(() => true);
      const compared = await input.compare(absolutePath, unknown, signal, path);
      const missing = new Set(unknown.filter((_, index) => compared[index] !== true));
      if (stateOf(absolutePath) === stamp) for (const each of unknown) if (!missing.has(each)) held.add(keyOf(each));
      known.delete(path);
      known.set(path, { stamp, held });
      for (const old of known.keys()) if (known.size > keptFiles) known.delete(old);
      return found.map((each) => !missing.has(each));
    } catch (error) {
      if (signal.aborted) throw error;
      return found.map(() => false);
    }
  };
}

function keyOf({ startLine, endLine, lines }: FoundLines): string {
  return `${startLine}-${endLine} ${createHash("sha1").update(lines.join("\n")).digest("base64")}`;
}

function stateOf(absolutePath: string): string {
  const stats = lstatSync(absolutePath, { bigint: true });
  return `${stats.dev}:${stampOf(stats)}`;
}
