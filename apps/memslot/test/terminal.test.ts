import { existsSync, readdirSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { type Finished, type Sandbox, createSandbox } from "./run-memslot.ts";

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await createSandbox();
});

describe("memslot init on a terminal", () => {
  const written = (): string[] => readdirSync(sandbox.workspace);

  test.each(["n\n", ""])("names what it would write, and writes nothing for %j", async (typed) => {
    const { exitCode, stdout, stderr } = await sandbox.onTerminal(["init"], { typed });
    expect({ exitCode, written: written() }).toEqual({ exitCode: 0, written: [] });
    expect(stderr).toContain("MEMORY.md");
    expect(stdout).toContain("Nothing was written");
  });

  test.each(["y\n", "\n", "YES\n"])("writes for %j", async (typed) => {
    await sandbox.onTerminal(["init"], { typed });
    expect(written()).toEqual(["MEMORY.md", "memory"]);
    expect(existsSync(path.join(sandbox.cwd, "memslot.json5"))).toBe(true);
  });

  test("asks nothing under --yes", async () => {
    expect((await sandbox.onTerminal(["init", "--yes"], { typed: "n\n" })).stderr).toBe("");
    expect(written()).toEqual(["MEMORY.md", "memory"]);
  });
});

describe("memslot connect on a terminal", () => {
  const files = ["AGENTS.md", "config.toml", "hooks.json"];
  const codex = (): string => path.join(sandbox.env["HOME"] ?? "", ".codex");
  beforeEach(() => mkdir(codex(), { recursive: true }));

  async function connect(typed: string, ...args: string[]): Promise<Finished & { written: string[] }> {
    sandbox.env["PATH"] = "";
    const finished = await sandbox.onTerminal(["connect", ...args], { typed });
    return { ...finished, written: readdirSync(codex()).toSorted() };
  }

  test.each(["n\n", ""])("shows the diff first, and writes nothing for %j", async (typed) => {
    const { exitCode, written, stdout, stderr } = await connect(typed, "codex");
    expect({ exitCode, written }).toEqual({ exitCode: 0, written: [] });
    expect(stdout).toContain("+[mcp_servers.memslot]");
    expect(stderr).toContain("Write this?");
    expect(stdout).toContain("Nothing was written");
  });

  test("writes when told yes, and asks nothing under --yes", async () => {
    expect((await connect("y\n", "codex")).written).toEqual(files);
    await sandbox.runHere(["connect", "codex", "--remove", "--yes"]);
    await mkdir(codex(), { recursive: true });
    const { written, stderr } = await connect("n\n", "codex", "--yes");
    expect(written).toEqual(files);
    expect(stderr).not.toContain("?");
  });

  test("without a name asks about each agent that is there", async () => {
    const { written, stderr, exitCode } = await connect("n\n");
    expect({ exitCode, written }).toEqual({ exitCode: 0, written: [] });
    expect(stderr.match(/Connect [^?]+\?/gu)).toEqual(["Connect Codex?"]);
  });
});
