import { MemoryError, parseConfig } from "@memslot/core";
import { createGlob } from "@memslot/core/host";
import { describe, expect, test } from "vitest";
import { memoryRoots } from "@memslot/indexing/engine";
import tables from "../src/scan/test/paths.json" with { type: "json" };

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

describe("a pattern of extraPaths", () => {
  test.each(tables.patterns as [string, string[], string[]][])("%s", (pattern, fitting, others) => {
    const { matches } = createGlob(pattern);
    expect([...fitting, ...others].filter((path) => matches(path))).toEqual(fitting);
  });
});

describe("a pattern that was made to take for ever", () => {
  const hostile: [pattern: string, path: string][] = [
    ["*a*a*a*a*b.md", `${"a".repeat(250)}.md`],
    [`${"*a".repeat(32)}b.md`, `${"a".repeat(250)}.md`],
    [`${"a*".repeat(31)}b`, "a".repeat(250)],
    [`${"**/".repeat(30)}b.md`, `${"a/".repeat(400)}a.md`],
    [`${"**/a*/".repeat(15)}b.md`, `${"aaaa/".repeat(400)}a.md`],
    [`${"?*".repeat(16)}b`, "a".repeat(250)],
    [`{${times(60, () => "*a*a").join(",")}}`.slice(0, 60) + "}*b.md", `${"a".repeat(250)}.md`],
    [`!${"*a".repeat(30)}b.md`, `${"a".repeat(250)}.md`],
  ];

  test.each(hostile)("ends after a number of steps that grows with its length: %s", (pattern, path) => {
    let steps = 0;
    createGlob(pattern).matches(path, () => steps++);
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThan(4 * pattern.length * path.length);
  });

  const config = (pattern: string) => (): unknown =>
    parseConfig(
      { agents: { defaults: { memorySearch: { extraPaths: ["ok", { path: "docs", pattern }] } } } },
      { baseDir: "/base", stateDir: "/state", env: { HOME: "/home" } },
    );

  test.each(tables.refusedPatterns as [string, string, string][])(
    "is refused with the key and the pattern where the configuration is read: %s",
    (_what, pattern, words) => {
      expect(config(pattern)).toThrow(
        expect.objectContaining({
          code: "CONFIG",
          message: expect.stringMatching(/memorySearch\.extraPaths: the pattern "/u),
        }),
      );
      expect(config(pattern)).toThrow(words);
      const settings = { extraPaths: [{ path: "docs", pattern }], notes: "agent" } as const;
      expect(() => memoryRoots({ workspaceDir: "/notes", settings })).toThrow(MemoryError);
    },
  );

  test("up to the bounds it is taken", () => {
    for (const pattern of ["*a".repeat(32), "{a,b}".repeat(6), "a".repeat(1000)]) expect(config(pattern)).not.toThrow();
  });
});
