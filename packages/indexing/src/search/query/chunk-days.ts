import type { ChunkRow } from "../../chunk-index.ts";
import { headingOf } from "../../text/chunk-markdown.ts";
import { namesIn } from "../../text/note-context.ts";
import type { Days } from "../../text/times/calendar.ts";
import { timeOfPath } from "../../text/times/time-of-path.ts";

/** Whether the days of a chunk depend on its text: not those of a note that is of one day by its name. */
export function needsText({ path }: Pick<ChunkRow, "path">): boolean {
  return timeOfPath(path)?.unit !== "day";
}

/**
 * The days that a chunk is of, none where that is not known: those of its note, by the name of its file, by its front
 * matter, or of its messages; or those in the headings above it and in it, where its note has none or has more days than
 * these (`## 2026-03-05` in `2026-03.md`).
 */
export function daysOfChunk({ path, context, text }: Pick<ChunkRow, "path" | "context" | "text">): Days[] {
  const ofNote = timeOfPath(path);
  if (ofNote?.unit === "day") return [ofNote];
  const within = (title: string, outer: Days | undefined): Days | undefined => {
    const days = timeOfPath(title);
    return days && (outer === undefined || (outer.from <= days.from && days.to <= outer.to)) ? days : undefined;
  };
  let above: Days | undefined = ofNote;
  for (const title of namesIn(context).titles) above = within(title, above) ?? above;
  const lines = text.split("\n");
  const inside = lines.map((line) => {
    const title = line.startsWith("#") ? headingOf(line)?.title : undefined;
    return title === undefined ? undefined : within(title, ofNote);
  });
  const first = lines.findIndex((line) => line.trim() !== "");
  const own = inside.filter((days) => days !== undefined);
  return above === undefined || inside[first] !== undefined ? own : [above, ...own];
}
