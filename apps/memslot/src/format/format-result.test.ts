import { unseenCharacter } from "@memslot/core";
import { describe, expect, test } from "vitest";
import type { Gap, NumberedLine } from "@memslot/indexing";
import type { Output } from "../terminal/output.ts";
import { createMatcher } from "@memslot/indexing";
import { formatResult } from "./format-result.ts";

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

  test("has its lines with their numbers below each other, and : before those that match", () => {
    expect(format([line(8, "# Mail"), line(9, ""), gap, line(10, "text"), line(100, "a mail")], "mail")).toEqual([
      "0.457 memory/a.md:8",
      "  8: # Mail",
      "  9-",
      "…",
      " 10- text",
      "100: a mail",
    ]);
  });

  test("of a conversation has no numbers, and the line that the result names", () => {
    expect(format([line(undefined, "user: the mail"), line(undefined, "assistant: yes")], "mail")).toEqual([
      "0.457 memory/a.md:3",
      "user: the mail",
      "assistant: yes",
    ]);
  });

  test("begins with the line that matches also where a heading above it holds more of the query", () => {
    expect(format([line(undefined, "# Mail server"), line(12, "x"), line(13, "the mail")], "mail server")).toEqual([
      "0.457 memory/a.md:13",
      "  : # Mail server",
      "12- x",
      "13: the mail",
    ]);
  });

  test("keeps the column of numbers where some are not known", () => {
    expect(format([line(12, "a mail"), line(undefined, "b")], "mail").slice(1)).toEqual(["12: a mail", "  - b"]);
  });

  test("has its matches, its place and its numbers styled, and its place leads to the line", () => {
    expect(format([line(4, "the mails, the mail"), line(5, "x")], "mail", { output: tagged })).toEqual([
      "<green>0.457</> [<cyan>memory/a.md:4</>](/notes/memory/a.md, 4)",
      "<dim>4:</> the <bold>mails</>, the <bold>mail</>",
      "<dim>5-</> x",
    ]);
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

  test.each([
    "\u001B[31mred\u001B[0m mail",
    "\u001B]8;;http://x\u0007mail\u001B]8;;\u0007",
    "mail\r\u009B2J",
    "mail\u202Eliam",
    "ma\u200Bil mail",
    "mail\u0000\u0007",
  ])("holds nothing that a terminal obeys: %j", (text) => {
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
