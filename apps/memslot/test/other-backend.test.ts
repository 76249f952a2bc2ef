import { describe, expect, test } from "vitest";
import { report, result, runWithBackend } from "./run-with-backend.ts";

const shown = expect.stringMatching(/^0\.900 .*MEMORY\.md:1\n1- From before\.\n$/u) as string;

describe("a backend from outside", () => {
  test("whose sync fails still answers, and the answer is called stale", async () => {
    const [json, human] = await runWithBackend(
      'async sync() { throw new Error("the disk is on strike"); }',
      ["memory", "search", "x", "--json"],
      ["memory", "search", "x"],
    );
    expect(json?.exitCode).toBe(0);
    expect(JSON.parse(json?.stdout ?? "")).toMatchObject({
      results: [result],
      state: "stale",
      stale: true,
      reason: expect.stringContaining("the disk is on strike"),
      warning: expect.stringContaining("may be incomplete"),
      action: expect.stringContaining("memslot memory index"),
    });
    expect(human).toMatchObject({ exitCode: 0, stdout: shown });
    expect(human?.stderr).toContain("the disk is on strike");
  });

  test("that cannot answer ends with 1 and its reason", async () => {
    const unavailable = report.replace('state: "ok"', 'state: "unavailable", reason: "the daemon sleeps"');
    const [json, human] = await runWithBackend(
      `async search(query, options) { options.onDebug(${unavailable}); return []; }`,
      ["memory", "search", "x", "--json"],
      ["memory", "search", "x"],
    );
    expect(json?.exitCode).toBe(1);
    expect(JSON.parse(json?.stdout ?? "")).toMatchObject({ results: [], state: "unavailable", stale: true });
    expect(human).toMatchObject({ exitCode: 1, stdout: "" });
    expect(human?.stderr).toContain("the daemon sleeps");
  });

  test("that throws ends with 1, in JSON with the code", async () => {
    const [json] = await runWithBackend('async search() { throw Object.assign(new Error("no"), {}); }', [
      "memory",
      "search",
      "x",
      "--json",
    ]);
    expect(json?.exitCode).toBe(1);
    expect(JSON.parse(json?.stdout ?? "")).toMatchObject({
      ok: false,
      error: { type: "cli_error", code: "PLUGIN", message: expect.stringContaining("stub") },
      agentId: "main",
    });
  });

  test("without an index of its own has nothing to bring up to date", async () => {
    const [index] = await runWithBackend("", ["memory", "index"]);
    expect(index).toMatchObject({ exitCode: 0, stderr: "" });
    expect(index?.stdout).toContain("keeps no index of its own");
  });

  test("that leaves a handle open does not keep the process from ending", async () => {
    const [search] = await runWithBackend("async sync() { setInterval(() => {}, 1000); return undefined; }", [
      "memory",
      "search",
      "x",
    ]);
    expect(search).toMatchObject({ exitCode: 0, stdout: shown, stderr: "" });
  });

  test("with more than 20 failed files has 20 of them named, and the rest counted", async () => {
    const failed = 'Array.from({ length: 23 }, (_, index) => ({ path: `memory/${index}.md`, reason: "is torn" }))';
    const [index] = await runWithBackend(
      `async sync() { return { added: 2, changed: 0, removed: 0, unchanged: 0, failed: ${failed} }; }`,
      ["memory", "index"],
    );
    expect(index?.exitCode).toBe(3);
    expect(index?.stderr.match(/: is torn$/gmu)).toHaveLength(20);
    expect(index?.stderr).toContain("and 3 more files");
  });

  test("that does not find what stands in a note fails memslot doctor", async () => {
    const [doctor] = await runWithBackend(
      `async search(query, options) { options.onDebug(${report}); return []; },
       async readFile() { return { status: "ok", text: "Anna likes espresso.", path: "MEMORY.md" }; }`,
      ["doctor"],
    );
    expect(doctor?.exitCode).toBe(1);
    expect(doctor?.stdout).toMatch(/^fail +search +"espresso" stands in MEMORY\.md and was not found/mu);
  });
});
