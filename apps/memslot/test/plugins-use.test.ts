import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { leanInstall } from "./lean-install.ts";
import { type Sandbox, createSandbox } from "./run-memslot.ts";
import { writePlugin } from "./write-plugin.ts";

const commented = `// my own file
{
  plugins: {
    load: { paths: ['PATH'] }, // where mine is
    slots: {
      memory: 'memory-core', /* the default */
    },
  },
}
`;

async function withMine(text: string, manifest: Record<string, unknown> = {}): Promise<Sandbox & { config: string }> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const folder = await writePlugin(path.join(sandbox.cwd, "mine"), { id: "memory-mine", manifest });
  const config = await sandbox.writeConfig(text.replace("PATH", folder.replaceAll("\\", "\\\\")));
  return { ...sandbox, config };
}

describe("memslot plugins use", () => {
  test("changes one value of the file in use and nothing else, and the next search asks the new plugin", async () => {
    const { config, run, runHere } = await withMine(commented);
    const before = await readFile(config, "utf8");
    const { exitCode, stdout, stderr } = await run(["plugins", "use", "memory-mine", "--config", config]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(await readFile(config, "utf8")).toBe(before.replace("memory: 'memory-core'", "memory: 'memory-mine'"));
    expect(stdout).toContain(`plugins.slots.memory is "memory-mine" now, in ${config} (it was "memory-core")`);
    expect(stdout).toContain('Not in use: memory-core (memory slot set to "memory-mine")');
    const search = await runHere(["memory", "search", "espresso", "--config", config]);
    expect(search.stdout).toContain("From memory-mine.");
    const again = await run(["plugins", "use", "memory-mine", "--config", config]);
    expect(again.stdout).toContain("already");
    const back = await run(["plugins", "use", "memory-core", "--config", config]);
    expect(back.exitCode).toBe(0);
    expect(await readFile(config, "utf8")).toBe(before);
  });

  test("says what is gained and lost, from what both plugins declare", async () => {
    const { config, run } = await withMine(commented, {
      features: ["keyword", "shared-index"],
      limits: ["It is slow."],
    });
    const { stdout } = await run(["plugins", "use", "memory-mine", "--config", config]);
    expect(stdout).toMatch(/keeps one index for many machines +no +yes +gained$/mu);
    expect(stdout).toMatch(/searches session transcripts +yes +no +lost$/mu);
    expect(stdout).toMatch(/finds words, identifiers .* yes +yes$/mu);
    expect(stdout).toContain("It is slow.");
    expect(stdout).toContain("memory-mine finds by words alone");
    expect(stdout).toContain("The notes, the tools and the commands stay the same.");
    const json = await run(["plugins", "use", "memory-core", "--config", config, "--json"]);
    const outcome = JSON.parse(json.stdout);
    expect(outcome).toMatchObject({ slot: "memory-core", before: "memory-mine", changed: true });
    expect(outcome.comparison.gained).toContain("sessions");
    expect(outcome.comparison.lost).toEqual(["shared-index"]);
    expect(outcome.comparison.kept).toEqual(["keyword"]);
  });

  test("none turns memory off", async () => {
    const { config, run, runHere } = await withMine(commented);
    expect((await run(["plugins", "use", "none", "--config", config])).stdout).toContain("Memory is off");
    expect((await runHere(["memory", "search", "x", "--config", config])).stdout).toContain("disabled");
    expect((await run(["plugins", "use", "None", "--config", config])).stdout).toContain("off already");
    expect((await run(["plugins", "use", "memory-mine", "--config", config])).stdout).toContain("memory was off");
  });

  test("makes the user's own file where there is none", async () => {
    const { run, stateDir } = await createSandbox();
    const { exitCode, stdout } = await run(["plugins", "use", "none"]);
    expect(exitCode).toBe(0);
    const file = path.join(stateDir, "memslot.json5");
    expect(stdout).toContain(file);
    expect(await readFile(file, "utf8")).toContain('memory: "none"');
    expect((await run(["config", "--json"])).stdout).toContain('"none"');
  });

  test("takes away what stands against the plugin, and says so before", async () => {
    const { config, run, runHere } = await withMine(`{
  plugins: {
    enabled: false,
    load: { paths: ['PATH'] },
    deny: ['gemini', 'memory-mine'], // not these
    entries: { 'memory-mine': { enabled: false } },
  },
}
`);
    const { exitCode, stderr } = await run(["plugins", "use", "memory-mine", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain("plugins.enabled is false and becomes true");
    expect(stderr).toContain('plugins.deny lists "memory-mine" and lists it no longer');
    expect(stderr).toContain("plugins.entries.memory-mine.enabled is false and becomes true");
    expect(await readFile(config, "utf8")).toContain("deny: ['gemini'], // not these");
    expect((await runHere(["memory", "search", "x", "--config", config])).stdout).toContain("From memory-mine.");
  });

  test("sets the slot beside memory.backend, which counts no longer", async () => {
    const { config, run } = await withMine("{ memory: { backend: 'qmd' }, plugins: { load: { paths: ['PATH'] } } }");
    const { exitCode, stdout, stderr } = await run(["plugins", "use", "memory-mine", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('it was "memory-qmd"');
    expect(stderr).toContain("memory.backend is ignored");
    expect(await readFile(config, "utf8")).toContain("backend: 'qmd'");
  });

  test("leaves a file that nobody has vouched for, and keeps the trust of one that is trusted", async () => {
    const { run, cwd } = await createSandbox();
    const file = path.join(cwd, "memslot.json5");
    await writeFile(file, "{ /* from a stranger */ }");
    const refused = await run(["plugins", "use", "none"]);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain(file);
    expect(refused.stderr).toContain("memslot trust");
    expect(await readFile(file, "utf8")).toBe("{ /* from a stranger */ }");
    await run(["trust"]);
    expect((await run(["plugins", "use", "none"])).exitCode).toBe(0);
    expect(await readFile(file, "utf8")).toContain('memory: "none"');
    expect((await run(["config"])).stderr).toBe("");
  });

  test("vouches in a trusted file for a package that it comes to name, and for no code that changes later", async () => {
    const { run, cwd } = await createSandbox();
    await writeFile(path.join(cwd, "memslot.json5"), "{}");
    await run(["trust"]);
    const folder = await writePlugin(path.join(cwd, "node_modules", "mine"), { id: "memory-mine", name: "mine" });
    expect(await run(["plugins", "use", "mine"])).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await run(["memory", "search", "x", "--workspace", cwd])).stdout).toContain("From memory-mine.");
    await writePlugin(folder, { id: "memory-mine", name: "mine", code: "process.stdout.write('it ran');" });
    for (const command of [
      ["memory", "search", "x", "--workspace", cwd],
      ["plugins", "use", "mine"],
    ]) {
      const { exitCode, stdout, stderr } = await run(command);
      expect([exitCode, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("has changed since the configuration was trusted");
    }
  });

  test("loads nothing that came into a folder of plugins after the file was trusted, also through a link", async () => {
    const { run, cwd } = await createSandbox();
    const elsewhere = await mkdtemp(path.join(tmpdir(), "memslot-elsewhere-"));
    const plugins = path.join(cwd, "plugins");
    await writePlugin(path.join(elsewhere, "good"), { id: "memory-mine" });
    await writePlugin(path.join(elsewhere, "bad"), { id: "memory-mine", code: "process.stdout.write('it ran');" });
    await mkdir(plugins);
    await symlink(path.join(elsewhere, "good"), path.join(plugins, "mine"), "junction");
    await writeFile(path.join(cwd, "memslot.json5"), "{ plugins: { load: { paths: ['./plugins'] } } }");
    await run(["trust"]);
    expect((await run(["plugins", "use", "memory-mine"])).exitCode).toBe(0);
    await run(["plugins", "use", "memory-core"]);
    await rm(path.join(plugins, "mine"));
    await symlink(path.join(elsewhere, "bad"), path.join(plugins, "mine"), "junction");
    expect((await run(["plugins", "info", "memory-mine"])).stdout).toContain("(plugins.load.paths)");
    const { exitCode, stdout, stderr } = await run(["plugins", "use", "memory-mine"]);
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("was not there when the configuration was trusted");
    await rm(elsewhere, { recursive: true });
  });

  test("refuses what cannot fill the slot, with the next step, and writes nothing", async () => {
    const { config, run, cwd } = await withMine(commented);
    const before = await readFile(config, "utf8");
    const cli = await leanInstall();
    for (const [id, words] of [
      ["memory-lancdb", 'Did you mean "memory-lancedb"?'],
      ["memory-lancedb", "memslot plugins add memory-lancedb"],
      ["openai", "agents.defaults.memorySearch.provider"],
    ] as const) {
      const refused = await run(["plugins", "use", id, "--config", config], { cli });
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr).toContain(words);
    }
    await writePlugin(path.join(cwd, "mine"), { id: "memory-mine", code: 'throw new Error("the entry is ill");' });
    const ill = await run(["plugins", "use", "memory-mine", "--config", config, "--json"]);
    expect(ill.exitCode).toBe(1);
    expect(JSON.parse(ill.stdout)).toMatchObject({
      error: { code: "PLUGIN", message: expect.stringContaining("is ill") },
    });
    await writePlugin(path.join(cwd, "mine"), { id: "memory-mine", manifest: { kind: "memroy" } });
    const broken = await run(["plugins", "use", "memory-mine", "--config", config]);
    expect(broken.exitCode).toBe(1);
    expect(broken.stderr).toContain('"kind"');
    expect(await readFile(config, "utf8")).toBe(before);
  });

  test("a plugin that is found by its package name alone is written by that", async () => {
    const { run, stateDir } = await createSandbox();
    await mkdir(stateDir, { recursive: true });
    const file = path.join(stateDir, "memslot.json5");
    await writeFile(file, "{}");
    await writePlugin(path.join(stateDir, "node_modules/@me/memory-mine"), {
      id: "memory-mine",
      name: "@me/memory-mine",
    });
    expect((await run(["plugins", "use", "@me/memory-mine"])).exitCode).toBe(0);
    expect(await readFile(file, "utf8")).toContain('memory: "@me/memory-mine"');
    expect((await run(["plugins", "list"])).stdout).toMatch(/^memory-mine +memory +3\.2\.1 +package +active/mu);
  });
});
