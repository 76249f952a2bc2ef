import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createSandbox } from "../run-memslot.ts";
import { startHttpServer } from "./http-server.ts";
import { type RawServer, envelope, initialize, startServer } from "./raw-server.ts";

const question = { name: "memory_search", arguments: { query: "espresso" } };

async function stillAnswers(server: RawServer, meta: object = {}): Promise<void> {
  const { result } = await server.request("tools/call", { ...question, ...meta });
  expect(result).toMatchObject({ structuredContent: { results: [{ path: "MEMORY.md" }] } });
}

const garbage: readonly [name: string, bytes: string | Uint8Array][] = [
  ["a broken line of JSON", '{"jsonrpc":"2.0","id":1,"method":\n'],
  ["no JSON at all", "hello\n\n\r\n"],
  ["JSON that is no message", 'null\n17\n"text"\n{}\n'],
  ["another version of JSON-RPC", '{"jsonrpc":"1.0","id":1,"method":"ping"}\n{"id":1,"method":"ping"}\n'],
  ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]\n'],
  ["bytes that are no text", Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0x80]), randomBytes(5000), Buffer.from("\n")])],
  ["an answer to nothing", '{"jsonrpc":"2.0","id":77,"result":{}}\n'],
  ["an unknown method and notification", '{"jsonrpc":"2.0","id":1,"method":"x/y"}\n{"jsonrpc":"2.0","method":"x/z"}\n'],
  ["an id of a wrong type", '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n'],
  ["a line of 20 MB", `${"a".repeat(20_000_000)}\n`],
  [
    "a request of 20 MB",
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_search","arguments":{"query":"${"a".repeat(20_000_000)}"}}}\n`,
  ],
];

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
    for (const [name, bytes] of garbage) {
      server.write(bytes);
      await stillAnswers(server, meta).catch((error: unknown) => {
        throw new Error(`after ${name}: ${String(error)}`, { cause: error });
      });
    }
    expect(server.lines.filter((line) => typeof line === "string")).toEqual([]);
    expect(server.stderr()).toContain("a message of more than 8 MiB was left out");
    expect(server.stderr()).toContain("it is no JSON-RPC 2.0 message");
    server.child.stdin.end();
    expect((await server.ended()).exitCode).toBe(0);
  });

  test("before the first message does no harm", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const server = startServer(sandbox);
    for (const [, bytes] of garbage.slice(0, 7)) server.write(bytes);
    expect((await initialize(server)).result).toHaveProperty("serverInfo");
    await stillAnswers(server);
  });

  test("does not keep a message from being read that comes byte by byte, or together with others", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const server = startServer(sandbox);
    await initialize(server);
    const ping = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`;
    for (const byte of Buffer.from(ping(1))) server.write(Uint8Array.of(byte));
    server.write(ping(2) + ping(3) + ping(4));
    for (const id of [1, 2, 3, 4]) expect((await server.answerTo(id)).result).toEqual({});
  });
});

test("garbage over HTTP is refused, and the next request is answered", async () => {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  const { post } = await startHttpServer(sandbox);
  for (const [body, status] of [
    ['{"jsonrpc":"2.0","id":1,"method":', 400],
    ["", 400],
    ["17", 400],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400],
    [Buffer.from([0xff, 0xfe, 0]).toString("latin1"), 400],
  ] as const) {
    const response = await post(body);
    expect({ body, status: response.status }).toEqual({ body, status });
  }
  expect((await post("{}", { "content-type": "text/plain" })).status).toBe(415);
  const answer = await post({ jsonrpc: "2.0", id: 1, method: "tools/call", params: question });
  expect(await answer.text()).toContain("Anna likes espresso");
});
