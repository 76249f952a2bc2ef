import { expect, test } from "vitest";
import { printable } from "../src/printable.ts";

test("an escape sequence in a note does not reach the terminal", () => {
  expect(printable("a\u001B[31mred\u001B]0;title\u0007\tb\r\nc\u009B1m")).toBe(
    "a\uFFFD[31mred\uFFFD]0;title\uFFFD\tb\nc\uFFFD1m",
  );
});
