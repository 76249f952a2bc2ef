import { describe, expect, test } from "vitest";
import { decodeLines, splitLines } from "./file-text.ts";

function lines(...bytes: (string | number[])[]): string[] {
  return decodeLines(
    Buffer.concat(bytes.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part)))),
  );
}

describe("lines", () => {
  test.each([
    ["", []],
    ["\n", [""]],
    ["\r\n", [""]],
    ["a", ["a"]],
    ["a\n", ["a"]],
    ["a\nb", ["a", "b"]],
    ["a\r\nb\r\n", ["a", "b"]],
    ["a\n\n\nb\n", ["a", "", "", "b"]],
    ["\n\na", ["", "", "a"]],
    ["a\rb\n", ["a\rb"]],
    ["a\r\r\nb", ["a\r", "b"]],
    ["mixed\r\nline\nends\r\n", ["mixed", "line", "ends"]],
  ])("%j is counted as an editor counts", (text, expected) => {
    expect(splitLines(text)).toEqual(expected);
  });

  test("every character but the line ends is kept, in its place", () => {
    const text = "  a\tb \u2028 c\u0085d\n\u000b\u000c\n";
    expect(splitLines(text).join("\n")).toBe(text.slice(0, -1));
  });
});

describe("bytes", () => {
  test("a byte order mark is no part of the first line", () => {
    expect(lines([0xef, 0xbb, 0xbf], "# Title\n")).toEqual(["# Title"]);
    expect(lines("a\ufeffb")).toEqual(["a\ufeffb"]);
  });

  test("UTF-16 with its byte order mark is read", () => {
    const text = "# Títle 数据\r\nline";
    const little = Buffer.from(`\ufeff${text}`, "utf16le");
    expect(decodeLines(little)).toEqual(["# Títle 数据", "line"]);
    expect(decodeLines(Buffer.from(little).swap16())).toEqual(["# Títle 数据", "line"]);
  });

  test("bytes that are not UTF-8 are replaced and the rest is there", () => {
    expect(lines("caf", [0xe9], " next\nline")).toEqual(["caf\ufffd next", "line"]);
  });

  test("a NUL byte becomes a space and moves no line", () => {
    expect(lines("a\0b\n\0\nc")).toEqual(["a b", " ", "c"]);
  });

  test("any bytes give well-formed text", () => {
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 197 + (index >> 3)) % 256));
    for (const line of decodeLines(bytes)) expect(line.isWellFormed()).toBe(true);
  });
});
