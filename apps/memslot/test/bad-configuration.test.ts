import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

describe("a configuration that cannot be used", () => {
  test("with a syntax error is named with file, line and column", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig('{\n  agents: {\n    defaults: { workspace "x" },\n  },\n}\n');
    const human = await sandbox.run(["memory", "search", "x", "--config", config]);
    expect({ exitCode: human.exitCode, stdout: human.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(human.stderr).toContain(`${config}:3:`);
    const json = await sandbox.run(["memory", "search", "x", "--config", config, "--json"]);
    expect(json.exitCode).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      agentId: "main",
      error: { type: "cli_error", code: "CONFIG" },
    });
  });

  test("with a wrong type is refused, and the key is named", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(
      "{ agents: { defaults: { memorySearch: { query: { maxResults: 'six' } } } } }",
    );
    const { exitCode, stderr } = await sandbox.runHere(["memory", "status", "--config", config]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("agents.defaults.memorySearch.query.maxResults");
  });

  test("with an unknown key works, and the nearest known key is named", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const config = await sandbox.writeConfig("{ agents: { defaults: { memorySearch: { query: { maxResult: 2 } } } } }");
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search", "espresso", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("espresso");
    expect(stderr).toMatch(/maxResult\b.*maxResults/u);
  });

  test("that is not there is named", async () => {
    const sandbox = await createSandbox();
    const missing = path.join(sandbox.cwd, "none.json5");
    const { exitCode, stderr } = await sandbox.run(["memory", "status", "--config", missing]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(missing);
  });

  test("with an unknown slot id is refused, and the known ids are listed", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{ plugins: { slots: { memory: 'memory-cor' } } }");
    for (const command of [["search", "x"], ["status"], ["index"], ["get", "MEMORY.md"]]) {
      const { exitCode, stderr } = await sandbox.runHere(["memory", ...command, "--config", config]);
      expect({ command, exitCode }).toEqual({ command, exitCode: 1 });
      expect(stderr).toContain("memory-core");
      expect(stderr).toContain("plugins.slots.memory");
    }
  });

  test("with the slot set to none switches memory off: said with exit code 0", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{ plugins: { slots: { memory: 'None' } } }");
    for (const command of [["search", "x"], ["status"], ["index"], ["get", "MEMORY.md"]]) {
      const { exitCode, stdout } = await sandbox.runHere(["memory", ...command, "--config", config]);
      expect({ command, exitCode }).toEqual({ command, exitCode: 0 });
      expect(stdout).toContain("disabled");
    }
    const json = await sandbox.runHere(["memory", "search", "x", "--json", "--config", config]);
    expect({ ...json, stdout: JSON.parse(json.stdout) }).toEqual({
      exitCode: 0,
      stdout: { agentId: "main", status: "disabled" },
      stderr: "",
    });
    expect((await sandbox.runHere(["memory", "status", "--json", "--config", config])).stdout).toBe("[]\n");
  });

  test("that lists agents refuses an unknown one and names those it has", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{ agents: { list: [{ id: 'anna' }, { id: 'boris' }] } }");
    for (const command of [["search", "x"], ["status"], ["index"], ["get", "MEMORY.md"]]) {
      const { exitCode, stderr } = await sandbox.runHere([
        "memory",
        ...command,
        "--agent",
        "carla",
        "--config",
        config,
      ]);
      expect({ command, exitCode }).toEqual({ command, exitCode: 2 });
      expect(stderr).toContain('"anna", "boris"');
    }
  });

  test("whose store.path is somebody else's file leaves that file alone, says so and still answers", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const foreign = path.join(sandbox.cwd, "thesis.txt");
    const content = "Chapter one. It was a dark and stormy night, and nobody had a backup.\n".repeat(50);
    await writeFile(foreign, content);
    const config = await sandbox.writeConfig(
      `{ agents: { defaults: { memorySearch: { store: { path: ${JSON.stringify(foreign)} } } } } }`,
    );
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search", "espresso", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("MEMORY.md:1");
    expect(stderr).toContain(foreign);
    expect(await readFile(foreign, "utf8")).toBe(content);
  });
});
