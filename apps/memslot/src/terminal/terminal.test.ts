import { describe, expect, test } from "vitest";
import { ExitCode, worseExitCode } from "./exit-code.ts";
import { nearestCommand } from "./nearest-command.ts";
import { printable } from "./printable.ts";
import data from "../../test/data/terminal.json" with { type: "json" };

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

const known = data.known;

describe("the nearest command", () => {
  test("is found through a slip of the finger", () => {
    expect(nearestCommand("memmory", known)).toBe("memory");
    expect(nearestCommand("docotr", known)).toBe("doctor");
    expect(nearestCommand("serach", known)).toBe("memory search");
  });

  test("is the longer command when only its last word was typed", () => {
    expect(nearestCommand("search", known)).toBe("memory search");
  });

  test("is none for a word that is like nothing", () => {
    expect(nearestCommand("xylophone", known)).toBeUndefined();
  });
});
