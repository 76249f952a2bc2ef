import { rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

describe("memslot memory index", () => {
  test("counts what it did, and does nothing the second time", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "# Memory\n\nAnna likes espresso.\n");
    await sandbox.write("memory/a.md", "one\n");
    const first = await sandbox.runHere(["memory", "index"]);
    expect(first).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/^memslot: layout: the layout of an agent: .*\n$/),
    });
    expect(first.stdout).toMatch(/^Indexed 2 files · 2 chunks: 2 added in \d/u);
    expect((await sandbox.runHere(["memory", "index"])).stdout).toMatch(/^Indexed 2 files · 2 chunks: 2 unchanged in/u);
    await sandbox.write("memory/a.md", "one and two\n");
    await rm(path.join(sandbox.workspace, "MEMORY.md"));
    expect((await sandbox.runHere(["memory", "index"])).stdout).toMatch(
      /^Indexed 1 file · 1 chunk: 1 changed, 1 removed in/u,
    );
  });

  test("--force does every file again", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", "one\n");
    await sandbox.runHere(["memory", "index"]);
    const { exitCode, stdout } = await sandbox.runHere(["memory", "index", "--force"]);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("1 unchanged");
  });

  test("--verbose says which places were looked at and why one was passed over", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", "one\n");
    const config = await sandbox.writeConfig(
      `{ agents: { defaults: { memorySearch: { extraPaths: ["${sandbox.cwd}/nowhere"] } } } }`,
    );
    const { stdout } = await sandbox.runHere(["memory", "index", "--verbose", "--config", config]);
    expect(stdout).toMatch(/memory: 1 file/u);
    expect(stdout).toMatch(/nowhere: skipped: \S/u);
  });

  test("indexes the good files beside a bad one, names the bad one and ends with 3, names what is too large", async () => {
    const sandbox = await createSandbox();
    for (let index = 0; index < 200; index++)
      await sandbox.write(`memory/note-${index}.md`, `# Note ${index}\n\nword${index}\n`);
    await sandbox.write("memory/note-200.md", "x".repeat(17 * 1024 * 1024));
    const large = await sandbox.runHere(["memory", "index"]);
    expect(large.exitCode).toBe(0);
    expect(large.stderr).toMatch(
      /^memslot: layout: .*\nmemslot: left out: memory\/note-200\.md: is 17 MiB, more than \d+ MiB: .*\n$/u,
    );
    await sandbox.writeLost();
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "index"]);
    expect(exitCode).toBe(3);
    expect(stdout).toContain("200 unchanged, 1 failed");
    expect(stderr).toMatch(/^memslot: memory\/bad-\ufffd\.md: .*UTF-8/mu);
    expect((await sandbox.runHere(["memory", "search", "word77"])).stdout).toContain("memory/note-77.md");
  });

  test("covers all agents, goes on after one that fails, and ends with its code", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const config = await sandbox.writeConfig(
      `{ agents: { list: [{ id: "first", workspace: "${sandbox.cwd}/nowhere" }, { id: "second", workspace: "${sandbox.workspace}" }] } }`,
    );
    const { exitCode, stdout, stderr } = await sandbox.run(["memory", "index", "--config", config]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("second: Indexed 1 file");
    expect(stderr).toContain("nowhere");
    expect((await sandbox.run(["memory", "index", "--config", config, "--agent", "second"])).exitCode).toBe(0);
  });
});
