import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createOutput } from "../terminal/output.ts";
import { foundIn, printResults, type ResultOptions } from "./print-results.ts";

function print(names: readonly string[], options: ResultOptions, isTTY = false): string {
  const stream = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY }) as unknown as NodeJS.WriteStream;
  const results = names.map((path, index) => ({
    result: { path, startLine: index + 1, endLine: index + 1, score: 0.5, snippet: "", source: "memory" },
    lines: [],
    path: { name: path, absolutePath: undefined },
  }));
  printResults(createOutput(stream, stream, { TERM: "dumb" }), results, "x", options, foundIn(undefined, results));
  return String(stream.read() ?? "");
}

describe("results", () => {
  test("of one note have its path once, where their first one stands", () => {
    expect(print(["b.md", "a.md", "b.md"], { paths: true })).toBe("b.md\na.md\n");
    expect(print(["b.md", "a.md", "b.md"], { paths: true, null: true })).toBe("b.md\0a.md\0");
    expect(print(["b.md", "a.md", "b.md"], { count: true })).toBe("3 passages in 2 notes\n");
    expect(print(["b.md"], { count: true })).toBe("1 passage in 1 note\n");
  });

  test("have names for xargs as they are, and never on a terminal", () => {
    const name = "a\u001B[2J\n.md";
    expect(print([name], { paths: true, null: true })).toBe(`${name}\0`);
    expect(print([name], { paths: true, null: true }, true)).toBe(String.raw`a\u{1B}[2J\u{A}.md` + "\0");
    expect(print([name], { paths: true })).toBe(String.raw`a\u{1B}[2J\u{A}.md` + "\n");
  });

  test("that are none are nothing but a count", () => {
    expect(print([], {})).toBe("");
    expect(print([], { paths: true })).toBe("");
    expect(print([], { count: true })).toBe("0 passages in 0 notes\n");
  });

  test("are apart by an empty line", () => {
    expect(print(["a.md", "b.md"], {})).toBe("0.500 a.md:1\n\n0.500 b.md:2\n");
  });
});
