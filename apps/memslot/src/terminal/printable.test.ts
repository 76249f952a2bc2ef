import { expect, test } from "vitest";
import { printable } from "./printable.ts";

test("an escape sequence in a name does not reach the terminal", () => {
  expect(printable("a\u001B[31mred\u001B]0;title\u0007\tb\r\nc\u009B1m")).toBe(
    String.raw`a\u{1B}[31mred\u{1B}]0;title\u{7}` + `\tb\nc${String.raw`\u{9B}`}1m`,
  );
});
