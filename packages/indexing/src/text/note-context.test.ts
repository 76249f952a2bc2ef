import { expect, test } from "vitest";
import { parse } from "yaml";
import { chunkMarkdown } from "./chunk-markdown.ts";
import { contextOfNote, namesIn, nameOfNote } from "./note-context.ts";

test.each([
  ["Projects/Heat pump.md", "Heat pump"],
  ["heat_pump-costs.mdx", "heat pump costs"],
  ["memory/2026-03-05.md", undefined],
  ["memory/2026-03-05-trip.md", "trip"],
  ["20260305 trip.md", "trip"],
  ["2024-W12.md", undefined],
  ["2024-03.md", undefined],
  ["MEMORY.md", undefined],
  ["memory/README.md", undefined],
  ["Projects/Boat/README.md", "Boat"],
  ["日记/热泵.md", "热泵"],
  [".md", undefined],
])("the name of %s is %s", (path, name) => {
  expect(nameOfNote(path)).toBe(name);
});

test("a context is read as it was made", () => {
  const lines = [
    "---",
    "title: Heat pump",
    "aliases: [HP, Pump]",
    "tags: [home]",
    "---",
    "# Costs",
    "",
    "much #energy",
  ];
  const file = contextOfNote("2026-03-05", lines, parse);
  const [chunk] = chunkMarkdown(
    [...lines, "## More", ...Array.from({ length: 90 }, () => "word ".repeat(20))],
    { tokens: 400, overlap: 80 },
    file,
  );
  expect(namesIn(chunk?.context ?? "")).toEqual({
    titles: ["2026-03-05", "Heat pump"],
    aliases: ["HP", "Pump"],
    tags: ["home", "energy"],
  });
  expect(namesIn("")).toEqual({ titles: [], aliases: [], tags: [] });
  // A note that has no title is not titled with its tags.
  const bare = contextOfNote(undefined, ["---", "aliases: HP", "tags: [home, a/b]", "---", "text"], parse);
  const [only] = chunkMarkdown(
    ["---", "aliases: HP", "tags: [home, a/b]", "---", "text"],
    { tokens: 400, overlap: 80 },
    bare,
  );
  expect(namesIn(only?.context ?? "")).toEqual({ titles: [], aliases: ["HP"], tags: ["home", "a/b"] });
  expect(namesIn("#home")).toEqual({ titles: [], aliases: [], tags: ["home"] });
  expect(namesIn("#1\n#home")).toEqual({ titles: ["#1"], aliases: [], tags: ["home"] });
});
