import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import badCallRows from "./bad-calls.json" with { type: "json" };
import { type Transport, callTool, connect, initialize, startServer } from "./server.ts";
import { watchedBackend } from "./watched-backend.ts";
import data from "../data/tools.json" with { type: "json" };

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
    // Claude Code defers tools without this mark.
    const marked = tools.filter(({ _meta }) => _meta?.["anthropic/alwaysLoad"] === true).map(({ name }) => name);
    expect(marked).toEqual(["memory_search", "memory_append"]);
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
    const again = async () => answerOf(await client.callTool({ name: "memory_search", arguments: { query: "oboe" } }));
    let found = await again();
    // A busy machine answers before it has indexed the new note, and says so.
    while (found["state"] === "stale") found = await again();
    expect(found).toMatchObject({ results: [{ path: append["path"] }] });
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
    const client = await connect(sandbox, "stdio", ["--read-only"]);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["memory_search", "memory_get"]);
    expect(client.getInstructions()).not.toContain("memory_append");
    const note = { name: "memory_append", arguments: { text: "x", kind: "daily" } };
    await expect(client.callTool(note)).rejects.toMatchObject({ code: -32_602 });
    expect(await readdir(path.join(sandbox.workspace, "memory"))).toEqual(["2026-03-14.md"]);
  });

  test("are none where memory is off, and the instructions say so", async () => {
    const sandbox = await sandboxWithNotes();
    const config = await sandbox.writeConfig("{ plugins: { slots: { memory: 'none' } } }");
    const client = await connect(sandbox, "stdio", ["--config", config]);
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

/** Calls that are refused, with the error that tells a model why. */
const badCalls = badCallRows as [tool: string, args: object, error: string][];

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
    expect((await callTool(server, "memory_write", {})).error).toEqual(data.unknownTool);
    expect((await callTool(server, "memory_search", [1])).error).toMatchObject({ code: -32_602 });
    expect((await server.request("prompts/list")).error).toMatchObject({ code: -32_601 });
  });
});

test("a memory that cannot be opened is told by every tool, with the reason", async () => {
  const sandbox = await createSandbox();
  const server = startServer(sandbox, await watchedBackend(sandbox, { open: "fail" }));
  await initialize(server);
  const { result } = await callTool(server, "memory_search", { query: "x" });
  expect(result).toMatchObject({
    isError: true,
    structuredContent: { unavailable: true, error: expect.stringContaining("the watched store is locked away") },
  });
  for (const [name, args] of data.callsOfAll as [string, object][])
    expect((await callTool(server, name, args)).result).toMatchObject({
      isError: true,
      structuredContent: { status: "error", error: expect.stringContaining("locked away") },
    });
  expect(server.stderr()).toContain("the memory could not be opened");
  const read = await server.request("resources/read", { uri: "memslot://memory/MEMORY.md" });
  expect(read.error?.message).toContain("locked away");
});

async function sandboxWith(settings: string): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "# Memory\n\n- Anna likes espresso.\n- Ben plays the oboe.\n");
  await mkdir(sandbox.stateDir, { recursive: true });
  await writeFile(path.join(sandbox.stateDir, "memslot.json5"), settings);
  return sandbox;
}

const editing = '{ memory: { write: "edit" } }';
const notes = (sandbox: Sandbox): Promise<string> => readFile(path.join(sandbox.workspace, "MEMORY.md"), "utf8");
const before = "# Memory\n\n- Anna likes espresso.\n- Ben plays the oboe.\n";

async function call(client: Client, name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { structuredContent } = await client.callTool({ name, arguments: input });
  return structuredContent as Record<string, unknown>;
}

describe("memory.write", () => {
  const offered = async (settings: string, args: readonly string[] = []): Promise<string[]> => {
    const client = await connect(await sandboxWith(settings), "stdio", args);
    return (await client.listTools()).tools.map(({ name }) => name).slice(2);
  };

  test("decides whether a client may change notes; it may not where nobody has said so, nor with --read-only", async () => {
    expect(await offered("{}")).toEqual(["memory_append"]);
    expect(await offered('{ memory: { write: "append" } }')).toEqual(["memory_append"]);
    expect(await offered(editing)).toEqual(["memory_append", "memory_edit", "memory_forget"]);
    expect(await offered(editing, ["--read-only"])).toEqual([]);
  });
});

describe("memslot log, undo and restore", () => {
  test("show what a client has changed and take it back to the byte", async () => {
    const sandbox = await sandboxWith(editing);
    const client = await connect(sandbox, "stdio");
    const { tools } = await client.listTools();
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]));
    expect(hints).toMatchObject({ memory_append: false, memory_edit: true, memory_forget: true });
    const hash = String((await call(client, "memory_get", { path: "MEMORY.md" }))["hash"]);
    const edited = await call(client, "memory_edit", { path: "MEMORY.md", hash, old: "espresso", new: "tea" });
    expect(edited).toMatchObject({ status: "ok", state: "edited", citation: "MEMORY.md#L3-L3" });
    const forgotten = await call(client, "memory_forget", {
      path: "MEMORY.md",
      hash: edited["hash"],
      old: "- Ben plays the oboe.",
      reason: "Ben asked for it.",
    });
    expect(forgotten).toMatchObject({ status: "ok", state: "forgotten" });
    expect(await notes(sandbox)).toBe("# Memory\n\n- Anna likes tea.\n");
    const stale = await client.callTool({
      name: "memory_edit",
      arguments: { path: "MEMORY.md", hash, old: "tea", new: "x" },
    });
    expect(stale.isError).toBe(true);

    const shown = await sandbox.runHere(["log"]);
    expect(shown).toMatchObject({ exitCode: 0, stderr: "" });
    expect(shown.stdout).toMatch(
      /forget {2}MEMORY\.md:4 {2}by memory_forget, agent main\n {2}reason: Ben asked for it\.\n {2}- - Ben plays/u,
    );
    expect(shown.stdout).toMatch(
      /edit {2}MEMORY\.md:3 {2}by memory_edit[^\n]*\n {2}- - Anna likes espresso\.\n {2}\+ - Anna likes tea\./u,
    );
    const listed = JSON.parse((await sandbox.runHere(["log", "--json"])).stdout) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual([forgotten["change"], edited["change"]]);

    expect(await sandbox.runHere(["undo", String(edited["change"])])).toMatchObject({ exitCode: 0 });
    expect(await sandbox.runHere(["undo", String(edited["change"])])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("has been taken back already") as string,
    });
    expect(await notes(sandbox)).toBe("# Memory\n\n- Anna likes espresso.\n");
    const restored = await sandbox.runHere(["restore", "--json"]);
    expect(JSON.parse(restored.stdout)).toMatchObject({ kind: "restore", undoes: forgotten["change"] });
    expect(await notes(sandbox)).toBe(before);
    expect(await readdir(path.join(sandbox.workspace, "memory", ".trash"))).toEqual([]);
    expect(await sandbox.runHere(["restore"])).toMatchObject({ exitCode: 2 });
    expect((await sandbox.runHere(["log"])).stdout).toContain("(undone)");
  });

  test("say that there is nothing where nothing was changed", async () => {
    const sandbox = await sandboxWith("{}");
    expect(await sandbox.runHere(["log"])).toMatchObject(data.noChange);
    expect(await sandbox.runHere(["log", "--json"])).toMatchObject({ exitCode: 0, stdout: "[]\n" });
    expect(await sandbox.runHere(["undo"])).toMatchObject({ exitCode: 2 });
    expect(await sandbox.runHere(["undo", "--json"])).toMatchObject({ exitCode: 2 });
  });
});

interface ServedFolder {
  tools: string[];
  instructions: string;
  answer: string;
  stderr: string;
}

/** Starts the server in a folder of notes, asks it for its tools and for the walrus, and ends it. */
async function serve(sandbox: Sandbox, args: readonly string[] = []): Promise<ServedFolder> {
  await mkdir(path.join(sandbox.cwd, "memory"), { recursive: true });
  await writeFile(path.join(sandbox.cwd, "memory", "a.md"), "The walrus of this folder.\n");
  const server = startServer(sandbox, args, {}, ["mcp"]);
  const { result: greeting } = await initialize(server);
  const { result } = await server.request("tools/list");
  const answer = await callTool(server, "memory_search", { query: "walrus" });
  server.stdin.end();
  await server.ended();
  return {
    tools: ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name),
    instructions: String(greeting?.["instructions"]),
    answer: JSON.stringify(answer),
    stderr: server.stderr(),
  };
}

test("a server that is started in a folder of notes serves it, says so, and writes nothing into it", async () => {
  const sandbox = await createSandbox();
  const { tools, instructions, answer, stderr } = await serve(sandbox);
  expect(answer).toContain("walrus of this folder");
  expect(tools).toEqual(["memory_search", "memory_get"]);
  expect(instructions).not.toContain("memory_append");
  expect(stderr).toContain("detected from the current folder");
  expect(stderr).toContain("pass --workspace to enable memory_append");
  expect((await readdir(path.join(sandbox.cwd, "memory"))).toSorted()).toEqual(["a.md"]);
});

test.each(data.workspaces)("%s", async (_, walrus) => {
  const sandbox = await createSandbox();
  await mkdir(path.join(sandbox.stateDir, "workspace", "memory"), { recursive: true });
  await writeFile(path.join(sandbox.stateDir, "workspace", "MEMORY.md"), "The walrus that was chosen.\n");
  const named = walrus === "of this folder" ? ["--workspace", sandbox.cwd] : [];
  const { tools, answer, stderr } = await serve(sandbox, named);
  expect(answer.match(/walrus (?:that was chosen|of this folder)/gu)).toContain(`walrus ${walrus}`);
  expect(new Set(answer.match(/walrus (?:that was chosen|of this folder)/gu)).size).toBe(1);
  expect(tools).toContain("memory_append");
  expect(stderr).not.toContain("detected from the current folder");
});

test("a cloned folder whose configuration is not trusted gives a client none of the user's conversations", async () => {
  const sandbox = await createSandbox();
  const search = `sources: ["memory", "sessions"], store: { path: "./docs/cache.sqlite" }`;
  const config = `{ agents: { defaults: { workspace: ".", memorySearch: { ${search} } } } }`;
  await writeFile(path.join(sandbox.cwd, "memslot.json5"), config);
  const sessions = path.join(sandbox.stateDir, "agents/main/sessions");
  await mkdir(sessions, { recursive: true });
  const message = { role: "user", content: "The walrus lands at dawn." };
  const lines = [
    { type: "session", version: 3, id: "s", timestamp: "2026-03-14T09:00:00Z" },
    { type: "message", id: "1", timestamp: "2026-03-14T09:05:00Z", message },
  ];
  await writeFile(path.join(sessions, "s.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect((await serve(sandbox)).answer).not.toContain("lands at dawn");
  expect((await readdir(sandbox.cwd)).toSorted()).toEqual(["memory", "memslot.json5"]);
  await sandbox.run(["trust"]);
  const server = startServer(sandbox, [], {}, ["mcp"]);
  await initialize(server);
  const found = await callTool(server, "memory_search", { query: "walrus", corpus: "all" });
  expect(JSON.stringify(found)).toContain("lands at dawn");
});
