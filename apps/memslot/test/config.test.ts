import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

describe("memslot config", () => {
  test("prints every value with where it comes from, and no key", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(
      "{ agents: { defaults: { memorySearch: { query: { maxResults: 9 }, remote: { apiKey: 'sk-very-secret' } } } } }",
    );
    const human = await sandbox.runHere(["config", "--config", config]);
    expect({ exitCode: human.exitCode, stderr: human.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(human.stdout).toMatch(new RegExp(`query\\.maxResults: 9 .*${config}`, "u"));
    expect(human.stdout).toMatch(/query\.minScore: 0\.35 +default/u);
    expect(human.stdout).toMatch(/workspace.*option --workspace/u);
    expect(human.stdout).not.toContain("sk-very-secret");
    const json = await sandbox.runHere(["config", "--config", config, "--json"]);
    expect(json.stdout).not.toContain("sk-very-secret");
    const parsed = JSON.parse(json.stdout);
    expect(parsed).toMatchObject({ file: config, stateDir: sandbox.stateDir, notices: [] });
    expect(parsed.entries).toContainEqual({
      key: "agents.defaults.memorySearch.query.maxResults",
      value: 9,
      origin: config,
    });
  });

  test("names the file that MEMSLOT_CONFIG chose", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{}");
    const { stdout } = await sandbox.run(["config", "--json"], { env: { MEMSLOT_CONFIG: config } });
    expect(JSON.parse(stdout).file).toBe(config);
  });

  test("says that there is no file", async () => {
    const sandbox = await createSandbox();
    expect((await sandbox.run(["config"])).stdout).toContain("no file, defaults only");
  });
});
