import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createSandbox } from "../test/run-memslot.ts";
import type { CommandContext } from "./command-context.ts";
import { type ConnectCommandOptions, connect } from "./commands/connect.ts";
import { createOutput } from "./terminal/output.ts";

/** Runs `connect` as on a terminal, with `answers` typed, where there is a folder of Codex. */
async function connectOnTerminal(
  answers: string,
  name?: string,
  options: ConnectCommandOptions = {},
): Promise<{ exitCode: number; written: string[]; stdout: string; stderr: string }> {
  const sandbox = await createSandbox();
  const home = sandbox.env["HOME"] ?? "";
  await mkdir(path.join(home, ".codex"), { recursive: true });
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.end(answers);
  const env = { ...sandbox.env, PATH: "" };
  const context: CommandContext = {
    cwd: sandbox.cwd,
    env,
    output: createOutput(stdout as unknown as NodeJS.WriteStream, stderr as unknown as NodeJS.WriteStream, env),
    stdin,
    signal: new AbortController().signal,
    configPath: undefined,
    workspace: sandbox.workspace,
    onAgent: () => {},
  };
  const exitCode = await connect(context, options, name);
  return {
    exitCode,
    written: (await readdir(path.join(home, ".codex"))).toSorted(),
    stdout: String(stdout.read() ?? ""),
    stderr: String(stderr.read() ?? ""),
  };
}

const files = ["AGENTS.md", "config.toml", "hooks.json"];

describe("memslot connect on a terminal", () => {
  test("shows the diff first, and writes nothing when told no or nothing at all", async () => {
    for (const answer of ["n\n", ""]) {
      const { exitCode, written, stdout, stderr } = await connectOnTerminal(answer, "codex");
      expect({ exitCode, written }).toEqual({ exitCode: 0, written: [] });
      expect(stdout).toContain("+[mcp_servers.memslot]");
      expect(stderr).toContain("Write this?");
      expect(stdout).toContain("Nothing was written");
    }
  });

  test("writes when told yes, and asks nothing under --yes", async () => {
    expect((await connectOnTerminal("y\n", "codex")).written).toEqual(files);
    const { written, stderr } = await connectOnTerminal("n\n", "codex", { yes: true });
    expect(written).toEqual(files);
    expect(stderr).not.toContain("?");
  });

  test("without a name asks about each agent that is there", async () => {
    const { written, stderr, exitCode } = await connectOnTerminal("n\n");
    expect({ exitCode, written }).toEqual({ exitCode: 0, written: [] });
    expect(stderr.match(/Connect [^?]+\?/gu)).toEqual(["Connect Codex?"]);
  });
});
