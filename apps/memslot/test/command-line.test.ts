import { mkdir, readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

const commands = [
  ["init"],
  ["memory", "search"],
  ["memory", "get"],
  ["memory", "index"],
  ["memory", "status"],
  ["memory", "usage"],
  ["memory", "compact"],
  ["plugins", "list"],
  ["plugins", "info"],
  ["plugins", "use"],
  ["plugins", "add"],
  ["plugins", "remove"],
  ["plugins", "new"],
  ["config"],
  ["trust"],
  ["doctor"],
  ["mcp"],
  ["completion"],
];

describe("the command line", () => {
  test("--version prints the version of the package", async () => {
    const sandbox = await createSandbox();
    const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
    expect(await sandbox.run(["--version"])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: "" });
  });

  test("alone it prints help", async () => {
    const sandbox = await createSandbox();
    const alone = await sandbox.run([]);
    expect(alone).toMatchObject({ exitCode: 0, stderr: "" });
    expect(alone.stdout).toContain("Usage: memslot");
    expect(await sandbox.run(["--help"])).toEqual(alone);
  });

  test.each(commands)("%s %s has help with an example and the shared options", async (...command) => {
    const sandbox = await createSandbox();
    const { exitCode, stdout, stderr } = await sandbox.run([...command, "--help"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain(`$ memslot ${command.join(" ")}`);
    expect(stdout).toContain("--workspace <dir>");
    expect(stdout).toContain("--config <file>");
  });

  test("memory alone is a usage error that shows its commands", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stdout, stderr } = await sandbox.run(["memory"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("search [options]");
  });

  test("an unknown command is answered with the nearest one", async () => {
    const sandbox = await createSandbox();
    for (const [typed, meant] of [
      [["search", "x"], "memory search"],
      [["memory", "stauts"], "memory status"],
      [["docter"], "doctor"],
      [["plugins", "lst"], "plugins list"],
    ] as const) {
      const { exitCode, stdout, stderr } = await sandbox.run([...typed]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
      expect(stderr).toContain(`did you mean memslot ${meant}?`);
    }
  });

  test("an unknown option is answered with the nearest one", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stderr } = await sandbox.run(["memory", "search", "x", "--max-result", "3"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("--max-results");
  });

  test.each([
    ["--max-results", "0"],
    ["--max-results", "many"],
    ["--min-score", "2"],
    ["--min-score", ""],
  ])("%s %j is refused", async (option, value) => {
    const sandbox = await createSandbox();
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "search", "x", option, value]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(option);
  });

  test("--workspace and --config may stand before or after the command", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const config = await sandbox.writeConfig("{ agents: { list: [{ id: 'anna' }] } }");
    const search = ["memory", "search", "espresso", "--json"];
    for (const args of [
      ["--workspace", sandbox.workspace, "--config", config, ...search],
      ["--config", config, ...search, "--workspace", sandbox.workspace],
      ["memory", "--workspace", sandbox.workspace, "search", "--json", "espresso", `--config=${config}`],
    ]) {
      const { exitCode, stdout } = await sandbox.run(args);
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ agentId: "anna", results: [{ path: "MEMORY.md" }] });
    }
  });

  test("an agent that no list names and that has nothing yet is a slip, and makes no index", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    await mkdir(path.join(sandbox.stateDir, "agents", "zoe"), { recursive: true });
    for (const command of [["memory", "search", "x"], ["memory", "index"], ["memory", "usage"], ["doctor"], ["mcp"]]) {
      const { exitCode, stderr } = await sandbox.runHere([...command, "--agent", "mian"]);
      expect({ command, exitCode }).toEqual({ command, exitCode: 2 });
      expect(stderr).toContain('there is no agent "mian" in the configuration; the agents are "main", "zoe"');
    }
    expect(await readdir(sandbox.stateDir)).toEqual(["agents"]);
  });

  test("an agent that has sessions will do where the configuration lists none, and each has its own index", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    await mkdir(path.join(sandbox.stateDir, "agents", "zoe"), { recursive: true });
    const { exitCode, stdout, stderr } = await sandbox.runHere([
      "memory",
      "search",
      "espresso",
      "--agent",
      "zoe",
      "--json",
    ]);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("indexed 1 file") });
    expect(JSON.parse(stdout)).toMatchObject({ agentId: "zoe", results: [{ path: "MEMORY.md" }] });
    expect((await sandbox.runHere(["memory", "search", "espresso"])).stderr).toContain("indexed 1 file");
    expect((await sandbox.runHere(["memory", "search", "espresso", "--agent", " "])).exitCode).toBe(2);
  });
});
