import { randomBytes } from "node:crypto";
import { symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { unseenCharacter } from "@memslot/core/host";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import {
  type Frame,
  type RawServer,
  type Transport,
  callTool,
  connect,
  envelope,
  initialize,
  startHttpServer,
  startServer,
} from "./server.ts";
import { watchedBackend } from "./watched-backend.ts";
import garbage from "./requests.json" with { type: "json" };
import tables from "./resources.json" with { type: "json" };

const transports: Transport[] = ["stdio", "http"];

/** A day so many days before today, in UTC. */
function dayBack(days: number): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - days))
    .toISOString()
    .slice(0, 10);
}

async function utcSandbox(): Promise<{ sandbox: Sandbox; args: string[] }> {
  const sandbox = await createSandbox();
  const config = await sandbox.writeConfig("{ agents: { defaults: { userTimezone: 'UTC' } } }");
  return { sandbox, args: ["--config", config] };
}

describe("resources", () => {
  test.each(transports)("are MEMORY.md and the daily logs of the last seven days, over %s", async (transport) => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    // Eight and more days back is out whatever side of midnight this runs on; tomorrow is not yet.
    for (const back of [1, 3, 8, 30]) await sandbox.write(`memory/${dayBack(back)}.md`, "- Something.\n");
    await sandbox.write(`memory/${dayBack(1)}-travel.md`, "A note of a session.\n");
    await writeFile(path.join(sandbox.cwd, "outside.md"), "secret\n");
    await symlink(path.join(sandbox.cwd, "outside.md"), path.join(sandbox.workspace, `memory/${dayBack(2)}.md`));
    const client = await connect(sandbox, transport, args);

    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      "memslot://memory/MEMORY.md",
      `memslot://memory/memory/${dayBack(1)}.md`,
      `memslot://memory/memory/${dayBack(3)}.md`,
    ]);
    expect(resources[0]).toMatchObject({
      title: "Long-term memory",
      mimeType: "text/markdown",
      size: 21,
      annotations: { lastModified: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u) },
    });
    for (const { uri, size } of resources) {
      const [content] = (await client.readResource({ uri })).contents as { text: string; mimeType: string }[];
      expect(content).toMatchObject({ mimeType: "text/markdown" });
      expect(Buffer.byteLength(content?.text ?? "")).toBe(size);
    }
  });

  test("are any memory file by its path, as a whole and as it stands", async () => {
    const { sandbox, args } = await utcSandbox();
    const long = Array.from({ length: 9000 }, (_, index) => `Line ${index} of the long note, with 日本 in it.`).join(
      "\n",
    );
    await sandbox.write("memory/deep/a note.md", `${long}\n`);
    await sandbox.write("memory/empty.md", "");
    const client = await connect(sandbox, "stdio", args);
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([
      expect.objectContaining({ uriTemplate: "memslot://memory/{+path}", mimeType: "text/markdown" }),
    ]);
    const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents;
    expect(await read("memslot://memory/memory/deep/a%20note.md")).toEqual([
      { uri: "memslot://memory/memory/deep/a%20note.md", mimeType: "text/markdown", text: `${long}\n` },
    ]);
    expect(await read("memslot://memory/memory/empty.md")).toMatchObject([{ text: "" }]);
  });

  test.skipIf(process.platform === "win32")("hide nothing, and are found by the path that tools give", async () => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("memory/a\u202Edm.\u{E0041}.md", "The ferry \u202Eleaves\u{E0049}\u200B at nine 👩‍🚀.\n");
    const client = await connect(sandbox, "stdio", args);
    const found = await client.callTool({ name: "memory_search", arguments: { query: "ferry leaves nine" } });
    expect(unseenCharacter(JSON.stringify(found))).toBeUndefined();
    const { results } = found.structuredContent as { results: { path: string }[] };
    const uri = `memslot://memory/${encodeURIComponent(results[0]?.path ?? "")}`;
    expect((await client.readResource({ uri })).contents).toEqual([
      { uri, mimeType: "text/markdown", text: "The ferry \uFFFDleaves\uFFFD at nine 👩‍🚀.\n" },
    ]);
  });

  test("outside the memory, or not there, are not found, and nothing more is told", async () => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    await sandbox.write("secret.txt", "secret\n");
    await writeFile(path.join(sandbox.cwd, "outside.md"), "secret\n");
    await symlink(path.join(sandbox.cwd, "outside.md"), path.join(sandbox.workspace, "memory.md"));
    const server = startServer(sandbox, args);
    await initialize(server);
    for (const rest of tables.notFound) {
      const uri = `memslot://memory/${rest}`;
      const { error, result } = await server.request("resources/read", { uri });
      expect({ rest, error, result }).toEqual({
        rest,
        error: { code: -32_002, message: `Resource not found: ${uri}`, data: { uri } },
        result: undefined,
      });
    }
    const other = await server.request("resources/read", { uri: "file:///etc/passwd" });
    expect(other.error?.message).toBe("Resource not found: file:///etc/passwd");
  });

  test("too large to be given whole name memory_get", async () => {
    const { sandbox, args } = await utcSandbox();
    await sandbox.write("memory/large.md", "A line of a large note.\n".repeat(50_000));
    await sandbox.write("memory/wide.md", `short\n${"wide ".repeat(5000)}\nend\n`);
    const server = startServer(sandbox, args);
    await initialize(server);
    const large = await server.request("resources/read", { uri: "memslot://memory/memory/large.md" });
    expect(large.error?.message).toMatch(/memory\/large\.md is larger than 1 MB: .* memory_get/u);
    const wide = await server.request("resources/read", { uri: "memslot://memory/memory/wide.md" });
    expect(wide.error?.message).toMatch(/memory\/wide\.md has a line that is too long .* memory_get/u);
  });
});

const searchFor = (query: string): object => ({ name: "memory_search", arguments: { query } });

function progressOf(server: RawServer, progressToken: unknown): Frame[] {
  return server.lines.filter(
    (line): line is Frame =>
      typeof line === "object" &&
      line.method === "notifications/progress" &&
      line.params?.["progressToken"] === progressToken,
  );
}

describe("a client that asks for progress", () => {
  test("is told how far the first index is, before the answer and not after it", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox, { sync: "held" }));
    await initialize(server);
    await server.saw("backend: sync");
    const _meta = { progressToken: "index" };
    server.send({ id: 1, method: "tools/call", params: { ...searchFor("espresso"), _meta } });
    await server.answerTo(1);
    const seen = progressOf(server, "index");
    expect(seen[0]?.params).toEqual(tables.progress);
    expect(server.lines.indexOf(seen.at(-1) ?? "")).toBeLessThan(
      server.lines.findIndex((line) => typeof line === "object" && line.id === 1),
    );
    // The index continues, but the call that asked for its progress is answered.
    for (let step = 0; step < 5; step++) await callTool(server, "memory_search", { query: "step" });
    await callTool(server, "memory_search", { query: "release" });
    await server.saw("backend: synced");
    server.send({
      id: 2,
      method: "tools/call",
      params: { ...searchFor("espresso"), _meta: { progressToken: "done" } },
    });
    await server.answerTo(2);
    expect(progressOf(server, "done")).toEqual([]);
    expect(progressOf(server, "index")).toEqual(seen);
  });

  test("is told while the call runs, each time further, in the 2026-07-28 revision too", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox, { sync: "held" }));
    const meta = (progressToken?: string): object => ({
      _meta: { ...envelope, ...(progressToken && { progressToken }) },
    });
    await server.request("server/discover", meta());
    await server.saw("backend: sync");
    server.send({ id: 1, method: "tools/call", params: { ...searchFor("wait"), ...meta("index") } });
    await server.saw("backend: search wait");
    // Steps that follow each other at once are reported together, so more are needed than are reported.
    for (let step = 0; progressOf(server, "index").length < 5; step++)
      await server.request("tools/call", { ...searchFor(step % 3 === 0 ? "step" : "back"), ...meta() });
    const told = progressOf(server, "index").map(({ params }) => Number(params?.["progress"]));
    expect(told.length).toBeGreaterThan(4);
    expect(told).toEqual([...new Set(told)].toSorted((left, right) => left - right));
  });

  test("is told over HTTP in the answer's stream", async () => {
    const sandbox = await createSandbox();
    const { server, post } = await startHttpServer(sandbox, await watchedBackend(sandbox, { sync: "held" }));
    await server.saw("backend: sync");
    const params = { ...searchFor("espresso"), _meta: { ...envelope, progressToken: 7 } };
    const answer = await post(
      { jsonrpc: "2.0", id: 1, method: "tools/call", params },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "memory_search" },
    );
    const frames = (await answer.text()).matchAll(/^data: (.*)$/gmu).map(([, json = ""]) => JSON.parse(json) as Frame);
    expect([...frames].map(({ method, id }) => method ?? id)).toEqual(["notifications/progress", 1]);
  });
});

describe("a call is aborted", () => {
  test("by notifications/cancelled, and the backend sees it", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox));
    await initialize(server);
    server.send({ id: 1, method: "tools/call", params: searchFor("wait") });
    await server.saw("backend: search wait");
    server.send({ method: "notifications/cancelled", params: { requestId: 1, reason: "enough" } });
    await server.saw("backend: aborted");
    expect((await callTool(server, "memory_search", { query: "espresso" })).result).toMatchObject({
      structuredContent: { results: [{ path: "MEMORY.md" }] },
    });
    expect(server.lines.filter((line) => typeof line === "object" && line.id === 1)).toEqual([]);
  });

  test.each([
    ["2025-11-25", { "mcp-protocol-version": "2025-11-25" }, {}],
    [
      "2026-07-28",
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "memory_search" },
      { _meta: envelope },
    ],
  ])("by the end of its HTTP request in revision %s, and the backend sees it", async (_revision, headers, meta) => {
    const sandbox = await createSandbox();
    const { server, post } = await startHttpServer(sandbox, await watchedBackend(sandbox));
    const leaving = new AbortController();
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...searchFor("wait"), ...meta } };
    const answer = post(message, headers, leaving.signal).then((response) => response.text());
    await server.saw("backend: search wait");
    leaving.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    await server.saw("backend: aborted");
    const next = await post({ ...message, params: { ...searchFor("espresso"), ...meta } }, headers);
    expect(await next.text()).toContain("Anna likes espresso");
  });
});

const question = { name: "memory_search", arguments: { query: "espresso" } };

async function stillAnswers(server: RawServer, meta: object = {}): Promise<void> {
  const { result } = await server.request("tools/call", { ...question, ...meta });
  expect(result).toMatchObject({ structuredContent: { results: [{ path: "MEMORY.md" }] } });
}

const brokenMessages = [
  ["bytes that are no text", Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0x80]), randomBytes(5000), Buffer.from("\n")])],
  ...garbage.broken.map(([name, text = ""]) => [name, text.replace("{20 MB}", "a".repeat(20_000_000))]),
] as [name: string, bytes: string | Uint8Array][];

describe("garbage on stdin", () => {
  test.each([
    ["2025-11-25", false],
    ["2026-07-28", true],
  ])("leaves a conversation of revision %s alive", async (_revision, modern) => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const server = startServer(sandbox);
    const meta = modern ? { _meta: envelope } : {};
    if (modern) await server.request("server/discover", meta);
    else await initialize(server);
    for (const [name, bytes] of brokenMessages) {
      server.stdin.write(bytes);
      await stillAnswers(server, meta).catch((error: unknown) => {
        throw new Error(`after ${name}: ${String(error)}`, { cause: error });
      });
    }
    expect(server.lines.filter((line) => typeof line === "string")).toEqual([]);
    expect(server.stderr()).toContain("a message of more than 8 MiB was left out");
    expect(server.stderr()).toContain("it is no JSON-RPC 2.0 message");
    server.stdin.end();
    expect((await server.ended()).exitCode).toBe(0);
  });

  test("before the first message does no harm", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const server = startServer(sandbox);
    for (const [, bytes] of brokenMessages.slice(0, 7)) server.stdin.write(bytes);
    expect((await initialize(server)).result).toHaveProperty("serverInfo");
    await stillAnswers(server);
  });

  test("does not keep a message from being read that comes byte by byte, or together with others", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const server = startServer(sandbox);
    await initialize(server);
    const ping = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`;
    for (const byte of Buffer.from(ping(1))) server.stdin.write(Uint8Array.of(byte));
    server.stdin.write(ping(2) + ping(3) + ping(4));
    for (const id of [1, 2, 3, 4]) expect((await server.answerTo(id)).result).toEqual({});
  });
});

test("garbage over HTTP is refused, and the next request is answered", async () => {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const { post } = await startHttpServer(sandbox);
  for (const [body, status] of garbage.bodies as [string, number][]) {
    const response = await post(body);
    expect({ body, status: response.status }).toEqual({ body, status });
  }
  expect((await post("{}", { "content-type": "text/plain" })).status).toBe(415);
  const answer = await post({ jsonrpc: "2.0", id: 1, method: "tools/call", params: question });
  expect(await answer.text()).toContain("Anna likes espresso");
});
