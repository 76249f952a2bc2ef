import { unseenCharacter } from "@memslot/core/host";
import { describe, expect, test } from "vitest";
import type { Output } from "../terminal/output.ts";
import { createMatcher, type Gap, type NumberedLine } from "@memslot/indexing";
import { formatResult } from "./format-result.ts";
import data from "../../test/data/shown-results.json" with { type: "json" };

const bare: Pick<Output, "style" | "link"> = {
  style: (_: unknown, text: string) => text,
  link: (text: string) => text,
};
const tagged: typeof bare = {
  style: (name: unknown, text: string) => `<${String(name)}>${text}</>`,
  link: (text, { absolutePath, line }) => `[${text}](${absolutePath}, ${line})`,
};

const line = (number: number | undefined, text: string): NumberedLine => ({ kind: "line", number, text });
const gap: Gap = { kind: "gap" };

function format(
  lines: readonly (NumberedLine | Gap)[],
  query: string,
  { output = bare, name = "memory/a.md", explain = false, vectorScore = undefined as number | undefined } = {},
): string[] {
  const result = {
    path: "memory/a.md",
    startLine: 3,
    endLine: 9,
    score: 0.4567,
    textScore: 0.25,
    vectorScore,
    snippet: "",
    source: "memory",
  };
  const placed = { result, lines, path: { name, absolutePath: `/notes/${name}` } };
  return formatResult(placed, createMatcher(query), output, { explain }).split("\n");
}

describe("a result for people", () => {
  test("begins with its score and path:line of the line that holds most of the query", () => {
    const lines = [line(3, "# Mail"), line(4, "The mail server moved."), line(5, "The server is new.")];
    expect(format(lines, "mail server")[0]).toBe("0.457 memory/a.md:4");
    expect(format(lines, "zeppelin")[0]).toBe("0.457 memory/a.md:3");
    expect(format([], "mail")).toEqual(["0.457 memory/a.md:3"]);
  });

  type Shape = [name: string, lines: ("gap" | [number | null, string])[], query: string, expected: string[]];
  test.each(data.shapes as Shape[])("%s", (_name, lines, query, expected) => {
    const given = lines.map((each) => (each === "gap" ? gap : line(each[0] ?? undefined, each[1])));
    expect(format(given, query)).toEqual(expected);
  });

  test("keeps the column of numbers where some are not known", () => {
    expect(format([line(12, "a mail"), line(undefined, "b")], "mail").slice(1)).toEqual(["12: a mail", "  - b"]);
  });

  test("has its matches, its place and its numbers styled, and its place leads to the line", () => {
    const lines = [line(4, "the mails, the mail"), line(5, "x")];
    expect(format(lines, "mail", { output: tagged })).toEqual(data.styled);
  });

  test("marks Chinese by its characters, and cuts nothing off by counting them as narrow", () => {
    const text = "我们把备份服务器搬到了柏林。".repeat(20);
    const [, shown = ""] = format([line(7, text)], "备份服务器", { output: tagged });
    expect(shown.replaceAll(/<[^>]*>/gu, "")).toBe(`7: ${text}`);
    expect(shown.match(/<bold>备份服务器<\/>/gu)).toHaveLength(20);
  });

  test("says with explain what its score is made of", () => {
    expect(format([], "x", { explain: true })[0]).toBe("0.457 memory/a.md:3 (text 0.250)");
    expect(format([], "x", { explain: true, vectorScore: 0.5 })[0]).toBe(
      "0.457 memory/a.md:3 (text 0.250, vector 0.500)",
    );
  });

  test.each(data.hostile)("holds nothing that a terminal obeys: %j", (text) => {
    const shown = format([line(1, text)], "mail", { name: `memory/${text}.md` });
    expect(shown).toHaveLength(2);
    expect(unseenCharacter(shown.join("\n"))).toBeUndefined();
  });
});

describe("a very long line", () => {
  const before = "before ".repeat(2000);
  const after = "after ".repeat(2000);

  test.each([
    ["in the middle", `${before}the mail server ${after}`, /^5: ….*the mail server.*…$/u],
    ["at the beginning", `the mail server ${after}`, /^5: the mail server.*after…?$|^5: the mail server.*…$/u],
    ["at the end", `${before}the mail server`, /^5: ….*the mail server$/u],
    ["nowhere", before, /^5- before.*…$/u],
  ])("is cut so that the first match stands in it: %s", (_, text, expected) => {
    const [, shown = ""] = format([line(5, text)], "mail");
    expect(shown).toMatch(expected);
    expect(shown.length).toBeLessThanOrEqual(3 + 702);
    expect(shown.length).toBeGreaterThan(600);
  });

  test("is never cut inside a character", () => {
    for (let shift = 0; shift < 4; shift++) {
      const text = `${"x".repeat(shift)}${"👍".repeat(800)} mail ${"👍".repeat(800)}`;
      const [, shown = ""] = format([line(5, text)], "mail");
      expect(shown.isWellFormed()).toBe(true);
      expect(shown).not.toContain("\uFFFD");
      expect(shown).toContain("mail");
    }
  });
});
