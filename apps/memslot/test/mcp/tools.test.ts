import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { type Transport, connect } from "./clients.ts";
import { callTool, initialize, startServer } from "./raw-server.ts";
import { watchedBackend } from "./watched-backend.ts";

const transports: Transport[] = ["stdio", "http"];

async function sandboxWithNotes(): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "# Memory\n\n- Anna likes espresso.\n");
  await sandbox.write("memory/2026-03-14.md", "# 2026-03-14\n\n- The ferry code is QX-7919.\n");
  return sandbox;
}

/** The answer of a tool, after a look at the promise that both its forms are one. */
function answerOf(result: { content: unknown; structuredContent?: unknown }): Record<string, unknown> {
  const [{ text }] = result.content as [{ type: string; text: string }];
  expect(JSON.parse(text)).toEqual(result.structuredContent);
  return result.structuredContent as Record<string, unknown>;
}

describe("the tools", () => {
  test("are listed with title, hints and the schemas that agent-kit gives them", async () => {
    const client = await connect(await sandboxWithNotes(), "stdio");
    const { tools } = await client.listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    const reads = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
    expect(hints).toEqual({
      memory_search: reads,
      memory_get: reads,
      memory_append: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    });
    for (const { title, description, inputSchema } of tools) {
      expect(title).toBeTruthy();
      expect(description).toBeTruthy();
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    }
    expect(tools[0]?.inputSchema.required).toEqual(["query"]);
  });

  test.each(transports)("search, read and write over %s", async (transport) => {
    const sandbox = await sandboxWithNotes();
    const client = await connect(sandbox, transport);
    const search = await client.callTool({ name: "memory_search", arguments: { query: "QX-7919", maxResults: 1 } });
    expect(search.isError).toBeFalsy();
    expect(answerOf(search)).toMatchObject({ results: [{ path: "memory/2026-03-14.md" }], state: "ok" });

    const get = await client.callTool({ name: "memory_get", arguments: { path: "MEMORY.md#L3-L3" } });
    expect(get.isError).toBeFalsy();
    expect(answerOf(get)).toMatchObject({
      status: "ok",
      from: 3,
      text: expect.stringContaining("Anna likes espresso"),
    });

    const note = { name: "memory_append", arguments: { text: "Ben plays the oboe.", kind: "daily" } };
    const append = answerOf(await client.callTool(note));
    expect(append).toMatchObject({ status: "ok", state: "appended", path: expect.stringMatching(/^memory\//u) });
    expect(await readFile(path.join(sandbox.workspace, String(append["path"])), "utf8")).toContain("oboe");
    expect(answerOf(await client.callTool(note))).toMatchObject({ state: "duplicate" });
    const again = answerOf(await client.callTool({ name: "memory_search", arguments: { query: "oboe" } }));
    expect(again).toMatchObject({ results: [{ path: append["path"] }] });
  });

  test.each(transports)("answer 50 calls at once over %s, each with its own answer", async (transport) => {
    const sandbox = await createSandbox();
    for (let index = 0; index < 50; index++)
      await sandbox.write(`memory/${index}.md`, `The code is QX-${1000 + index}.\n`);
    const client = await connect(sandbox, transport);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) =>
        answerOf(
          await client.callTool({ name: "memory_search", arguments: { query: `QX-${1000 + index}`, maxResults: 1 } }),
        ),
      ),
    );
    expect(answers.map(({ results }) => (results as { path: string }[])[0]?.path)).toEqual(
      Array.from({ length: 50 }, (_, index) => `memory/${index}.md`),
    );
  });

  test("without the writing one with --read-only", async () => {
    const sandbox = await sandboxWithNotes();
    const client = await connect(sandbox, "stdio", { args: ["--read-only"] });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["memory_search", "memory_get"]);
    expect(client.getInstructions()).not.toContain("memory_append");
    const note = { name: "memory_append", arguments: { text: "x", kind: "daily" } };
    await expect(client.callTool(note)).rejects.toMatchObject({ code: -32_602 });
    expect(await readdir(path.join(sandbox.workspace, "memory"))).toEqual(["2026-03-14.md"]);
  });

  test("are none where memory is off, and the instructions say so", async () => {
    const sandbox = await sandboxWithNotes();
    const config = await sandbox.writeConfig("{ plugins: { slots: { memory: 'none' } } }");
    const client = await connect(sandbox, "stdio", { args: ["--config", config] });
    expect((await client.listTools()).tools).toEqual([]);
    expect((await client.listResources()).resources).toEqual([]);
    expect(client.getInstructions()).toMatch(/off.*plugins\.slots\.memory is "none"/u);
    await expect(client.callTool({ name: "memory_search", arguments: { query: "x" } })).rejects.toMatchObject({
      code: -32_602,
    });
    await expect(client.readResource({ uri: "memslot://memory/MEMORY.md" })).rejects.toThrow("memory is off");
  });

  test("belong to the agent that is named", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig(
      JSON.stringify({
        agents: {
          list: [
            { id: "anna", workspace: path.join(sandbox.cwd, "anna") },
            { id: "ben", workspace: path.join(sandbox.cwd, "ben") },
          ],
        },
      }),
    );
    for (const name of ["anna", "ben"]) {
      await mkdir(path.join(sandbox.cwd, name));
      await writeFile(path.join(sandbox.cwd, name, "MEMORY.md"), `The oboe belongs to ${name}.\n`);
    }
    const server = startServer(sandbox, [], {}, ["mcp", "--config", config, "--agent", "ben"]);
    await initialize(server);
    const { result } = await server.request("resources/read", { uri: "memslot://memory/MEMORY.md" });
    expect(result).toMatchObject({ contents: [{ text: "The oboe belongs to ben.\n" }] });
  });
});

const badCalls: readonly [tool: string, args: object, error: string][] = [
  ["memory_search", {}, "query is missing"],
  ["memory_search", { query: 5 }, "query must be a string"],
  ["memory_search", { query: " " }, "query is empty"],
  ["memory_search", { query: "x", corpus: "wiki" }, "corpus must be one of"],
  ["memory_search", { query: "x", maxResults: 0 }, "maxResults must be at least 1"],
  ["memory_search", { query: "x", limit: 3 }, 'unknown field "limit"'],
  ["memory_get", {}, "path is missing"],
  ["memory_get", { path: "../outside.md" }, "cannot be read"],
  ["memory_get", { path: "/etc/passwd" }, "cannot be read"],
  ["memory_get", { path: "MEMORY.md", from: -1 }, "from must be at least 1"],
  ["memory_append", {}, "is missing"],
  ["memory_append", { text: "x", kind: "weekly" }, "kind must be one of"],
  ["memory_append", { text: "", kind: "daily" }, "text is empty"],
  ["memory_append", { text: "x", kind: "daily", path: "MEMORY.md" }, 'unknown field "path"'],
];

describe("a bad call", () => {
  test("is answered so that the model can act on it", async () => {
    const server = startServer(await sandboxWithNotes());
    await initialize(server);
    const answers = await Promise.all(badCalls.map(([name, args]) => callTool(server, name, args)));
    expect(answers.map(({ result }) => result)).toEqual(
      badCalls.map(([, , error]) => ({
        content: [{ type: "text", text: expect.any(String) }],
        isError: true,
        structuredContent: expect.objectContaining({ status: "error", error: expect.stringContaining(error) }),
      })),
    );
  });

  test("with a query or a note of 1 MB is answered, and the next one too", async () => {
    const sandbox = await sandboxWithNotes();
    const server = startServer(sandbox);
    await initialize(server);
    const long = "espresso ".repeat(120_000);
    expect((await callTool(server, "memory_search", { query: long })).result).toHaveProperty("structuredContent");
    const { result } = await callTool(server, "memory_append", { text: long, kind: "longterm" });
    expect(result).toMatchObject({ isError: true, structuredContent: { status: "error" } });
    expect(await readFile(path.join(sandbox.workspace, "MEMORY.md"), "utf8")).toHaveLength(33);
    expect((await callTool(server, "memory_search", { query: "Anna" })).result).toMatchObject({
      structuredContent: { results: [{ path: "MEMORY.md" }] },
    });
  });

  test("of no tool is a protocol error that names those there are", async () => {
    const server = startServer(await sandboxWithNotes());
    await initialize(server);
    expect((await callTool(server, "memory_write", {})).error).toEqual({
      code: -32_602,
      message: 'Unknown tool "memory_write"; the tools are: memory_search, memory_get, memory_append',
    });
    expect((await callTool(server, "memory_search", [1])).error).toMatchObject({ code: -32_602 });
    expect((await server.request("prompts/list")).error).toMatchObject({ code: -32_601 });
  });
});

test("a memory that cannot be opened is told by every tool, with the reason", async () => {
  const sandbox = await createSandbox();
  const server = startServer(sandbox, await watchedBackend(sandbox), { WATCHED_OPEN: "fail" });
  await initialize(server);
  const { result } = await callTool(server, "memory_search", { query: "x" });
  expect(result).toMatchObject({
    isError: true,
    structuredContent: { unavailable: true, error: expect.stringContaining("the watched store is locked away") },
  });
  for (const [name, args] of [
    ["memory_get", { path: "MEMORY.md" }],
    ["memory_append", { text: "x", kind: "daily" }],
  ] as const)
    expect((await callTool(server, name, args)).result).toMatchObject({
      isError: true,
      structuredContent: { status: "error", error: expect.stringContaining("locked away") },
    });
  expect(server.stderr()).toContain("the memory could not be opened");
  const read = await server.request("resources/read", { uri: "memslot://memory/MEMORY.md" });
  expect(read.error?.message).toContain("locked away");
});
