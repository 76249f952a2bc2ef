import { describe, expect, test } from "vitest";
import { splitLongLine } from "./split-long-line.ts";
import { estimateTokens } from "./token-weight.ts";
import { randomFrom, randomSentence, randomText } from "@memslot/test-tools/random";

function pieces(line: string, tokens: number, overlap: number): string[] {
  return [...splitLongLine(line, tokens, overlap)];
}

describe("a long line", () => {
  test("that fits stays whole", () => {
    expect(pieces("short line", 400, 80)).toEqual(["short line"]);
    expect(pieces("", 400, 80)).toEqual([]);
    expect(pieces("   ", 400, 80)).toEqual([]);
  });

  test("is cut after sentences", () => {
    const cut = pieces("The first sentence is here. ".repeat(50), 100, 0);
    for (const piece of cut) expect(piece).toMatch(/^The .* here\.$/);
    expect(cut.join(" ")).toBe("The first sentence is here. ".repeat(50).trim());
  });

  test("is cut after Chinese sentences, which have no space behind them", () => {
    const cut = pieces("今天我们决定重建索引。".repeat(100), 100, 0);
    for (const piece of cut) expect(piece).toMatch(/^今.*。$/);
  });

  test("is cut between words where no sentence ends", () => {
    const cut = pieces("alpha beta gamma delta ".repeat(100), 100, 0);
    for (const piece of cut) expect(piece).toMatch(/^(alpha|beta|gamma|delta)\b.*\b(alpha|beta|gamma|delta)$/);
  });

  test("a number with a point and a file name are no ends of a sentence", () => {
    for (let shift = 0; shift < 25; shift++) {
      const cut = pieces(`${"x".repeat(shift)} ${"see node.js 3.14 and ".repeat(60)}`, 100, 0);
      for (const piece of cut) expect(piece).not.toMatch(/^(js|14)/);
    }
  });

  test("without any break is cut between characters", () => {
    const cut = pieces("x".repeat(2000), 100, 20);
    expect(cut.join("")).toBe("x".repeat(2000));
    expect(cut.every((piece) => piece.length <= 400)).toBe(true);
  });

  test("never inside a surrogate pair", () => {
    for (const shift of ["", "a", "ab"]) {
      const cut = pieces(shift + "𠮷👍".repeat(500), 100, 20);
      expect(cut.every((piece) => piece.isWellFormed())).toBe(true);
      expect(cut.join("")).toBe(shift + "𠮷👍".repeat(500));
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

  test("any line: the pieces are within the limit, parts of the line, in order, and lose nothing", () => {
    const random = randomFrom(5);
    for (let round = 0; round < 300; round++) {
      const text = (random.chance(0.5) ? randomSentence(random, 300) : randomText(random, 600)).toWellFormed();
      const [tokens, overlap] = random.pick([
        [40, 0],
        [40, 10],
        [100, 99],
      ] as const);
      let reached = 0;
      let from = 0;
      for (const piece of pieces(text, tokens, overlap)) {
        expect(estimateTokens(piece)).toBeLessThanOrEqual(tokens);
        const at = text.indexOf(piece, from);
        expect(at, `round ${round}`).toBeGreaterThanOrEqual(0);
        expect(text.slice(reached, at).trim(), `round ${round}: lost text`).toBe("");
        from = at + 1;
        reached = Math.max(reached, at + piece.length);
      }
      expect(text.slice(reached).trim(), `round ${round}: lost text`).toBe("");
    }
  });
});
