import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { readNoteHead, silentLines } from "./note-head.ts";
import { embeddingText } from "../embedding/requests/pack.ts";
import { chunkMarkdown, type TextChunk } from "./chunk-markdown.ts";
import { contextOfNote, nameOfNote, namesIn, pathNames } from "./note-context.ts";
import tables from "./test/words.json" with { type: "json" };

const headOf = (...lines: string[]): ReturnType<typeof readNoteHead> => readNoteHead(lines, parse);

describe("front matter", () => {
  test("gives title, other names and tags, however they are written", () => {
    expect(
      headOf("---", "title: Heat pump", "aliases: [Wärmepumpe, HP]", "tags: 'home, #energy'", "---", "text"),
    ).toEqual({
      lines: 5,
      title: "Heat pump",
      day: undefined,
      aliases: ["Wärmepumpe", "HP"],
      tags: ["home", "energy"],
      saysMore: false,
    });
    const list = headOf("---", "Title: 2024", "alias: One", "tags:", "  - a/b", "  - c", "...", "#later");
    expect(list).toMatchObject({ lines: 7, title: "2024", aliases: ["One"], tags: ["a/b", "c", "later"] });
  });

  test.each(tables.heads as [string, string[], boolean][])("with %s", (_, lines, saysMore) => {
    expect(headOf("---", ...lines, "---", "text")).toMatchObject({ lines: lines.length + 2, saysMore });
  });

  test.each(tables.nearlyYaml as [string, string[], object][])("that is nearly YAML: %s", (_, lines, expected) => {
    const head = headOf("---", ...lines, "---", "text");
    expect(head).toMatchObject(expected);
    expect(silentLines(["---", ...lines, "---", "text"]).has(head.lines - 1)).toBe(true);
  });

  test.each(tables.headDays as [string[], string?][])("%j is of the day %s", (lines, day) => {
    expect(headOf("---", ...lines, "---", "text").day).toBe(day);
  });

  test.each([
    ["a ruler above a text", ["---", "one", "two"]],
    ["a ruler that is not the first line", ["text", "---", "title: x", "---"]],
    ["more lines than a head has", ["---", ...Array.from({ length: 300 }, (_, at) => `a${at}: b`), "---"]],
    ["a line without end", ["---", `a: ${"x".repeat(50_000)}`, "---"]],
  ])("%s is none", (_, lines) => {
    expect(readNoteHead(lines, parse)).toMatchObject({ lines: 0, title: undefined, aliases: [] });
  });

  test("what stands with every chunk is bounded", () => {
    const names = Array.from({ length: 500 }, (_, at) => `n${at}`);
    const head = headOf(
      "---",
      `aliases: [${names.join(", ")}]`,
      `tags: [${names.join(", ")}]`,
      `title: ${"t".repeat(900)}`,
      "---",
    );
    expect([head.aliases.length, head.tags.length, head.title?.length]).toEqual([12, 30, 200]);
  });
});

const many = (name: string): string => Array.from({ length: 40_000 }, (_, at) => `${name}${at}`).join(" ");

test.each([
  ["40,000 tags in a line", [many("#tag")], 30],
  ["40,000 tags in lines", many("#tag").split(" "), 30],
  ["a tag of 100 kB", [`#${"tag".repeat(33_000)} #other`], 1],
  ["30 tags of 100 characters", [Array.from({ length: 30 }, (_, at) => `#${"t".repeat(98)}${at + 10}`).join(" ")], 3],
  ["tags of properties and of the text", ["---", `tags: [${many("a").slice(0, 150)}]`, "---", many("#tag")], 30],
  ["headings", Array.from({ length: 6 }, (_, at) => `${"#".repeat(at + 1)} ${`title ${at} `.repeat(9000)}`), 0],
  ["other names", ["---", `aliases: [${"n".repeat(150)}a, ${"n".repeat(150)}b, ${"n".repeat(150)}c]`, "---"], 0],
  ["a title in many words", ["---", `title: ${"title ".repeat(3000)}`, "---"], 0],
])("the context of a chunk is bounded: %s", (_what, lines, tags) => {
  const text = [...lines, "", "word ".repeat(3000)];
  const chunks = [...chunkMarkdown(text, { tokens: 400, overlap: 80 }, contextOfNote("2026-03-05", text, parse))];
  const context = chunks.at(-1)?.context ?? "";
  expect(context.length).toBeLessThanOrEqual(2000);
  expect(context).toContain("2026-03-05");
  expect(namesIn(context).tags).toHaveLength(tags);
});

test("tags of the text are words behind a hash, not headings, numbers, links, colours or code", () => {
  const lines = tables.taggedLines;
  expect(readNoteHead(lines, parse).tags).toEqual(["garden", "日记"]);
});

test.each(tables.silentLines as [string, string[], number[]][])(
  "lines of front matter that are no text: %s",
  (_, lines, silent) => {
    expect([...silentLines(lines)].toSorted((a, b) => a - b)).toEqual(silent);
  },
);

test.each(tables.names as [string, string?][])("the name of %s is %s", (path, name) => {
  expect(nameOfNote(path)).toBe(name);
});

test("emoji in the name of a note are a line of their own", () => {
  expect(pathNames("🇨🇭/🏠 Home.md")).toBe("🏠 Home\n🏠");
});

test("a context is read as it was made", () => {
  const lines = tables.titledLines;
  const file = contextOfNote("2026-03-05", lines, parse);
  const [chunk] = chunkMarkdown(
    [...lines, "## More", ...Array.from({ length: 90 }, () => "word ".repeat(20))],
    { tokens: 400, overlap: 80 },
    file,
  );
  expect(namesIn(chunk?.context ?? "")).toEqual(tables.namesInContext);
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

test("the day that a note was made on is marked, and embedded like any other day", () => {
  const chunkOf = (name: string): TextChunk => {
    const lines = ["---", `${name}: 2026-03-05`, "---", "text"];
    const [chunk] = chunkMarkdown(lines, { tokens: 400, overlap: 80 }, contextOfNote(undefined, lines, parse));
    if (!chunk) throw new Error("no chunk");
    return chunk;
  };
  const [made, of] = [chunkOf("created"), chunkOf("date")];
  expect([made, of].map(({ context }) => namesIn(context).isWrittenDay)).toEqual([true, undefined]);
  expect([made.hash, embeddingText(made)]).toEqual([of.hash, embeddingText(of)]);
});
