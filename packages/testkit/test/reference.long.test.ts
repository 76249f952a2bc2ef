import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);
const file = new URL("node-runner/reference.ts", import.meta.url).pathname;

/** `# pass 12` and the like, at the end of a TAP report. */
function countOf(report: string, what: string): number {
  return Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(report)?.[1]);
}

describe("under node --test", () => {
  test("the same suites run and pass, and a deviation is shown with its reason", async () => {
    const { stdout } = await run(
      process.execPath,
      ["--conditions=@memslot/source", "--test", "--test-reporter=tap", file],
      { timeout: 240_000, env: { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: undefined } },
    );
    expect(countOf(stdout, "fail")).toBe(0);
    expect(countOf(stdout, "pass")).toBeGreaterThan(120);
    expect(stdout).toMatch(/read\.current: .* # SKIP shows that node:test gets the reason/);
  }, 300_000);
});
