import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

const names = (stdout: string): string[] => JSON.parse(stdout).checks.map((check: { name: string }) => check.name);

describe("memslot doctor", () => {
  test("checks everything down to a live search", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "# Memory\n\nAnna likes espresso.\n");
    const human = await sandbox.runHere(["doctor"]);
    expect({ exitCode: human.exitCode, stderr: human.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(human.stdout).toMatch(/^ok +search +"espresso" of MEMORY\.md: 1 found, keyword/mu);
    expect(human.stdout).toMatch(/^ok +provider +none, keyword search: .*run `memslot embeddings on`/mu);
    const json = await sandbox.runHere(["doctor", "--json"]);
    expect(JSON.parse(json.stdout).ok).toBe(true);
    expect(names(json.stdout)).toEqual([
      "node",
      "config",
      "workspace",
      "slot",
      "sync",
      "writer",
      "index",
      "files",
      "store",
      "fts",
      "vector",
      "provider",
      "search",
    ]);
  });

  test("warns of an extra path that is not there, and says where a relative one starts", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "# Memory\n\nAnna likes espresso.\n");
    await sandbox.write("Daily/friday.md", "# Friday\n\nPaid the roofer.\n");
    const config = await sandbox.writeConfig(
      '{ agents: { defaults: { memorySearch: { extraPaths: ["./nowhere"] } } } }',
    );
    const { exitCode, stdout } = await sandbox.runHere(["doctor", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^warn +left out +.*nowhere: does not exist\n +→ .*a relative path starts at the file that names it/mu,
    );
    const search = await sandbox.runHere(["memory", "search", "roofer", "--config", config]);
    // The advice can be copied: it names the folder whole.
    const told = /"([^"]+Daily)"/u.exec(search.stdout)?.[1] ?? "";
    expect(path.isAbsolute(told)).toBe(true);
    await sandbox.writeConfig(JSON.stringify({ agents: { defaults: { memorySearch: { extraPaths: [told] } } } }));
    expect((await sandbox.runHere(["memory", "search", "roofer", "--config", config])).stdout).toContain(
      "Paid the roofer",
    );
  });

  test("warns of a folder without notes and says what to write", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stdout } = await sandbox.runHere(["doctor"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^warn +search .*\n +→ .*MEMORY\.md/mu);
  });

  test.each([
    ["config", "{ agents: { defaults: { memorySearch: { query: { maxResults: 'six' } } } } }"],
    ["config", "{ plugins: { slots: { memory: 'memory-cor' } } }"],
    ["config", "{ agents: "],
  ])("fails with the %s check for %s", async (name, content) => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(content);
    const { exitCode, stdout } = await sandbox.runHere(["doctor", "--json", "--config", config]);
    expect(exitCode).toBe(1);
    const { ok, checks } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(checks.at(-1)).toMatchObject({ name, status: "fail", message: expect.stringMatching(/\S/u) });
  });

  test("fails for a missing workspace and names it", async () => {
    const sandbox = await createSandbox();
    const missing = path.join(sandbox.cwd, "nowhere");
    const { exitCode, stdout } = await sandbox.run(["doctor", "--workspace", missing]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^fail +workspace/mu);
    expect(stdout).toContain(missing);
  });

  test("passes on what the configuration has to say, and stops where memory is off", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{ plugins: { slots: { memory: 'none' } }, agentz: {} }");
    const { exitCode, stdout } = await sandbox.runHere(["doctor", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^warn +config .*agentz/mu);
    expect(stdout).toMatch(/^warn +slot .*off/mu);
  });
});
