import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Sandbox, command, createSandbox } from "../run-memslot.ts";
import { type Transport, initialize, startHttpServer, startServerProcess as startServer, token } from "./server.ts";
import { watchedBackend } from "./watched-backend.ts";

const transports: Transport[] = ["stdio", "http"];
const question = { name: "memory_search", arguments: { query: "espresso" } };
const found = { results: [{ path: "MEMORY.md", startLine: 1 }], state: "ok" };

async function sandboxWithNote(): Promise<Sandbox> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
  return sandbox;
}

describe.each(transports)("over %s", (transport) => {
  test.each(["2025-11-25", "2026-07-28"] as const)("the newest client is served in revision %s", async (revision) => {
    const client = await connect(await sandboxWithNote(), transport, { revision });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getInstructions()).toContain("memory_search");
    expect(client.getServerVersion()).toMatchObject({ name: "memslot" });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "memory_search",
      "memory_get",
      "memory_append",
    ]);
    expect((await client.callTool(question)).structuredContent).toMatchObject(found);
    const { contents } = await client.readResource({ uri: "memslot://memory/MEMORY.md" });
    expect(contents).toEqual([expect.objectContaining({ text: "Anna likes espresso.\n" })]);
  });

  test("the client of the 2025 revisions is served", async () => {
    const client = await connectOld(await sandboxWithNote(), transport);
    expect(client.getInstructions()).toContain("memory_search");
    expect((await client.listTools()).tools).toHaveLength(3);
    // This client holds the answer to the outputSchema.
    expect((await client.callTool(question)).structuredContent).toMatchObject(found);
    expect((await client.callTool({ name: "memory_get", arguments: {} })).isError).toBe(true);
    expect((await client.listResources()).resources).toHaveLength(1);
  });
});

describe("by raw frames", () => {
  test.each(["2025-06-18", "2025-11-25"])("revision %s is spoken on stdio where it is asked for", async (revision) => {
    const server = startServer(await sandboxWithNote());
    expect((await initialize(server, revision)).result).toMatchObject({
      protocolVersion: revision,
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: "memslot" },
    });
    expect((await server.request("ping")).result).toEqual({});
    expect((await server.request("tools/call", question)).result).toMatchObject({ structuredContent: found });
  });

  test("an unknown revision is answered with one that is known", async () => {
    const server = startServer(await sandboxWithNote());
    expect((await initialize(server, "2031-01-01")).result).toMatchObject({ protocolVersion: "2025-11-25" });
    expect((await server.request("tools/list")).result).toHaveProperty("tools");
  });

  test("the server answers before its memory is open", async () => {
    const sandbox = await sandboxWithNote();
    const server = startServer(sandbox, await watchedBackend(sandbox, { open: "never" }));
    await initialize(server);
    expect((await server.request("tools/list")).result).toMatchObject({ tools: [{}, {}, {}] });
    expect((await server.request("resources/list")).result).toMatchObject({ resources: [{ name: "MEMORY.md" }] });
  });
});

const clientInfo = { name: "test", version: "1.0.0" };
const requestInit = { headers: { authorization: `Bearer ${token}` } };

/** The official client of the newest protocol, which starts the server as a client does. */
async function connect(
  sandbox: Sandbox,
  transport: Transport,
  { revision }: { revision: "2025-11-25" | "2026-07-28" },
): Promise<Client2> {
  const mode = revision === "2026-07-28" ? { pin: revision } : "legacy";
  const client = new Client2(clientInfo, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  if (transport === "stdio") await client.connect(new Stdio2(childOf(sandbox)));
  else await client.connect(new Http2((await startHttpServer(sandbox)).url, { requestInit }));
  return client;
}

/** The official client of the 2025 revisions. */
async function connectOld(sandbox: Sandbox, transport: Transport): Promise<Client1> {
  const client = new Client1(clientInfo);
  onTestFinished(() => client.close());
  if (transport === "stdio") await client.connect(new Stdio1(childOf(sandbox)));
  else await client.connect(new Http1((await startHttpServer(sandbox)).url, { requestInit }) as never);
  return client;
}

function childOf({ cwd, env: given, workspace }: Sandbox) {
  const [program = "", ...fixed] = command;
  const env = Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return { command: program, args: [...fixed, "mcp", "--workspace", workspace], env, cwd, stderr: "pipe" as const };
}
