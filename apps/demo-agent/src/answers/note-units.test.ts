import { expect, test } from "vitest";
import { noteUnits } from "./note-units.ts";

const shape = (text: string, firstLine?: number): unknown[] =>
  noteUnits(text, firstLine).map(({ startLine, endLine, text: quoted }) => [startLine, endLine, quoted]);

test("list items, with the lines that go on with them, and paragraphs are units", () => {
  const text = [
    "# Title",
    "",
    "A paragraph",
    "of two lines.",
    "",
    "- one",
    "  goes on",
    "- two",
    "3. three",
    "",
    "Last.",
  ];
  expect(shape(text.join("\n"))).toEqual([
    [3, 4, "A paragraph of two lines."],
    [6, 7, "one goes on"],
    [8, 8, "two"],
    [9, 9, "three"],
    [11, 11, "Last."],
  ]);
});

test("a unit knows its headings and the items above it", () => {
  const text = "# A\n## B\n### C\n- parent\n  - child\n    - grandchild\n  - sibling\n## D\nplain";
  expect(noteUnits(text).map(({ text: quoted, headings, surroundings }) => [quoted, headings, surroundings])).toEqual([
    ["parent", ["A", "B", "C"], ""],
    ["child", ["A", "B", "C"], "parent"],
    ["grandchild", ["A", "B", "C"], "parent child"],
    ["sibling", ["A", "B", "C"], "parent"],
    ["plain", ["A", "D"], ""],
  ]);
});

test("a table row is read with the names of its columns", () => {
  const text =
    "| name | port | note |\n| --- | ---: | :-: |\n| web | 443 |  |\n| a \\| b | 22 | x |\n\n| id |\n|---|\n| 7 |";
  expect(shape(text)).toEqual([
    [3, 3, "name: web · port: 443"],
    [4, 4, "name: a \\| b · port: 22 · note: x"],
    [8, 8, "id: 7"],
  ]);
});

test("lines of code are units that know the text before them, and headings in code are none", () => {
  const text = "# T\nClone it:\n```sh\n# comment\ngit clone x\n```\n# U\n- a";
  expect(
    noteUnits(text).map(({ startLine, text: quoted, headings, surroundings }) => [
      startLine,
      quoted,
      headings,
      surroundings,
    ]),
  ).toEqual([
    [2, "Clone it:", ["T"], ""],
    [4, "# comment", ["T"], "Clone it:"],
    [5, "git clone x", ["T"], "Clone it:"],
    [8, "a", ["U"], ""],
  ]);
});

test("front matter is no unit, and a window keeps the file's line numbers", () => {
  expect(shape("---\ntitle: x\n---\nText.")).toEqual([[4, 4, "Text."]]);
  expect(shape("Text.\n- item", 40)).toEqual([
    [40, 40, "Text."],
    [41, 41, "item"],
  ]);
});

test("an empty text has no units", () => {
  expect(noteUnits("")).toEqual([]);
  expect(noteUnits("# Only a heading\n\n---\n")).toEqual([]);
});
