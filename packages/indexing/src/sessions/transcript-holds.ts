import { open } from "node:fs/promises";
import path from "node:path";
import { openForReading } from "../files/file-kind.ts";
import { createHeldLines, type FoundLines } from "../search/held-lines.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { saidIn } from "./read-transcript.ts";
import { readLines } from "./transcript-lines.ts";
import type { RecordReader } from "./transcript-record.ts";

/** Compares what the index says of a transcript with what its lines say now. */
export function createTranscriptHolds(input: {
  folder: string;
  /** What the paths in the index begin with. */
  label: string;
  /** Estimated tokens that one chunk may have. */
  tokens: number;
}): NonNullable<IndexedSource["holds"]> {
  return createHeldLines({
    placeOf(transcript) {
      const name = path.posix.basename(transcript);
      return `${input.label}/${name}` === transcript ? path.join(input.folder, name) : undefined;
    },
    compare: async (absolutePath, found, signal) =>
      areSaid(found, await saidAt(absolutePath, found, { tokens: input.tokens, signal })),
  });
}

/** For each of them, whether its lines are among what is said there now. */
export function areSaid(found: readonly FoundLines[], said: ReadonlyMap<number, readonly string[]>): boolean[] {
  return found.map(({ startLine, endLine, lines }) => {
    const there = Array.from({ length: endLine - startLine + 1 }, (_, index) => said.get(startLine + index) ?? []);
    return isWithin(lines, there.flat());
  });
}

/** What the lines of a transcript say that are asked for. Up to the last of them its line ends are counted. */
export async function saidAt(
  absolutePath: string,
  found: readonly Pick<FoundLines, "startLine" | "endLine">[],
  { tokens, recordOf, signal }: { tokens: number; recordOf?: RecordReader | undefined; signal: AbortSignal },
): Promise<Map<number, readonly string[]>> {
  const said = new Map<number, readonly string[]>();
  const last = Math.max(...found.map(({ endLine }) => endLine));
  const handle = await open(absolutePath, openForReading);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return said;
    let number = 0;
    for await (const lines of readLines(handle, 0, stats.size, signal)) {
      for (const line of lines) {
        number++;
        if (found.some(({ startLine, endLine }) => number >= startLine && number <= endLine))
          said.set(number, saidIn(line, tokens, recordOf));
        if (number >= last) return said;
      }
    }
    return said;
  } finally {
    await handle.close();
  }
}

/** In this order, with others between them: what a heartbeat said is not in the index. */
function isWithin(wanted: readonly string[], there: readonly string[]): boolean {
  let next = 0;
  for (const line of there) if (next < wanted.length && line.toWellFormed() === wanted[next]?.toWellFormed()) next++;
  return next === wanted.length;
}
