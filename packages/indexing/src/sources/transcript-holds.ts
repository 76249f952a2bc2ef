import path from "node:path";
import { createHeldLines, type FoundLines } from "../search/held-lines.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { createTimeSlices } from "../time-slices.ts";
import { renderSaid } from "./read-transcript.ts";
import { recordsOfLines } from "./lines.ts";
import { type NumberedRecords, readRecord } from "./record.ts";

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
      await areSaid(found, input.tokens, signal, (isAsked) =>
        recordsOfLines(absolutePath, readRecord, { signal, isAsked }),
      ),
  });
}

/** For each of them, whether its lines are among what is said there now, whatever stands around it. */
export async function areSaid(
  found: readonly FoundLines[],
  tokens: number,
  signal: AbortSignal,
  recordsOf: (isAsked: (number: number) => boolean) => NumberedRecords,
): Promise<boolean[]> {
  const said = new Map<number, readonly string[]>();
  const last = Math.max(...found.map(({ endLine }) => endLine));
  const isWanted = (number: number): boolean =>
    found.some(({ startLine, endLine }) => number >= startLine && number <= endLine);
  const slices = createTimeSlices(signal);
  for await (const [number, record] of recordsOf((line) => line > last || isWanted(line))) {
    if (slices.isOver()) await slices.pause();
    if (number > last) break;
    if (record.kind === "message" && isWanted(number))
      said.set(number, [...(said.get(number) ?? []), ...renderSaid(record, "plain", tokens).rendered]);
  }
  return found.map(({ startLine, endLine, lines }) => {
    const there = Array.from({ length: endLine - startLine + 1 }, (_, index) => said.get(startLine + index) ?? []);
    return isWithin(lines, there.flat());
  });
}

/** In this order, with others between them: what a heartbeat said is not in the index. */
function isWithin(wanted: readonly string[], there: readonly string[]): boolean {
  let next = 0;
  for (const line of there) if (next < wanted.length && line.toWellFormed() === wanted[next]?.toWellFormed()) next++;
  return next === wanted.length;
}
