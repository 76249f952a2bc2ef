import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  nameFromVisible,
  unseenCharacter,
  visibleJson,
  visibleMessage,
  visibleName,
  visibleText,
} from "../src/text/visible-text.ts";

interface Texts {
  /** What people write. It stays byte for byte. */
  needed: Record<string, string>;
  /** What hides something, what is shown in its place, and what it hides first. */
  hidden: Record<string, [given: string, shown: string, first: string]>;
}

// Some of it is half a character, which an import of JSON refuses.
const { needed, hidden } = JSON.parse(
  readFileSync(new URL("data/visible-text.json", import.meta.url), "utf8"),
) as Texts;

describe("a text", () => {
  test.each(Object.entries(needed))("keeps what it needs: %s", (_, text) => {
    expect(visibleText(text)).toBe(text);
    expect(visibleMessage(text)).toBe(text);
    expect(unseenCharacter(text)).toBeUndefined();
  });

  test.each(Object.entries(hidden))("shows that something is hidden: %s", (_, [given, shown, first]) => {
    expect(visibleText(given)).toBe(shown);
    expect(visibleText(shown)).toBe(shown);
    expect(unseenCharacter(given)).toBe(first);
    expect(nameFromVisible(visibleMessage(given))).toBe(given);
  });

  test("keeps its lines, and has the line ends of one system", () => {
    expect(visibleText("a\u200B\r\n\u200B\nb\u2028c\n")).toBe("a\uFFFD\n\uFFFD\nb\uFFFDc\n");
  });

  test("knows for each line which way it runs", () => {
    expect(visibleText("שלום\u200F!\nabc\u200F!\nשלום\u200F!")).toBe("שלום\u200F!\nabc\uFFFD!\nשלום\u200F!");
  });
});

describe("a name", () => {
  test.each([
    ...Object.values(hidden).map(([given]) => given),
    "a\nb\tc\r\nd.md",
    String.raw`a\u{202E}b.md`,
    String.raw`a\\u{5C}u{202E}\u{}.md`,
    "\\",
  ])("is shown on one line and found again: %j", (name) => {
    const shown = visibleName(name);
    expect(shown).not.toMatch(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u{E0000}-\u{E0FFF}]/u);
    expect(nameFromVisible(shown)).toBe(name);
  });

  test.each(Object.values(needed).map((text) => text.replaceAll(/[\t\n]/g, " ")))(
    "stays as it is where nothing is hidden: %s",
    (name) => {
      expect(visibleName(name)).toBe(name);
    },
  );

  test("with a spelling of no character stays as it is", () => {
    expect(nameFromVisible(String.raw`a\u{110000}\u{xyz}.md`)).toBe(String.raw`a\u{110000}\u{xyz}.md`);
  });
});

test.each(Object.values(hidden).map(([given]) => given))("JSON means the same and hides nothing: %j", (text) => {
  const json = visibleJson(JSON.stringify({ text }, undefined, 2));
  expect(JSON.parse(json)).toEqual({ text });
  expect(unseenCharacter(json)).toBeUndefined();
});

test("a character is seen alone as it is seen beside one that nobody sees: the short way leaves none in", () => {
  const codes = Array.from({ length: 0x3000 }, (_, code) => code).concat(
    Array.from({ length: 0x1_0000 - 0xd7f0 }, (_, at) => 0xd7f0 + at),
  );
  // The Arabic letter mark makes its line one from right to left, alone too.
  const differing = codes.filter((code) => {
    if (code === 0x061c) return false;
    const character = String.fromCharCode(code);
    return (visibleText(character) === character) !== visibleText(`${character}\u200B`).startsWith(character);
  });
  expect(differing).toEqual([]);
});
