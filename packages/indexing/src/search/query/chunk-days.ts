import type { ChunkRow } from "../../chunk-index.ts";
import { namesIn } from "../../text/note-context.ts";
import type { Days } from "../../text/times/calendar.ts";
import { timeOfPath } from "../../text/times/time-of-path.ts";

/**
 * The days that a chunk is of: those of its note, by the name of its file, by its front matter, or of its messages; or
 * those in a heading above it, where its note has none or has more days than these (`## 2026-03-05` in `2026-03.md`).
 */
export function daysOfChunk({ path, context }: Pick<ChunkRow, "path" | "context">): Days | undefined {
  const times = namesIn(context).titles.map((title) => timeOfPath(title));
  let days: Days | undefined = timeOfPath(path);
  for (const time of times)
    if (time !== undefined && (days === undefined || (days.from <= time.from && time.to <= days.to))) days = time;
  return days;
}
