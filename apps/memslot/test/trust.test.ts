import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

async function sandboxWithLocalConfig() {
  const sandbox = await createSandbox();
  await sandbox.write("memory/a.md", "Anna likes espresso.\n");
  const file = path.join(sandbox.cwd, "memslot.json5");
  // A workspace outside the folder is what a checked-out repository must not choose.
  await writeFile(file, `{ agents: { defaults: { workspace: "${sandbox.workspace}" } } }`);
  return { ...sandbox, file };
}

describe("memslot trust", () => {
  test("puts the guarded keys of a configuration in the current folder into force", async () => {
    const { run, workspace, file } = await sandboxWithLocalConfig();
    const before = await run(["config", "--json"]);
    expect(before.stderr).toContain("memslot trust");
    expect(before.stdout).not.toContain(workspace);
    const trusted = await run(["trust"]);
    expect({ exitCode: trusted.exitCode, stderr: trusted.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(trusted.stdout).toContain(file);
    const after = await run(["config", "--json"]);
    expect(after.stderr).toBe("");
    expect(after.stdout).toContain(workspace);
  });

  test("says which code it covers, and a change of that code ends in one line with rc 1", async () => {
    const { run, cwd, file } = await sandboxWithLocalConfig();
    const plugin = path.join(cwd, "mine");
    await mkdir(plugin);
    await writeFile(path.join(plugin, "package.json"), '{"name": "mine", "version": "1.2.3", "type": "module"}');
    await writeFile(path.join(plugin, "index.js"), "export default {};");
    await writeFile(
      path.join(plugin, "memslot.plugin.json"),
      '{"id": "mine", "kind": "memory", "configSchema": {"type": "object"}}',
    );
    await writeFile(file, '{ plugins: { load: { paths: ["./mine"] }, slots: { memory: "mine" } } }');
    expect((await run(["trust"])).stdout).toMatch(/mine \(version 1\.2\.3, 3 files, sha256 [0-9a-f]{16}…\)/u);
    expect((await run(["trust", "--list"])).stdout).toContain(plugin);
    await writeFile(path.join(plugin, "index.js"), "process.stdout.write('it ran'); export default {};");
    const { exitCode, stdout, stderr } = await run(["memory", "search", "x", "--workspace", cwd]);
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`plugin "mine" is not loaded: the code in ${plugin} has changed`);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("ends when the file changes", async () => {
    const { run, workspace, file } = await sandboxWithLocalConfig();
    await run(["trust"]);
    await writeFile(file, `{ agents: { defaults: { workspace: "${workspace}", memorySearch: {} } } }`);
    expect((await run(["config"])).stderr).toContain("not trusted");
  });

  test("is listed, and can be taken back", async () => {
    const { run, file } = await sandboxWithLocalConfig();
    expect((await run(["trust", "--list"])).stdout).toContain("No configuration file is trusted yet");
    await run(["trust", file]);
    expect((await run(["trust", "--list"])).stdout).toContain(file);
    expect(JSON.parse((await run(["trust", "--list", "--json"])).stdout)).toMatchObject([
      { sha256: expect.stringMatching(/^[0-9a-f]{64}$/u) },
    ]);
    expect((await run(["trust", "--revoke", file])).stdout).toContain("trusted no longer");
    expect((await run(["trust", "--revoke", file])).stdout).toContain("was not trusted");
    expect((await run(["config"])).stderr).toContain("not trusted");
  });

  test("of a file that is not there is an error, and --list with a file a usage error", async () => {
    const { run } = await createSandbox();
    const missing = await run(["trust"]);
    expect(missing.exitCode).toBe(1);
    expect(missing.stderr).toContain("memslot.json5");
    expect((await run(["trust", "--list", "x"])).exitCode).toBe(2);
  });
});
