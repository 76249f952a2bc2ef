import { expect, test } from "vitest";
import { ExitCode, worseExitCode } from "./exit-code.ts";

test("of two outcomes the worse one counts: done, files failed, busy, wrong usage, error", () => {
  const order = [ExitCode.ok, ExitCode.partial, ExitCode.busy, ExitCode.usage, ExitCode.error];
  for (const [index, better] of order.entries()) {
    for (const worse of order.slice(index)) {
      expect(worseExitCode(better, worse)).toBe(worse);
      expect(worseExitCode(worse, better)).toBe(worse);
    }
  }
});
