import { describe, expect, test } from "vitest";
import { createSandbox } from "../run-memslot.ts";
import { startHttpServer } from "./http-server.ts";
import { type Frame, type RawServer, callTool, envelope, initialize, startServer } from "./raw-server.ts";
import { watchedBackend } from "./watched-backend.ts";

const search = (query: string): object => ({ name: "memory_search", arguments: { query } });

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
    const server = startServer(sandbox, await watchedBackend(sandbox), { WATCHED_SYNC: "held" });
    await initialize(server);
    await server.saw("backend: sync");
    const _meta = { progressToken: "index" };
    server.send({ id: 1, method: "tools/call", params: { ...search("espresso"), _meta } });
    await server.answerTo(1);
    const seen = progressOf(server, "index");
    expect(seen[0]?.params).toEqual({
      progressToken: "index",
      progress: 1,
      total: 9,
      message: "making the index: 1 of 9, MEMORY.md",
    });
    expect(server.lines.indexOf(seen.at(-1) ?? "")).toBeLessThan(
      server.lines.findIndex((line) => typeof line === "object" && line.id === 1),
    );
    // The index goes on, but the call that asked for its progress is answered.
    const enoughMs = performance.now() + 300;
    while (performance.now() < enoughMs) await callTool(server, "memory_search", { query: "step" });
    expect(progressOf(server, "index")).toEqual(seen);

    await callTool(server, "memory_search", { query: "release" });
    await server.saw("backend: synced");
    server.send({ id: 2, method: "tools/call", params: { ...search("espresso"), _meta: { progressToken: "done" } } });
    await server.answerTo(2);
    expect(progressOf(server, "done")).toEqual([]);
  });

  test("is told while the call runs, each time further, in the 2026-07-28 revision too", async () => {
    const sandbox = await createSandbox();
    const server = startServer(sandbox, await watchedBackend(sandbox), { WATCHED_SYNC: "held" });
    const meta = (progressToken?: string): object => ({
      _meta: { ...envelope, ...(progressToken && { progressToken }) },
    });
    await server.request("server/discover", meta());
    await server.saw("backend: sync");
    server.send({ id: 1, method: "tools/call", params: { ...search("wait"), ...meta("index") } });
    await server.saw("backend: search wait");
    // Steps that follow each other at once are told together, so more are needed than are told.
    for (let step = 0; step < 5000 && progressOf(server, "index").length < 5; step++)
      await server.request("tools/call", { ...search(step % 3 === 0 ? "step" : "back"), ...meta() });
    const told = progressOf(server, "index").map(({ params }) => Number(params?.["progress"]));
    expect(told.length).toBeGreaterThan(4);
    expect(told).toEqual([...new Set(told)].toSorted((left, right) => left - right));
  });

  test("is told over HTTP in the answer's stream", async () => {
    const sandbox = await createSandbox();
    const { server, post } = await startHttpServer(sandbox, await watchedBackend(sandbox), { WATCHED_SYNC: "held" });
    await server.saw("backend: sync");
    const params = { ...search("espresso"), _meta: { ...envelope, progressToken: 7 } };
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
    server.send({ id: 1, method: "tools/call", params: search("wait") });
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
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...search("wait"), ...meta } };
    const answer = post(message, headers, leaving.signal).then((response) => response.text());
    await server.saw("backend: search wait");
    leaving.abort();
    await expect(answer).rejects.toMatchObject({ name: "AbortError" });
    await server.saw("backend: aborted");
    const next = await post({ ...message, params: { ...search("espresso"), ...meta } }, headers);
    expect(await next.text()).toContain("Anna likes espresso");
  });
});

test("nothing but protocol frames comes on stdout, whatever a backend writes there", async () => {
  const sandbox = await createSandbox();
  const server = startServer(sandbox, await watchedBackend(sandbox));
  await initialize(server);
  expect((await callTool(server, "memory_search", { query: "noise" })).result).toHaveProperty("structuredContent");
  server.child.stdin.end();
  await server.ended();
  expect(server.lines.filter((line) => typeof line === "string" || line.jsonrpc !== "2.0")).toEqual([]);
  for (const way of ["log", "info", "table", "write"]) expect(server.stderr()).toContain(`by ${way}`);
});
