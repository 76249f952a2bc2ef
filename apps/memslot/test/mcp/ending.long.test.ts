import { describe, expect, test } from "vitest";
import { createSandbox } from "../run-memslot.ts";
import { callTool, initialize, startServer } from "./raw-server.ts";
import { watchedBackend } from "./watched-backend.ts";

function isThere(pid: number | undefined): boolean {
  try {
    process.kill(pid ?? 0, 0);
    return true;
  } catch {
    return false;
  }
}

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
    expect(isThere(server.child.pid)).toBe(false);
  });

  test("with 0 before a client has said anything", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox);
    server.child.stdin.end();
    expect(await server.ended()).toEqual({ exitCode: 0, signal: null });
    expect({ stdout: server.lines, stderr: server.stderr() }).toEqual({ stdout: [], stderr: "" });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("on %s with %i, while a call runs and the first index is made", async (signal, exitCode) => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox), { WATCHED_SYNC: "held" });
    await initialize(server);
    server.send({ id: 1, method: "tools/call", params: { name: "memory_search", arguments: { query: "wait" } } });
    await server.saw("backend: search wait");
    server.child.kill(signal);
    expect(await server.ended()).toEqual({ exitCode, signal: null });
    expect(server.stderr()).toMatch(/backend: aborted\n[^]*backend: close\n/u);
    expect(isThere(server.child.pid)).toBe(false);
  });

  test("on a signal also while the memory is being opened", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox), { WATCHED_OPEN: "never" });
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
    const server = startServer(sandbox, await watchedBackend(sandbox), { WATCHED_CLOSE: "never" });
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

  test.each([
    [["--port", "1"], "--port belongs to --http"],
    [["--host", "127.0.0.1"], "--host belongs to --http"],
    [["--token-file", "x"], "--token-file belongs to --http"],
    [["--http", "--host", "0.0.0.0"], "--host 0.0.0.0 is not served"],
    [["--http", "--host", "localhost"], "--host localhost is not served"],
    [["--http", "--port", "65536"], "--port"],
    [["--http", "--port", "many"], "--port"],
    [["--agent", " "], "--agent"],
    [["left", "over"], "too many arguments"],
  ])("with %j", async (args, message) => {
    const sandbox = await createSandbox();
    const { exitCode, stdout, stderr } = await sandbox.runHere(["mcp", ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(message);
  });
});
