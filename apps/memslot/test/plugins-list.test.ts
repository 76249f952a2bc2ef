import path from "node:path";
import { describe, expect, test } from "vitest";
import { leanInstall } from "./lean-install.ts";
import { createSandbox } from "./run-memslot.ts";
import { writePlugin } from "./write-plugin.ts";

describe("memslot plugins list", () => {
  test("tells what is active, why another is not, and what could be added with which command", async () => {
    const sandbox = await createSandbox();
    const cli = await leanInstall();
    const mine = await writePlugin(path.join(sandbox.cwd, "mine"), { id: "memory-mine" });
    const config = await sandbox.writeConfig(JSON.stringify({ plugins: { load: { paths: [mine] } } }));
    const { exitCode, stdout, stderr } = await sandbox.run(["plugins", "list", "--config", config], { cli });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^memory-core +memory +\S+ +built in +active: in the memory slot$/mu);
    expect(stdout).toMatch(
      /^memory-mine +memory +3\.2\.1 +plugins\.load\.paths +disabled: memory slot set to "memory-core"$/mu,
    );
    expect(stdout).toMatch(/^memory-lancedb +memory +not installed: memslot plugins add memory-lancedb$/mu);
    expect(stdout).toMatch(/^openai +embedding +not installed: memslot plugins add openai$/mu);
    const json = await sandbox.run(["plugins", "list", "--json", "--config", config], { cli });
    const { plugins } = JSON.parse(json.stdout);
    expect(plugins).toContainEqual(
      expect.objectContaining({ id: "memory-qmd", state: "not installed", command: "memslot plugins add memory-qmd" }),
    );
    expect(plugins).toContainEqual(expect.objectContaining({ id: "memory-mine", place: mine, state: "disabled" }));
  });

  test.each([
    ["kind", { manifest: { kind: undefined } }],
    ["features", { manifest: { features: ["telepathy"] } }],
  ])("names the file and the field of a manifest whose %s is wrong", async (field, wrong) => {
    const sandbox = await createSandbox();
    const folder = await writePlugin(path.join(sandbox.cwd, "odd"), { id: "odd", ...wrong });
    const config = await sandbox.writeConfig(JSON.stringify({ plugins: { load: { paths: [folder] } } }));
    const { exitCode, stdout } = await sandbox.run(["plugins", "list", "--json", "--config", config]);
    expect(exitCode).toBe(0);
    const odd = JSON.parse(stdout).plugins.find(({ id }: { id: string }) => id === "odd");
    expect(odd).toMatchObject({ state: "broken", reason: expect.stringContaining(`"${field}"`) });
    expect(odd.reason).toContain(path.join(folder, "memslot.plugin.json"));
  });

  test("says which one is the spare", async () => {
    const sandbox = await createSandbox();
    const mine = await writePlugin(path.join(sandbox.cwd, "mine"), {
      id: "memory-mine",
      manifest: { configSchema: { type: "object", properties: { fallback: { type: "string", default: "builtin" } } } },
    });
    const slot = { slots: { memory: "memory-mine" }, load: { paths: [mine] } };
    const config = await sandbox.writeConfig(JSON.stringify({ plugins: slot }));
    const { stdout } = await sandbox.run(["plugins", "list", "--config", config]);
    expect(stdout).toMatch(/^memory-core .*ready: the spare of "memory-mine"$/mu);
    await sandbox.writeConfig(
      JSON.stringify({ plugins: { ...slot, entries: { "memory-mine": { fallback: "none" } } } }),
    );
    const without = await sandbox.run(["plugins", "list", "--config", config]);
    expect(without.stdout).toMatch(/^memory-core .*disabled: memory slot set to "memory-mine"$/mu);
    await sandbox.writeConfig(
      JSON.stringify({ plugins: { load: { paths: [mine] }, entries: { "memory-mine": { fallback: "keyword" } } } }),
    );
    const used = await sandbox.run(["plugins", "use", "memory-mine", "--config", config]);
    expect(used.stdout).toContain("While it is unavailable, memory-core answers by words in its place");
  });

  test("says which embedding provider is in use, and why the slot cannot be filled", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(
      "{ agents: { defaults: { memorySearch: { provider: 'openai' } } }, plugins: { slots: { memory: 'memroy-core' }, deny: ['gemini'] } }",
    );
    const { exitCode, stdout, stderr } = await sandbox.run(["plugins", "list", "--config", config]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^openai .*in use: memorySearch\.provider is "openai"$/mu);
    expect(stdout).toMatch(/^gemini .*disabled: plugins\.deny lists "gemini"$/mu);
    expect(stderr).toContain('Did you mean "memory-core"?');
  });
});

describe("memslot plugins info", () => {
  test("tells features, limits, options with their defaults, and what is set, with no secret", async () => {
    const sandbox = await createSandbox();
    const folder = await writePlugin(path.join(sandbox.cwd, "mine"), {
      id: "memory-mine",
      name: "@me/memory-mine",
      manifest: {
        description: "Mine.",
        features: ["keyword", "shared-index"],
        limits: ["It is slow."],
        configSchema: {
          type: "object",
          required: ["mode"],
          properties: {
            mode: { enum: ["a", "b"], description: "Which way." },
            limits: { type: "object", properties: { rows: { type: "integer", minimum: 1, maximum: 9, default: 4 } } },
            apiKey: { type: "string" },
          },
        },
      },
    });
    const config = await sandbox.writeConfig(
      JSON.stringify({
        plugins: {
          load: { paths: [folder] },
          entries: { "memory-mine": { config: { mode: "a", apiKey: "sk-hidden-1" } } },
        },
      }),
    );
    const human = await sandbox.run(["plugins", "info", "memory-mine", "--config", config]);
    expect({ exitCode: human.exitCode, stderr: human.stderr }).toEqual({ exitCode: 0, stderr: "" });
    for (const words of [
      "memory-mine 3.2.1, a memory plugin",
      "keeps one index for many machines",
      "It is slow.",
      'mode ("a" | "b", required)',
      "Which way.",
      "limits.rows (integer 1 to 9, default 4)",
      "memslot plugins use memory-mine",
      folder,
    ])
      expect(human.stdout).toContain(words);
    expect(human.stdout).toContain('"mode":"a"');
    expect(human.stdout).not.toContain("sk-hidden-1");
    const byPackage = await sandbox.run(["plugins", "info", "@me/memory-mine", "--json", "--config", config]);
    expect(JSON.parse(byPackage.stdout)).toMatchObject({
      id: "memory-mine",
      version: "3.2.1",
      limits: ["It is slow."],
      options: [
        { key: "mode", type: '"a" | "b"', required: true },
        { key: "limits.rows", default: 4 },
        { key: "apiKey", type: "string" },
      ],
    });
    expect(byPackage.stdout).not.toContain("sk-hidden-1");
  });

  test("tells how one is added that is not installed, and the nearest to one that nobody knows", async () => {
    const sandbox = await createSandbox();
    const cli = await leanInstall();
    const { stdout } = await sandbox.run(["plugins", "info", "memory-lancedb"], { cli });
    expect(stdout).toContain("memslot plugins add memory-lancedb");
    const unknown = await sandbox.run(["plugins", "info", "memory-lance"], { cli });
    expect(unknown).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unknown.stderr).toContain('Did you mean "memory-lancedb"?');
  });
});
