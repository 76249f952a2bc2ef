import { MemoryError, parseConfig } from "@memslot/core";
import { createGlob } from "@memslot/core/host";
import picomatch from "picomatch";
import { describe, expect, test } from "vitest";
import { memoryRoots } from "@memslot/indexing/engine";
import tables from "../src/scan/test/paths.json" with { type: "json" };

/** The same numbers in every run. */
function randomFrom(seed: number): <T>(choices: readonly T[]) => T {
  let state = seed;
  return (choices) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const chosen = choices[(state >>> 8) % choices.length];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  };
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

describe("a pattern of extraPaths", () => {
  test.each(tables.patterns as [string, string[], string[]][])("%s", (pattern, fitting, others) => {
    const { matches } = createGlob(pattern);
    expect([...fitting, ...others].filter((path) => matches(path))).toEqual(fitting);
  });

  test("means what it meant with the library that was used before", () => {
    const pick = randomFrom(7);
    const part = (): string => pick(["a", "b", "ab", "*", "*", "?", "[ab]", "[^a]", ".", ".md", "{a,b}", "-"]);
    const segment = (): string => pick([() => "**", () => times(pick([1, 2, 3]), part).join("")])();
    const name = (): string => times(pick([1, 2, 3]), () => pick(["a", "b", "ab", ".", "-", "x", ".md"])).join("");
    let fitting = 0;
    for (let round = 0; round < 400; round++) {
      const pattern = times(pick([1, 2, 3]), segment).join("/");
      // A class or a sign at the beginning of a name has a meaning of its own there for names with a dot.
      if (/(?:^|\/|[{,])\[/u.test(pattern) || /\.\.|\/\.?(?:\/|$)/u.test(pattern)) continue;
      const [own, theirs] = [createGlob(pattern), picomatch(pattern)];
      for (let path = 0; path < 10; path++) {
        const tried = times(pick([1, 2, 3, 4]), name).join("/");
        if (/(?:^|\/)\.{1,2}(?:\/|$)|\.\./u.test(tried)) continue;
        // To it what is below a folder was the folder too, most of the time; a folder is no note.
        if (createGlob(pattern.replace(/(?:\/\*\*)+$/u, "")).matches(tried) && pattern.endsWith("/**")) continue;
        expect([pattern, tried, own.matches(tried)]).toEqual([pattern, tried, theirs(tried)]);
        if (own.matches(tried)) fitting += 1;
      }
    }
    expect(fitting).toBeGreaterThan(100);
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

  test("twice the name takes no more than about twice the steps", () => {
    const stepsFor = (length: number): number => {
      let steps = 0;
      createGlob("*a*a*a*a*a*a*a*a*b").matches("a".repeat(length), () => steps++);
      return steps;
    };
    expect(stepsFor(10_000)).toBeLessThan(2.5 * stepsFor(5000));
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
