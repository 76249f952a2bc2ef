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

  test("is refused when its range cannot be", () => {
    expect(() => parseCitationPath("a.md#L0")).toThrow("counted from 1");
    expect(() => parseCitationPath("a.md#L9-L3")).toThrow("ends where it begins or later");
  });
});
