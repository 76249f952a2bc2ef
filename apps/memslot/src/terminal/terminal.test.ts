import { expect, test } from "vitest";
import { ExitCode, worseExitCode } from "./exit-code.ts";
import { printable } from "./output.ts";

test("of two outcomes the worse one counts: done, files failed, busy, wrong usage, error", () => {
  const order = [ExitCode.ok, ExitCode.partial, ExitCode.busy, ExitCode.usage, ExitCode.error];
  for (const [index, better] of order.entries()) {
    for (const worse of order.slice(index)) {
      expect(worseExitCode(better, worse)).toBe(worse);
      expect(worseExitCode(worse, better)).toBe(worse);
    }
  }
});

test("an escape sequence in a name does not reach the terminal", () => {
  expect(printable("a\u001B[31mred\u001B]0;title\u0007\tb\r\nc\u009B1m")).toBe(
    String.raw`a\u{1B}[31mred\u{1B}]0;title\u{7}` + `\tb\nc${String.raw`\u{9B}`}1m`,
  );
});
