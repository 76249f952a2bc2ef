import { describe, expect, test } from "vitest";
import {
  type Gap,
  type NumberedLine,
  type SnippetPlace,
  findInFile,
  numberByPlace,
  withGaps,
} from "./numbered-lines.ts";

/** `3 text` for a line, `? text` where its number is not known, `…` for a gap. */
function shown(lines: readonly (NumberedLine | Gap)[] | undefined): string[] | undefined {
  return lines?.map((line) => (line.kind === "gap" ? "…" : `${line.number ?? "?"} ${line.text}`));
}

const place = (snippet: string, startLine: number, endLine: number): SnippetPlace => ({ snippet, startLine, endLine });

describe("the numbers of a snippet, without its file", () => {
  test("count on where it is all of its range", () => {
    expect(shown(numberByPlace(place("a\n\nb", 7, 9)))).toEqual(["7 a", "8 ", "9 b"]);
  });

  test("are those that the result names", () => {
    const lines = [
      [2, 2],
      [5, 6],
    ] as const;
    expect(shown(numberByPlace({ ...place("a\n…\nb\nc\n…", 2, 9), lines }))).toEqual(["2 a", "…", "5 b", "6 c", "…"]);
  });

  test("are not those that the result names where these are more or fewer lines", () => {
    expect(numberByPlace({ ...place("a\n…\nb", 2, 9), lines: [[2, 9]] })).toBeUndefined();
  });

  test("of pieces of one long line are that of the line", () => {
    expect(shown(numberByPlace(place("…one\n…\ntwo…", 4, 4)))).toEqual(["4 …one", "…", "4 two…"]);
  });

  test("are not guessed where lines may be left out, also if there are as many lines as the range has", () => {
    expect(numberByPlace(place("…\na\nb", 1, 3))).toBeUndefined();
    expect(numberByPlace(place("a\nb", 1, 3))).toBeUndefined();
  });
});

describe("the numbers of a snippet, by its file", () => {
  const file = ["# Title", "", "a", "", "b", "x", "a", "c", "the end of it"];

  test.each([
    ["blank lines that were left out are passed over", "# Title\na\nb", ["10 # Title", "12 a", "14 b"]],
    ["behind a gap it goes on further down", "# Title\n…\nx\na", ["10 # Title", "…", "15 x", "16 a"]],
    ["lines that follow each other are looked for together", "…\na\nc", ["…", "16 a", "17 c"]],
    ["a cut line is found by what is left of it", "…\n…end of…", ["…", "18 …end of…"]],
    ["a gap at the end is one", "# Title\n…", ["10 # Title", "…"]],
    ["what stands above a gap is not found below it", "b\n…\na", ["14 b", "…", "16 a"]],
    ["blank lines that are shown count", "# Title\n\na", ["10 # Title", "11 ", "12 a"]],
  ])("%s", (_, snippet, expected) => {
    expect(shown(findInFile(place(snippet, 10, 18), file))).toEqual(expected);
  });

  test("are found for a line that has lost a secret", () => {
    const lines = ["first", "login: anna, password: hunter2, host: alder"];
    const snippet = "…\nlogin: anna, password: [redacted], host: alder";
    expect(shown(findInFile(place(snippet, 1, 2), lines))).toEqual([
      "…",
      "2 login: anna, password: [redacted], host: alder",
    ]);
  });

  test("are left out where the text is not of this file: it has changed, or is a conversation", () => {
    expect(shown(findInFile(place("user: a\nassistant: b", 10, 18), file))).toEqual(["? user: a", "? assistant: b"]);
    expect(shown(findInFile(place("b\na\nb", 10, 18), file))).toEqual(["? b", "? a", "? b"]);
    expect(shown(findInFile(place("a", 1, 9), []))).toEqual(["? a"]);
  });

  test("of any choice of lines are theirs", () => {
    const lines = Array.from({ length: 12 }, (_, index) => (index % 4 === 3 ? "" : `line ${index}`));
    let checked = 0;
    for (let choice = 1; choice < 2 ** 12; choice++) {
      const chosen = lines.flatMap((text, index) => ((choice >> index) & 1 && text !== "" ? [index] : []));
      if (chosen.length === 0) continue;
      const parts = chosen.flatMap((index, at) => {
        const left = lines.slice((chosen[at - 1] ?? -1) + 1, index).some((text) => text !== "");
        return left ? ["…", lines[index] ?? ""] : [lines[index] ?? ""];
      });
      const numbers = findInFile(place(parts.join("\n"), 1, 12), lines);
      expect(numbers.flatMap((line) => (line.kind === "line" ? [line.number] : []))).toEqual(
        chosen.map((index) => index + 1),
      );
      checked++;
    }
    expect(checked).toBe(4088);
  });
});

test("between lines that are no neighbours stands a gap", () => {
  const line = (number: number): NumberedLine => ({ kind: "line", number, text: "x" });
  expect(shown(withGaps([line(1), line(2), line(5), line(6)]))).toEqual(["1 x", "2 x", "…", "5 x", "6 x"]);
});
