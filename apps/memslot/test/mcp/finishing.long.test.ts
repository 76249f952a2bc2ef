import { once } from "node:events";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { type Socket, connect } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { eventually } from "@memslot/test-tools/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import { envelope, initialize, listening, startServerProcess as startServer, token } from "./server.ts";

const notes = Array.from({ length: 20 }, (_, index) => `Note number ${index} is about the harbour of town ${index}.`);

async function onDisk(sandbox: Sandbox): Promise<string> {
  const folder = path.join(sandbox.workspace, "memory");
  const names = await readdir(folder).catch(() => []);
  return (await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")))).join("\n");
}

const append = (note: string): object => ({
  method: "tools/call",
  params: { name: "memory_append", arguments: { text: note, kind: "daily" } },
});

describe("what was received is finished", () => {
  test.each([
    ["the client closes stdin", undefined, { exitCode: 0, signal: null }],
    ["SIGTERM comes", "SIGTERM", { exitCode: 143, signal: null }],
  ] as const)("when %s", async (_, signal, end) => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox);
    await initialize(server);
    for (const [id, note] of notes.entries()) server.send({ id, ...append(note) });
    if (signal === undefined) server.child.stdin.end();
    else {
      // It has come once one of them is answered.
      await server.answerTo(0);
      server.child.kill(signal);
    }
    expect(await server.ended()).toEqual(end);
    const answers = server.lines.filter(
      (line) => typeof line === "object" && line.id !== undefined && line.result?.["isError"] !== true,
    );
    expect(answers).toHaveLength(1 + notes.length);
    const written = await onDisk(sandbox);
    expect(notes.filter((note) => !written.includes(note))).toEqual([]);
  });

  test("when all came in one piece before anything was answered", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox);
    const frames = notes.map((note, id) => {
      const { params, ...rest } = append(note) as { params: object };
      return JSON.stringify({ jsonrpc: "2.0", id, ...rest, params: { ...params, _meta: envelope } });
    });
    server.child.stdin.end(`${frames.join("\n")}\n`);
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
    expect(server.lines).toHaveLength(notes.length);
    const written = await onDisk(sandbox);
    expect(notes.filter((note) => !written.includes(note))).toEqual([]);
  });

  test("and a client that reads no answer keeps it neither from noting nor from ending", async () => {
    const sandbox = await createSandbox();
    const lines = Array.from({ length: 300 }, (_, index) => `- ${index} ${"walrus ".repeat(25)}`);
    await writeFile(path.join(sandbox.workspace, "MEMORY.md"), lines.join("\n"));
    const server = startServer(sandbox);
    await initialize(server);
    const left = once(server.child, "exit");
    server.child.stdout.pause();
    const get = { name: "memory_get", arguments: { path: "MEMORY.md", from: 1, lines: 300 } };
    for (let id = 100; id < 140; id++) server.send({ id, method: "tools/call", params: { ...get } });
    for (const [id, note] of notes.entries()) server.send({ id, ...append(note) });
    await eventually(async () => {
      const written = await onDisk(sandbox);
      return notes.every((note) => written.includes(note));
    });
    server.child.stdin.end();
    expect(await left).toEqual([0, null]);
  });

  test("over HTTP, also a request whose body comes after the signal; and nothing new is taken", async () => {
    const sandbox = await createSandbox();
    const { server, url } = await listening(startServer(sandbox, ["--http"], { MEMSLOT_MCP_TOKEN: token }));
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...append(notes[0] ?? "") });
    const request = httpRequest(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "content-length": Buffer.byteLength(body),
        expect: "100-continue",
      },
    });
    request.flushHeaders();
    await once(request, "continue");
    server.child.kill("SIGTERM");
    await eventually(async () => (await connected(url)) === undefined);
    const answered = once(request, "response");
    request.end(body);
    const [response] = await answered;
    expect(await text(response)).toContain('"result"');
    expect(await server.ended()).toEqual({ exitCode: 143, signal: null });
    expect(await onDisk(sandbox)).toContain(notes[0]);
  });
});

test("130 connections that say nothing keep nobody out", async () => {
  const { url, post } = await listening(startServer(await createSandbox(), ["--http"], { MEMSLOT_MCP_TOKEN: token }));
  const silent = await Promise.all(Array.from({ length: 130 }, () => connected(url)));
  expect(silent.filter((socket) => socket !== undefined)).toHaveLength(130);
  // The first ones had to go for the last ones.
  await eventually(() => silent.filter((socket) => socket?.closed).length === 30);
  const response = await post({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  expect(response.status).toBe(200);
  await eventually(() => silent.filter((socket) => socket?.closed).length === 31);
});

describe("a resource that is not there", () => {
  test.each([
    ["2025-06-18", -32_002],
    ["2025-11-25", -32_002],
  ])("has the code of revision %s", async (revision, code) => {
    const server = startServer(await createSandbox());
    await initialize(server, revision);
    const uri = "memslot://memory/memory/nothing.md";
    expect((await server.request("resources/read", { uri })).error).toMatchObject({ code, data: { uri } });
    // Other wrong parameters keep theirs.
    expect((await server.request("tools/call", { name: "nothing" })).error).toMatchObject({ code: -32_602 });
  });

  test("has the code of revision 2026-07-28", async () => {
    const server = startServer(await createSandbox());
    const uri = "memslot://memory/memory/nothing.md";
    const { error } = await server.request("resources/read", { uri, _meta: envelope });
    expect(error).toMatchObject({ code: -32_602, data: { uri } });
  });

  test("has the code of the revision over HTTP as well", async () => {
    const { post } = await listening(startServer(await createSandbox(), ["--http"], { MEMSLOT_MCP_TOKEN: token }));
    const uri = "memslot://memory/memory/nothing.md";
    const old = await post({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } });
    expect(await old.text()).toContain('"code":-32002');
    const params = { uri, _meta: envelope };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": uri };
    const latest = await post({ jsonrpc: "2.0", id: 2, method: "resources/read", params }, headers);
    expect(await latest.text()).toContain('"code":-32602');
  });
});

function connected(url: URL): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    onTestFinished(() => void socket.destroy());
    socket.once("connect", () => resolve(socket));
    // Refused, or ended by the server later on.
    socket.on("error", () => resolve(undefined));
    socket.resume();
  });
}
