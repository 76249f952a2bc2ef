import { isRunning } from "@memslot/test-tools/child";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "../run-memslot.ts";
import {
  type HttpServer,
  type ServerProcess,
  callTool,
  envelope,
  initialize,
  listening,
  startServerProcess as startServer,
  token,
} from "./server.ts";
import { watchedBackend } from "./watched-backend.ts";

/** Each with the exit code of a process that it ends. */
const signals = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const;

describe("memslot mcp ends", () => {
  test("with 0 when the client closes stdin, aborts what runs and closes the memory", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox));
    await initialize(server);
    server.send({ id: 1, method: "tools/call", params: { name: "memory_search", arguments: { query: "wait" } } });
    await server.saw("backend: search wait");
    server.child.stdin.end();
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
    expect(server.stderr()).toMatch(/backend: aborted\n[^]*backend: close\n/u);
    expect(server.lines.filter((line) => typeof line === "string" || line.id === 1)).toEqual([]);
    expect(isRunning(server.child.pid ?? 0)).toBe(false);
  });

  test("with 0 before a client has said anything", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox);
    server.child.stdin.end();
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
    expect({ stdout: server.lines, stderr: server.stderr() }).toEqual({ stdout: [], stderr: "" });
  });

  test.each(signals)("on %s with %i, while a call runs and the first index is made", async (signal, exitCode) => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox, { sync: "held" }));
    await initialize(server);
    server.send({ id: 1, method: "tools/call", params: { name: "memory_search", arguments: { query: "wait" } } });
    await server.saw("backend: search wait");
    server.child.kill(signal);
    expect(await server.ended()).toEqual({ exitCode, signal: null });
    expect(server.stderr()).toMatch(/backend: aborted\n[^]*backend: close\n/u);
    expect(isRunning(server.child.pid ?? 0)).toBe(false);
  });

  test("on a signal also while the memory is being opened", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox, { open: "never" }));
    await initialize(server);
    server.child.kill("SIGTERM");
    expect(await server.ended()).toEqual({ exitCode: 143, signal: null });
  });

  test("when the client no longer reads", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox));
    await initialize(server);
    await callTool(server, "memory_search", { query: "espresso" });
    server.child.stdout.destroy();
    server.send({ id: 1, method: "tools/list" });
    server.send({ id: 2, method: "tools/list" });
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
    expect(server.stderr()).toContain("backend: close");
  });

  test("on a signal while the client leaves a large answer unread", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox));
    await initialize(server);
    server.child.stdout.pause();
    for (let id = 1; id <= 30; id++)
      server.send({ id, method: "resources/read", params: { uri: "memslot://memory/MEMORY.md" } });
    await server.saw("backend: read 30");
    server.child.kill("SIGTERM");
    const exited = new Promise((resolve) => server.child.once("exit", resolve));
    expect(await exited).toBe(143);
    server.child.stdout.resume();
  });

  test("in time when the backend does not close", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox, { close: "never" }));
    await initialize(server);
    await callTool(server, "memory_search", { query: "espresso" });
    server.child.stdin.end();
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
    expect(server.stderr()).toContain("closing the memory: did not end within 5 s");
  });
});

describe("memslot mcp does not start", () => {
  test("with a configuration that cannot be read", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{ nothing: ");
    const server = startServer(sandbox, ["--config", config]);
    expect(await server.ended()).toEqual({ exitCode: 1, signal: null });
    expect(server.stderr()).toContain(config);
    expect(server.lines).toEqual([]);
  });

  test("with a backend that nobody knows", async () => {
    const sandbox = await createSandbox();
    const config = await sandbox.writeConfig("{ plugins: { slots: { memory: 'memory-cor' } } }");
    const server = startServer(sandbox, ["--config", config]);
    expect(await server.ended()).toEqual({ exitCode: 1, signal: null });
    expect(server.stderr()).toContain('Did you mean "memory-core"?');
  });
});

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

async function startHttp(sandbox: Sandbox, args: readonly string[] = []): Promise<HttpServer<ServerProcess>> {
  return await listening(startServer(sandbox, ["--http", ...args], { MEMSLOT_MCP_TOKEN: token }));
}

test.each(signals)("%s ends the HTTP server with %i while calls of both eras run", async (signal, exitCode) => {
  const sandbox = await createSandbox();
  const { server, post } = await startHttp(sandbox, await watchedBackend(sandbox));
  const params = { name: "memory_search", arguments: { query: "wait" } };
  const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "memory_search" };
  const running = Promise.allSettled([
    post({ ...ping, method: "tools/call", params }).then((response) => response.text()),
    post({ ...ping, method: "tools/call", params: { ...params, _meta: envelope } }, modern).then(async (response) => {
      if (!response.ok) throw new Error(`no answer: ${response.status}`);
      return response.text();
    }),
  ]);
  await server.saw("backend: search wait\nbackend: search wait");
  server.child.kill(signal);
  expect((await running).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await server.ended()).toEqual({ exitCode, signal: null });
  expect(server.stderr()).toMatch(/(?:backend: aborted\n){2}[^]*backend: close\n/u);
});

test("the end of stdin does not end the HTTP server", async () => {
  const sandbox = await createSandbox();
  const http1 = await startHttp(sandbox);
  http1.server.stdin.end();
  expect((await http1.post(ping)).status).toBe(200);
});
