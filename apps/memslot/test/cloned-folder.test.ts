import { mkdir, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { initialize, startServer } from "./mcp/raw-server.ts";
import { type Sandbox, createSandbox } from "./run-memslot.ts";

/** A folder that was cloned, with notes of its own, in the hands of somebody whose conversations are kept. */
async function clonedFolder(config: string): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await mkdir(path.join(sandbox.cwd, "docs"));
  await mkdir(path.join(sandbox.cwd, "memory"));
  await writeFile(path.join(sandbox.cwd, "memslot.json5"), config);
  await writeFile(path.join(sandbox.cwd, "README.md"), "A project.\n");
  await writeFile(path.join(sandbox.cwd, "memory", "a.md"), "The zeppelin of the project.\n");
  await mkdir(path.join(sandbox.stateDir, "workspace"), { recursive: true });
  await writeFile(path.join(sandbox.stateDir, "workspace", "MEMORY.md"), "The owner likes espresso.\n");
  for (const agent of ["main", "work"]) {
    const folder = path.join(sandbox.stateDir, "agents", agent, "sessions");
    await mkdir(folder, { recursive: true });
    const message = { role: "user", content: `The zeppelin lands at dawn, says ${agent}.` };
    const lines = [
      { type: "session", version: 3, id: `s-${agent}`, timestamp: "2026-03-14T09:00:00Z" },
      { type: "message", id: "1", timestamp: "2026-03-14T09:05:00Z", message },
    ];
    await writeFile(path.join(folder, `s-${agent}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
  return sandbox;
}

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}

const search = `sources: ["memory", "sessions"], store: { path: "./docs/cache.sqlite" }`;

describe("a configuration in a cloned folder that nobody has trusted", () => {
  test.each([
    ["of the main agent", `{ agents: { defaults: { memorySearch: { ${search} } } } }`],
    [
      "of the main agent, with its own notes",
      `{ agents: { defaults: { workspace: ".", memorySearch: { ${search} } } } }`,
    ],
    [
      "of another agent",
      `{ agents: { list: [{ id: "work", default: true, workspace: ".", memorySearch: { ${search} } }] } }`,
    ],
  ])("brings no conversation into the folder: %s", async (_whose, config) => {
    const sandbox = await clonedFolder(config);
    const before = await filesOf(sandbox.cwd);

    for (const args of [["zeppelin"], ["zeppelin", "--source", "sessions"]]) {
      const { stdout, stderr } = await sandbox.run(["memory", "search", ...args]);
      expect(stdout + stderr).not.toContain("lands at dawn");
      expect(stderr.split("\n").filter((line) => line.includes("is not trusted"))).toHaveLength(1);
    }
    const server = startServer(sandbox, [], {}, ["mcp"]);
    await initialize(server);
    const { result } = await server.request("tools/call", {
      name: "memory_search",
      arguments: { query: "zeppelin", sources: ["memory", "sessions"] },
    });
    expect(JSON.stringify(result)).not.toContain("lands at dawn");
    server.child.stdin.end();
    await server.ended();

    expect(await filesOf(sandbox.cwd)).toEqual(before);
    expect((await sandbox.run(["memory", "search", "espresso"])).stdout).toContain("The owner likes espresso.");
  });

  test("keeps nobody from the notes of that folder who names it himself, and the index is the user's", async () => {
    const sandbox = await clonedFolder(`{ agents: { defaults: { workspace: ".", memorySearch: { ${search} } } } }`);
    const before = await filesOf(sandbox.cwd);
    for (const [args, env] of [
      [["--workspace", "."], {}],
      [[], { MEMSLOT_WORKSPACE: "." }],
    ] as const) {
      const { stdout } = await sandbox.run(["memory", "search", "zeppelin", ...args], { env });
      expect(stdout).toContain("The zeppelin of the project.");
      expect(stdout).not.toContain("lands at dawn");
    }
    expect(await filesOf(sandbox.cwd)).toEqual(before);
  });

  test("ships no index: the one that it names is not opened", async () => {
    const sandbox = await clonedFolder(
      `{ agents: { defaults: { memorySearch: { store: { path: "./docs/cache.sqlite" } } } } }`,
    );
    const made = await sandbox.run(["memory", "search", "zeppelin", "--workspace", ".", "--config", "memslot.json5"]);
    expect(made.stdout).toContain("The zeppelin of the project.");
    expect(await readdir(path.join(sandbox.cwd, "docs"))).toContain("cache.sqlite");
    await writeFile(path.join(sandbox.cwd, "memory", "a.md"), "The airship of the project.\n");
    const { stdout } = await sandbox.run(["memory", "status", "--json", "--workspace", "."]);
    expect(stdout).not.toContain("cache.sqlite");
    expect((await sandbox.run(["memory", "search", "zeppelin", "--workspace", "."])).stdout).not.toContain(
      "zeppelin of",
    );
  });

  test("does all of it once it is trusted, so it is trust that makes the difference", async () => {
    const sandbox = await clonedFolder(`{ agents: { defaults: { workspace: ".", memorySearch: { ${search} } } } }`);
    await sandbox.run(["trust"]);
    expect((await sandbox.run(["memory", "search", "zeppelin"])).stdout).toContain("lands at dawn");
    expect(await readdir(path.join(sandbox.cwd, "docs"))).toContain("cache.sqlite");
  });
});
