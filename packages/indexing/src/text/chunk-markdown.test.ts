import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { chunkMarkdown, type TextChunk } from "./chunk-markdown.ts";
import { furtherData, withoutData } from "./encoded-data.ts";
import { readNoteHead } from "./note-head.ts";
import { estimateTokens, splitLongLine } from "./split-by-tokens.ts";
import { expectSoundChunks, expectSoundPieces } from "./test/any-text.ts";
import { fill } from "../../test/support/secret-examples.ts";
import tables from "./test/chunks.json" with { type: "json" };

const usual = { tokens: 400, overlap: 80 };

function cut(lines: readonly string[], options = usual): TextChunk[] {
  return [...chunkMarkdown(lines, options, { head: readNoteHead(lines, parse) })];
}

function line(name: string, tokens: number): string {
  return `${name} ${"word ".repeat(tokens)}`.slice(0, tokens * 4).trimEnd();
}

function linesOf(count: number, tokens: number): string[] {
  return Array.from({ length: count }, (_, index) => line(`line${index + 1}`, tokens));
}

describe("line ranges", () => {
  test.each(tables.cut as [string, string[], object[]][])("%s", (_, lines, expected) => {
    expect(cut(lines)).toMatchObject(expected);
  });

  test("nothing comes of an empty file, blank lines or rulers", () => {
    expect(cut([])).toEqual([]);
    expect(cut(["", "  ", "\t"])).toEqual([]);
    expect(cut(["---", "", "***"])).toEqual([]);
  });

  test("the hash names context and text", () => {
    const [chunk] = cut(["text"]);
    expect(chunk?.hash).toBe(createHash("sha256").update("\0text").digest("hex"));
    const [first, second] = ["# A", "# B"].map((title) => cut([title, ...linesOf(2, 210), "same"]).at(-1)?.hash);
    expect(first).not.toBe(second);
  });
});

describe("size", () => {
  test("no chunk is larger than the limit, and each is nearly full", () => {
    const chunks = cut(linesOf(200, 20));
    for (const chunk of chunks) expect(estimateTokens(chunk.text)).toBeLessThanOrEqual(400);
    for (const chunk of chunks.slice(0, -1)) expect(estimateTokens(chunk.text)).toBeGreaterThan(370);
  });

  test("each chunk begins with the end of the one before, and with no more than the overlap", () => {
    const lines = linesOf(200, 20);
    const chunks = cut(lines);
    expect(chunks.length).toBeGreaterThan(10);
    for (const [index, chunk] of chunks.slice(1).entries()) {
      const shared = lines.slice(chunk.startLine - 1, chunks[index]?.endLine);
      expect(shared.length).toBe(3);
      expect(estimateTokens(shared.join("\n"))).toBeLessThanOrEqual(80);
    }
  });

  test("no chunk is nothing but the end of the one before", () => {
    for (const blanks of [0, 1, 5, 300]) {
      for (let count = 1; count < 45; count++) {
        const lines = [...linesOf(count, 20), ...Array.from({ length: blanks }, () => "")];
        const ends = cut(lines).map(({ endLine }) => endLine);
        expect(new Set(ends).size).toBe(ends.length);
      }
    }
  });

  test("without overlap no line stands twice", () => {
    const numbers = cut(linesOf(100, 20), { tokens: 400, overlap: 0 }).flatMap(({ startLine, endLine }) => [
      startLine,
      endLine,
    ]);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test("Chinese lines fill a chunk sooner", () => {
    expect(estimateTokens("abcdefgh")).toBe(2);
    expect(estimateTokens("𠮷")).toBeCloseTo(1.4);
    expect(estimateTokens("数据库".repeat(100))).toBeGreaterThan(2 * estimateTokens("abc".repeat(100)));
    const chinese = cut(Array.from({ length: 60 }, () => "今天我们决定重建数据库的索引然后再跑一次全部的测试。"));
    const english = cut(Array.from({ length: 60 }, () => "abcdefghijklmnopqrstuvwxyz"));
    expect(chinese.length).toBeGreaterThan(english.length * 1.8);
  });
});

describe("headings", () => {
  test("a heading begins a new chunk once the running one is half full", () => {
    const chunks = cut(["# One", ...linesOf(12, 20), "# Two", "short", "# Three", "short"]);
    expect(chunks.map(({ startLine, endLine }) => [startLine, endLine])).toEqual([
      [1, 13],
      [14, 17],
    ]);
  });

  /** A number stands for so many lines. */
  test.each(tables.headings as [string, (string | number)[], string[]][])("%s", (_what, parts, contexts) => {
    const chunks = cut(parts.flatMap((part) => (typeof part === "number" ? linesOf(part, 20) : part)));
    expect([...new Set(chunks.map((chunk) => chunk.context))]).toEqual(contexts);
    for (const { context, text } of chunks) if (context.includes(" > ")) expect(text).not.toContain("Project");
  });

  test("a chunk that begins with its heading has only those above it as context", () => {
    const chunks = cut(["# A", ...linesOf(15, 20), "## B", ...linesOf(5, 20)]);
    expect(chunks.at(-1)).toMatchObject({ startLine: 17, context: "A" });
  });

  test.each(tables.contexts as [string[], string][])("%j lead to the context %j", (lines, context) => {
    expect(cut([...lines, ...linesOf(40, 20)]).at(-1)?.context).toBe(context);
  });

  test("what all of the file stands under comes before the headings, once", () => {
    const more = linesOf(40, 20);
    const contexts = (lines: string[]): string[] =>
      [...chunkMarkdown(lines, usual, { above: ["2026-03-05"] })].map(({ context }) => context);
    expect(contexts(["text"])).toEqual(["2026-03-05"]);
    expect(contexts(["# Trip", ...more]).at(-1)).toBe("2026-03-05 > Trip");
    expect(contexts(["# 2026-03-05", "## Trip", ...more]).at(-1)).toBe("2026-03-05 > Trip");
  });

  test("a very long heading is not repeated in full with every chunk", () => {
    const context = cut([`# ${"x".repeat(199)}👍${"x".repeat(5000)}`, ...linesOf(40, 20)]).at(-1)?.context ?? "";
    expect(context).toBe("x".repeat(199));
  });

  test.each([
    ["a heading with 50,000 spaces", `# a${" ".repeat(50_000)}b`],
    ["50,000 back-ticks", `${"`".repeat(50_000)}x\``],
    ["50,000 marks of a ruler", `${"-".repeat(50_000)}x`],
    ["50,000 hashes", `# a ${"#".repeat(50_000)} b`],
    ["50,000 spaces", `${" ".repeat(50_000)}x`],
  ])(
    "%s are read in one go",
    (_, text) => {
      // Superlinear work would exceed the test timeout.
      expect(cut([text, text, "text"]).length).toBeGreaterThan(0);
    },
    20_000,
  );
});

describe("code blocks", () => {
  const block = (tokens: number): string[] => ["```ts", ...linesOf(Math.floor(tokens / 20), 19), "```"];

  test.each([100, 300, 380])("a block of %i tokens is not torn, wherever it stands", (tokens) => {
    for (let before = 0; before < 40; before++) {
      const lines = [...linesOf(before, 20), ...block(tokens), ...linesOf(10, 20)];
      const [from, to] = [before + 1, before + block(tokens).length];
      const whole = cut(lines).some((chunk) => chunk.startLine <= from && chunk.endLine >= to);
      expect(whole, `after ${before} lines`).toBe(true);
    }
  });

  test.each(tables.fences as [string, boolean][])(
    "%j begins one, which goes to the end of the file where it is never closed: %s",
    (fence, isBlock) => {
      expect(cut([fence, "# Heading", ...linesOf(40, 20)]).at(-1)?.context).toBe(isBlock ? "" : "Heading");
    },
  );
});

describe("data", () => {
  test.each(tables.data as [string, string, string?][])("%s", (_, text, expected) => {
    const lines = fill(text).split("\n");
    const kept = withoutData(lines);
    expect(kept).toHaveLength(lines.length);
    if (expected === undefined) expect(kept).toEqual(lines);
    else expect(kept.filter((own) => own !== "").join("\n")).toBe(expected);
    expect(withoutData(kept)).toEqual(kept);
  });

  test("far behind its mark ends a chunk, and the lines behind it keep their numbers", () => {
    const lines = ["# Porch", ...fill("‹lines 100›").split("\n"), "tiles"];
    expect(withoutData(lines).filter((own) => own === furtherData)).toHaveLength(60);
    expect(cut(withoutData(lines))).toMatchObject([
      { startLine: 1, endLine: 2, text: "# Porch\n[…]" },
      { startLine: 103, endLine: 103, text: "tiles", context: "Porch" },
    ]);
  });

  test.each([
    ["a run", "ab3D".repeat(4 << 20), 3],
    ["addresses", '"data:image/png,'.repeat(1 << 20), 1 << 24],
    ["short runs", `${"a1B".repeat(60)}.`.repeat(90_000), 90_000 * 181],
    ["runs between dots", `${"3f".repeat(100)}.`.repeat(80_000), 80_000 * 4],
  ])("in a line of 16 MiB of %s is found", (_, text, length) => {
    expect(withoutData([text])[0]).toHaveLength(length);
  });
});

describe("long lines", () => {
  test("the lines around it keep their numbers, and its headings are its context", () => {
    const chunks = cut(["# Log", "before", "x".repeat(5000), "after"]);
    expect(chunks[0]).toMatchObject({ startLine: 1, endLine: 2 });
    expect(chunks.at(-1)).toMatchObject({ startLine: 4, endLine: 4, text: "after", context: "Log" });
    for (const chunk of chunks.slice(1, -1)) expect(chunk).toMatchObject({ startLine: 3, endLine: 3, context: "Log" });
  });

  test("a code block that begins with a long line is still a code block", () => {
    const lines = ["```" + "x".repeat(4000), "# no heading", "```", "# Real", ...linesOf(40, 20)];
    expect(cut(lines).at(-1)?.context).toBe("Real");
  });
});

test("any of 40 texts: chunks are the lines that they name, cover every line with a word, and respect the limit", () => {
  expectSoundChunks({ seed: 42, texts: 40 });
});

function pieces(line: string, tokens: number, overlap: number): string[] {
  return [...splitLongLine(line, tokens, overlap)];
}

describe("a long line", () => {
  test("that fits stays whole", () => {
    expect(pieces("short line", 400, 80)).toEqual(["short line"]);
    expect(pieces("", 400, 80)).toEqual([]);
    expect(pieces("   ", 400, 80)).toEqual([]);
  });

  test.each(tables.ends as [string, string, string][])("is cut %s", (_where, part, whole) => {
    for (const piece of pieces(part.repeat(100), 100, 0)) expect(piece).toMatch(new RegExp(whole, "u"));
    if (part.endsWith(". ")) expect(pieces(part.repeat(50), 100, 0).join(" ")).toBe(part.repeat(50).trim());
  });

  test("a number with a point and a file name are no ends of a sentence", () => {
    for (let shift = 0; shift < 25; shift++) {
      const cut = pieces(`${"x".repeat(shift)} ${"see node.js 3.14 and ".repeat(60)}`, 100, 0);
      for (const piece of cut) expect(piece).not.toMatch(/^(js|14)/);
    }
  });

  test("each piece begins with the end of the one before, by no more than the overlap", () => {
    const text = Array.from({ length: 1000 }, (_, index) => `w${index}`).join(" ");
    const cut = pieces(text, 100, 20);
    expect(cut.length).toBeGreaterThan(10);
    for (const [index, piece] of cut.slice(1).entries()) {
      const before = cut[index] ?? "";
      const shared = before.slice(before.lastIndexOf(` ${piece.split(" ")[0]} `) + 1);
      expect(piece.startsWith(shared)).toBe(true);
      expect(estimateTokens(shared)).toBeGreaterThan(10);
      expect(estimateTokens(shared)).toBeLessThanOrEqual(20);
    }
  });

  test("any of 100 lines: the pieces are within the limit, parts of the line, in order, and lose nothing", () => {
    expectSoundPieces({ seed: 5, lines: 100 });
  });
});
