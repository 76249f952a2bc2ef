import { describe, expect, test } from "vitest";
import { parseCitationPath } from "../commands/memory/memory-get.ts";

describe("a path copied out of a result", () => {
  test("may name no lines", () => {
    expect(parseCitationPath("memory/2026-03-14.md")).toEqual({ path: "memory/2026-03-14.md" });
  });

  test("may name one line or a range, with or without the second L", () => {
    expect(parseCitationPath("a.md#L7")).toEqual({ path: "a.md", from: 7, lines: 1 });
    expect(parseCitationPath("a.md#L3-L9")).toEqual({ path: "a.md", from: 3, lines: 7 });
    expect(parseCitationPath("a.md#L3-9")).toEqual({ path: "a.md", from: 3, lines: 7 });
  });

  test("keeps a # that begins no line range as a part of the name", () => {
    expect(parseCitationPath("memory/c#.md")).toEqual({ path: "memory/c#.md" });
    expect(parseCitationPath("memory/c#.md#L2")).toEqual({ path: "memory/c#.md", from: 2, lines: 1 });
  });

  test("may name lines as compilers and grep do", () => {
    expect(parseCitationPath("a.md:7")).toEqual({ path: "a.md", from: 7, lines: 1 });
    expect(parseCitationPath("a.md:3-9")).toEqual({ path: "a.md", from: 3, lines: 7 });
    expect(parseCitationPath("a.md:7:")).toEqual({ path: "a.md", from: 7, lines: 1 });
    expect(parseCitationPath("a.md:7:12")).toEqual({ path: "a.md", from: 7, lines: 1 });
  });

  test.each([
    "memory/10:30.md",
    "memory/a:3/b.md",
    "a:7-9.md",
    String.raw`C:\notes\a.md`,
    "C:/notes/a.md",
    "a.md:",
    "a.md:x",
    "a.md:-3",
  ])("keeps a colon that is followed by no line: %s", (name) => {
    expect(parseCitationPath(name)).toEqual({ path: name });
  });

  test.each(["memory/10:30.md", "memory/a:3/b.md", String.raw`C:\notes\a.md`, "1:2:3.md", "c#.md", "line\nend.md"])(
    "finds the lines behind a name with a colon: %s",
    (name) => {
      expect(parseCitationPath(`${name}:12-20`)).toEqual({ path: name, from: 12, lines: 9 });
      expect(parseCitationPath(`${name}:5`)).toEqual({ path: name, from: 5, lines: 1 });
    },
  );

  test.each(["a.md#L0", "a.md#L9-L3", "a.md:0", "a.md:9-3", "a.md:0-3", "a.md:12345678901", "a.md:1-12345678901"])(
    "is refused when its range cannot be: %s",
    (text) => {
      expect(() => parseCitationPath(text)).toThrow(`${text}: lines are counted from 1`);
      expect(() => parseCitationPath(text)).toThrow("ends where it begins or later");
    },
  );
});
