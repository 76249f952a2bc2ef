import { expect, test } from "vitest";
import { askDemo, createPlace, memslotOnPath, runCommands, runFirstExample } from "../support/doc-examples.ts";

test.each([
  ["duckdb-store", 70],
  ["custom-embedding-provider", 10],
])("%s keeps every promise of its contract, by its own test", { timeout: 600_000 }, async (folder, checks) => {
  const flags = ["--test", "--test-reporter=tap"];
  const { stdout, exitCode } = await createPlace({}).run(`${folder}/conformance.test.ts`, [], {}, flags);
  expect({ exitCode, failed: /^# fail \d+$/mu.exec(stdout)?.[0] }).toEqual({ exitCode: 0, failed: "# fail 0" });
  expect(Number(/^# pass (\d+)$/mu.exec(stdout)?.[1])).toBeGreaterThan(checks);
});

test("memory-in-ten-lines.ts reports why where it finds nothing", async () => {
  const place = createPlace({ "MEMORY.md": "# Memory\n" });
  const { stdout, stderr, exitCode } = await place.run("memory-in-ten-lines.ts", [place.notes, "zebra"]);
  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 0 });
  expect(stderr).toContain("no memory file contains a word of the query");
});

test("the library example of README.zh-CN.md finds and reads the line", async () => {
  const output = await runFirstExample("README.zh-CN.md");
  for (const text of ["MEMORY.md#L", "port 5544", "memory_search"]) expect(output).toContain(text);
});

test("the example of docs/debugging.md reports its search", async () => {
  expect(await runFirstExample("docs/debugging.md")).toMatch(/^a search: ok, 1 results, \d+ ms\n$/);
});

test("the question that README.zh-CN.md asks the demo agent is answered with a citation", async () => {
  const answer = await askDemo("README.zh-CN.md");
  expect(answer).toContain("笔记里写着：");
  expect(answer).toMatch(/memory\/\S+\.md#L\d+-L\d+/);
});

test("the commands of docs/index-health.md work as they are written", async () => {
  const runs = await runCommands("docs/index-health.md");
  expect(runs.length).toBeGreaterThan(0);
  for (const { line, run } of runs) expect([line, run.exitCode, run.stdout === ""]).toEqual([line, 0, false]);
});

// A command on the path is a script of the shell here.
test.skipIf(process.platform === "win32")(
  "mcp-client.ts starts memslot mcp, searches, and reads around the best result",
  async () => {
    // Between both lines is more than a snippet holds.
    const filler = `- ${"Nothing of note was said in the meeting. ".repeat(40)}\n`.repeat(5);
    const note = `# 2026-03-02\n\n- The staging database listens on port 5544.\n${filler}- The cat came back.\n`;
    const place = createPlace({ "memory/2026-03-02.md": note });

    const { stdout, stderr, exitCode } = await place.run("mcp-client.ts", [place.notes, "port of staging"], {
      PATH: memslotOnPath(place),
    });

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    // Read only: the tool that writes is not offered.
    expect(stdout).toContain("tools: memory_search, memory_get\n");
    const [search = "", ...read] = stdout.split("The cat came back.");
    expect(search).toMatch(/^memory\/2026-03-02\.md#L1-L\d\n/mu);
    expect(search.match(/listens on port 5544/gu)).toHaveLength(2);
    expect(read).toHaveLength(1);
  },
);
