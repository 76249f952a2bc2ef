import { describe, expect, test } from "vitest";
import { decodeLines, splitLines, whyNotText } from "./file-text.ts";
import tables from "./test/words.json" with { type: "json" };
import { readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { randomFrom } from "@memslot/test-tools/random";

function lines(...bytes: (string | number[])[]): string[] {
  return decodeLines(
    Buffer.concat(bytes.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part)))),
  );
}

describe("lines", () => {
  test.each(tables.lines as [string, string[]][])("%j is counted as an editor counts", (text, expected) => {
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

  test.each(tables.utf16)("UTF-16 is read with a byte order mark and without: %j", (text) => {
    for (const mark of ["\ufeff", ""]) {
      const little = Buffer.from(mark + text, "utf16le");
      for (const bytes of [little, Buffer.from(little).swap16()]) {
        expect(decodeLines(bytes)).toEqual(text.split("\n"));
        expect(whyNotText(bytes)).toBeUndefined();
      }
    }
  });

  test.each(tables.western as [string, string][])("%s in Windows-1252 is %j", (hex, text) => {
    const given = Buffer.concat(
      hex
        .split(/(<[0-9A-F]+>)/)
        .map((part) => (part.startsWith("<") ? Buffer.from(part.slice(1, -1), "hex") : Buffer.from(part))),
    );
    expect(decodeLines(given).join("\n")).toBe(text);
    expect(whyNotText(given)).toBeUndefined();
  });

  test("a NUL byte becomes a space and moves no line", () => {
    expect(lines("a\0b\n\0\nc")).toEqual(["a b", " ", "c"]);
  });

  test("any bytes give well-formed text", () => {
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 197 + (index >> 3)) % 256));
    for (const line of decodeLines(bytes)) expect(line.isWellFormed()).toBe(true);
  });
});

describe("bytes that are text", () => {
  const english = "We moved the budget review to Friday, and Ana keeps the keys of the old mill.\n".repeat(40);
  const russian = "Мы перенесли обсуждение бюджета на пятницу, а ключи от мельницы у Анны.\n".repeat(40);

  function codePage(text: string, first: number): Buffer {
    return Buffer.from(Array.from(text, (letter) => codeOf(letter.codePointAt(0) ?? 0, first)));
  }

  function codeOf(code: number, first: number): number {
    return code < 128 ? code : 0x80 + ((code - first) & 0x7f);
  }

  function randomBytes(length: number): Buffer {
    const random = randomFrom(7);
    return Buffer.from(Array.from({ length }, () => random.below(256)));
  }

  describe("text", () => {
    test.each<[string, string | Buffer]>([
      ["nothing", ""],
      ["English", english],
      ["Russian in UTF-8", russian],
      ["emoji and CJK", "你好,世界 👩‍👩‍👧 ".repeat(100)],
      ["a byte order mark", `\ufeff${english}`],
      ["UTF-16 with a byte order mark", Buffer.from(`\ufeff${english}`, "utf16le")],
      ["UTF-16 the other way round", Buffer.from(`\ufeff${english}`, "utf16le").swap16()],
      ["colours of a terminal", "\u001b[31mred\u001b[0m and a bell \u0007\n".repeat(50)],
      ["a stray NUL", "before\0after\n"],
      ["some NULs in a short text", "budget \0 caf\0\0\nreview"],
      ["the tail that a machine without power leaves", Buffer.concat([Buffer.from(english), Buffer.alloc(8192)])],
      ["German in Latin-1", codePage("Die Brücke über die Straße wird im März schöner.\n".repeat(40), 0x80)],
      ["this file", readFileSync(import.meta.filename)],
    ])("is %s", (_, content) => {
      expect(whyNotText(Buffer.from(content))).toBeUndefined();
    });
  });

  describe("no text", () => {
    test.each<[string, Buffer]>([
      ["random bytes", randomBytes(3000)],
      ["bytes that were packed", deflateRawSync(randomBytes(1000))],
      ["every byte there is", Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 37) % 256))],
      ["numbers", Buffer.from(new Uint32Array(Array.from({ length: 500 }, (_, index) => index)).buffer)],
      ["a file that was not downloaded", Buffer.alloc(4096)],
      ["a file that was never written", Buffer.alloc(4096).fill(0, 0, 4095).fill(1, 4095)],
      ["UTF-32", Buffer.from(Array.from(english, (letter) => [letter.charCodeAt(0), 0, 0, 0]).flat())],
      ["two words in a code page", codePage("Да, нет\n", 0x400)],
      ["Russian in a code page", codePage(russian, 0x400)],
      ...(tables.otherCodePages as [string, string][]).map(([name, hex]): [string, Buffer] => [
        name,
        Buffer.from(hex, "hex"),
      ]),
      ["a text that a large binary begins with", Buffer.concat([Buffer.from(english), randomBytes(100_000)])],
    ])("is %s", (_, content) => {
      expect(whyNotText(content)).toMatch(/^file\.(?:notText|nul)$/);
    });
  });
});
