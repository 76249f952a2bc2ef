import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

describe("memslot memory status", () => {
  test("gives people the facts, and in keyword mode how to add a provider", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "# Memory\n\nAnna likes espresso.\n");
    await sandbox.runHere(["memory", "index"]);
    const { exitCode, stdout, stderr } = await sandbox.runHere(["memory", "status", "--index"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^Provider: +none/mu);
    expect(stdout).toMatch(/^Sources: +memory, journal$/mu);
    expect(stdout).toMatch(/^Indexed: +1\/1 files · 1 chunk$/mu);
    expect(stdout).toMatch(/^Dirty: +no$/mu);
    expect(stdout).toMatch(/^Store: +\S/mu);
    expect(stdout).toContain(sandbox.workspace);
    expect(stdout).toMatch(/^Search mode: +keyword/mu);
    expect(stdout).toMatch(/^Embeddings: +none: .*provider/mu);
    expect(stdout).toMatch(/^FTS: +ready$/mu);
  });

  test("alone does not look at the files, and says so", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    expect((await sandbox.runHere(["memory", "status"])).stdout).toMatch(/^Dirty: +yes: memslot memory index/mu);
    await sandbox.runHere(["memory", "index"]);
    await sandbox.write("memory/new.md", "Not indexed yet.\n");
    const { stdout } = await sandbox.runHere(["memory", "status"]);
    expect(stdout).toMatch(/^Indexed: +1 file · 1 chunk$/mu);
    expect(stdout).toMatch(/^Dirty: +not checked/mu);
  });

  test("gives JSON: an array with one entry for each agent", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const { exitCode, stdout } = await sandbox.runHere(["memory", "status", "--index", "--json"]);
    expect(exitCode).toBe(0);
    const entries = JSON.parse(stdout);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({
      agentId: "main",
      status: {
        backend: "memory-core",
        provider: "none",
        files: 1,
        chunks: 1,
        dirty: false,
        custom: { searchMode: "keyword" },
      },
      embeddingProbe: { ok: false, error: expect.any(String) },
      scan: {
        sources: [
          { source: "memory", totalFiles: 1, issues: [] },
          { source: "journal", totalFiles: 0, issues: [] },
        ],
        totalFiles: 1,
        issues: [],
      },
    });
  });

  test("--deep says whether vectors and embeddings work", async () => {
    const sandbox = await createSandbox();
    const { stdout } = await sandbox.runHere(["memory", "status", "--deep", "--json"]);
    const [{ status, embeddingProbe }] = JSON.parse(stdout);
    expect(embeddingProbe.ok).toBe(false);
    expect(typeof status.vector.available).toBe("boolean");
  });

  test("--index ends with 3 and lists the issue when a file fails", async () => {
    const sandbox = await createSandbox();
    await sandbox.writeLost();
    await sandbox.write("memory/a.md", "one\n");
    const json = await sandbox.runHere(["memory", "status", "--index", "--json"]);
    expect(json.exitCode).toBe(3);
    expect(JSON.parse(json.stdout)[0].scan.issues).toEqual([expect.stringContaining("memory/bad-\ufffd.md: ")]);
    expect((await sandbox.runHere(["memory", "status", "--index"])).stdout).toMatch(
      /^Issues:\n {2}memory\/bad-\ufffd\.md: /mu,
    );
  });

  test("covers all agents, or the one that is named", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(
      `{ agents: { defaults: { workspace: "${sandbox.workspace}" }, list: [{ id: "first" }, { id: "second" }, { id: "off", memorySearch: { enabled: false } }] } }`,
    );
    const all = await sandbox.run(["memory", "status", "--json", "--config", config]);
    expect(JSON.parse(all.stdout).map((entry: { agentId: string }) => entry.agentId)).toEqual(["first", "second"]);
    const one = await sandbox.run(["memory", "status", "--json", "--config", config, "--agent", "second"]);
    expect(JSON.parse(one.stdout)).toHaveLength(1);
    const off = await sandbox.run(["memory", "status", "--json", "--config", config, "--agent", "off"]);
    expect(off).toMatchObject({ exitCode: 0, stdout: "[]\n" });
    const human = await sandbox.run(["memory", "status", "--config", config]);
    expect(human.stdout).toContain("Agent off: memory is disabled");
  });

  test("keeps the array when one agent fails, and ends with 1", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(
      `{ agents: { list: [{ id: "first", workspace: "${sandbox.cwd}/nowhere" }, { id: "second", workspace: "${sandbox.workspace}" }] } }`,
    );
    const { exitCode, stdout } = await sandbox.run(["memory", "status", "--json", "--config", config]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject([
      { ok: false, agentId: "first", error: { code: "WORKSPACE" } },
      { agentId: "second", status: {} },
    ]);
  });
});
