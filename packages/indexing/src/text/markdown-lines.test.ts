import { describe, expect, test } from "vitest";
import { headingOf, setextLevel, startsFence } from "./chunk-markdown.ts";

describe("headings", () => {
  test.each([
    ["# One", 1, "One"],
    ["###### Six", 6, "Six"],
    ["   ## Indented", 2, "Indented"],
    ["## Closed ##", 2, "Closed"],
    ["## C#", 2, "C#"],
    ["##", 2, ""],
    ["#\t标题", 1, "标题"],
  ])("%j has a level and a title", (line, level, title) => {
    expect(headingOf(line)).toEqual({ level, title });
  });

  test.each(["#tag", "####### seven", "    # code", "text # no", "", "\\# escaped", "\t# code"])(
    "%j is none",
    (line) => {
      expect(headingOf(line)).toBeUndefined();
    },
  );

  test("a line is made one by what stands under it", () => {
    expect(setextLevel("Title", "===")).toBe(1);
    expect(setextLevel("Title", "---")).toBe(2);
    expect(setextLevel("Title", "-----  ")).toBe(2);
    for (const under of ["=", "--", "- - -", "--- text", "", "- item"])
      expect(setextLevel("Title", under)).toBeUndefined();
    for (const line of ["", "- item", "> quote", "| cell |", "12. item", "x".repeat(201)])
      expect(setextLevel(line, "---")).toBeUndefined();
  });
});

describe("code blocks", () => {
  test.each([
    ["```", "```"],
    ["```ts", "```"],
    ["  ````md", "````"],
    ["~~~ `a` b", "~~~"],
  ])("%j begins one", (line, marks) => {
    expect(startsFence(line)).toBe(marks);
  });

  test.each(["``", "```code```", "    ```", "text ```", ""])("%j begins none", (line) => {
    expect(startsFence(line)).toBeUndefined();
  });
});
