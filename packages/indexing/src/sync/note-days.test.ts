import { expect, test } from "vitest";
import { isoDate } from "../text/times/calendar.ts";
import { createNoteDays } from "./note-days.ts";
import type { StoredFiles } from "./stored-files.ts";

function filesOf(sources: Record<string, readonly string[]>): StoredFiles {
  return new Map(
    Object.entries(sources).map(([source, paths]) => [
      source,
      new Map(paths.map((path) => [path, { path, source, hash: "", mtimeMs: 0, size: 0, recipe: "" }])),
    ]),
  );
}

const files = filesOf({
  memory: ["memory/2026-03-05.md", "memory/2026-03-05-trip.md", "private/2025-03-05.md", "MEMORY.md", "2024-W10.md"],
  sessions: ["sessions/2023-01-01.jsonl"],
});

test("the days of notes are those of their names, once, in order, and of the sources that are asked", () => {
  const days = createNoteDays();
  const inMemory = [{ source: "memory", scope: undefined }];
  expect(days(files, inMemory).map(isoDate)).toEqual(["2024-03-04", "2025-03-05", "2026-03-05"]);
  expect(days(filesOf({ memory: ["2020-01-01.md"] }), inMemory).map(isoDate)).toEqual(["2020-01-01"]);
  expect(days(files, [])).toEqual([]);
});

test("what may not be seen says nothing of when it was", () => {
  const scope = { within: [""], without: ["private/"] };
  expect(createNoteDays()(files, [{ source: "memory", scope }]).map(isoDate)).toEqual(["2024-03-04", "2026-03-05"]);
});
