import { describe, expect, test } from "vitest";
import {
  nameFromVisible,
  unseenCharacter,
  visibleJson,
  visibleMessage,
  visibleName,
  visibleText,
} from "./visible-text.ts";

/** What people write. It stays byte for byte. */
const needed = {
  "pictures of several": "👩‍❤️‍👨 🏴‍☠️ 👁️‍🗨️ 👨‍👩‍👧‍👦 🏳️‍🌈 🧑🏽‍🚀 👍🏽",
  "key caps and looks": "1️⃣ #️⃣ ❤︎ ☎️ ©️ ‼️",
  "flags of regions":
    "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} 🇩🇪 🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
  Persian: "می\u200Cخواهم کتاب\u200Cها را بخوانم، ه\u200D",
  Hindi: "क\u094D\u200Dष क\u094D\u200Cष हिन्दी",
  Sinhala: "ශ\u0DCA\u200Dරී ලංකා",
  Bengali: "র\u200D\u09CDযাব",
  Malayalam: "അവന\u0D4D\u200D",
  Thai: "ภาษาไทย\u200Bง่าย น้ำ",
  Khmer: "ភាសា\u200Bខ្មែរ",
  Mongolian: "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ\u180C",
  "ideographs with a variant": "葛\u{E0100}城市 辻\uFE00 辻\u{E0101}",
  Hebrew: "שלום\u200F! (abc)\u200E בְּרֵאשִׁית",
  Arabic: "السلام عليكم\u061C 5 مُحَمَّد",
  Braille: "⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙",
  "old Hangul": "\u115F\u1161 \u1100\u1160 한국어",
  Vietnamese: "Tie\u0302\u0301ng Việt",
  "marks and spaces": "Oui\u202F! «\u00A0ça\u00A0» 全角　スペース ∩\uFE00 e\u0301\u0323 \u0600١٢٣",
  code: "\tif (a < b) {\n\t\treturn `x`;\n\t}\n",
};

/** What hides something, and what is shown in its place. */
const hidden: Record<string, [given: string, shown: string, first: string]> = {
  "a message in tags": ["hi\u{E0069}\u{E0067}\u{E006E}", "hi\uFFFD", "the tag character U+E0069"],
  "a message behind a flag": [`🏴${"\u{E0061}".repeat(30)}`, "🏴\uFFFD", "the tag character U+E0061"],
  "a word cut by a space of no width": ["pass\u200Bword", "pass\uFFFDword", "the character that nobody sees, U+200B"],
  "joiners between Latin letters": ["a\u200Db\u200Cc", "a\uFFFDb\uFFFDc", "the character that nobody sees, U+200D"],
  "bits in joiners": ["می\u200C\u200C\u200Dخ", "می\uFFFDخ", "the character that nobody sees, U+200C"],
  "bytes in variation selectors": ["😀\uFE0F\u{E0101}\u{E0102}", "😀\uFFFD", "the variation selector U+FE0F"],
  "a selector behind a letter": ["a\uFE0Fb", "a\uFFFDb", "the variation selector U+FE0F"],
  "a turn of the direction": ["abc\u202Egnp.exe", "abc\uFFFDgnp.exe", "the sign of direction U+202E"],
  isolates: ["a\u2066b\u2069", "a\uFFFDb\uFFFD", "the sign of direction U+2066"],
  "a mark of direction without such letters": ["abc\u200E", "abc\uFFFD", "the sign of direction U+200E"],
  "an escape sequence": ["\u001B[31mred\u009B1m", "\uFFFD[31mred\uFFFD1m", "the control character U+001B"],
  "Hangul fillers": ["a\u3164b\uFFA0\u115F\u1160", "a\uFFFDb\uFFFD", "the character that nobody sees, U+3164"],
  "blanks of Braille": ["a\u2800\u2800b", "a\uFFFDb", "the character that nobody sees, U+2800"],
  "a soft hyphen": ["co\u00ADop", "co\uFFFDop", "the character that nobody sees, U+00AD"],
  "a mark of byte order": ["a\uFEFFb", "a\uFFFDb", "the character that nobody sees, U+FEFF"],
  "signs of mathematics that nobody sees": [
    "a\u2061b\u2064",
    "a\uFFFDb\uFFFD",
    "the character that nobody sees, U+2061",
  ],
  "line ends of some programs": [
    "a\u2028b\vc\fd\u0085e\rf",
    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFDf",
    "the line separator U+2028",
  ],
  "notes between lines": ["a\uFFF9b\uFFFAc\uFFFB", "a\uFFFDb\uFFFDc\uFFFD", "the character that nobody sees, U+FFF9"],
  "what is no character": ["a\uFFFFb\u{1FFFE}", "a\uFFFDb\uFFFD", "the character that nobody sees, U+FFFF"],
  "half of a character": ["a\uD800b", "a\uFFFDb", "half of a character (a lone surrogate)"],
};

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
