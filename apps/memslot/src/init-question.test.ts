import { readdir } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { CommandContext } from "./command-context.ts";
import { init } from "./commands/init.ts";
import { createOutput } from "./terminal/output.ts";
import { createSandbox } from "../test/run-memslot.ts";

/** Runs `init` as on a terminal, with `answer` typed. */
async function initOnTerminal(
  answer: string,
  options: { yes?: boolean } = {},
): Promise<{ exitCode: number; written: string[]; stdout: string; stderr: string }> {
  const sandbox = await createSandbox();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(answer);
  const context: CommandContext = {
    cwd: sandbox.cwd,
    env: sandbox.env,
    output: createOutput(stdout as unknown as NodeJS.WriteStream, stderr as unknown as NodeJS.WriteStream, sandbox.env),
    stdin,
    signal: new AbortController().signal,
    configPath: undefined,
    workspace: undefined,
    onAgent: () => {},
  };
  const exitCode = await init(context, options);
  return {
    exitCode,
    written: await readdir(sandbox.cwd),
    stdout: String(stdout.read() ?? ""),
    stderr: String(stderr.read() ?? ""),
  };
}

describe("memslot init on a terminal", () => {
  test("names what it would write, and writes nothing when told no or nothing at all", async () => {
    for (const answer of ["n\n", ""]) {
      const { exitCode, written, stdout, stderr } = await initOnTerminal(answer);
      expect({ exitCode, written }).toEqual({ exitCode: 0, written: [] });
      expect(stderr).toContain("MEMORY.md");
      expect(stdout).toContain("Nothing was written");
    }
  });

  test("writes when told yes", async () => {
    for (const answer of ["y\n", "\n", "YES\n"]) {
      expect((await initOnTerminal(answer)).written).toHaveLength(3);
    }
  });

  test("asks nothing under --yes", async () => {
    const { written, stderr } = await initOnTerminal("n\n", { yes: true });
    expect(written).toHaveLength(3);
    expect(stderr).toBe("");
  });
});
