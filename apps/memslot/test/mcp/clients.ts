import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import { type Sandbox, command } from "../run-memslot.ts";
import { startHttpServer, token } from "./http-server.ts";

export type Transport = "stdio" | "http";

const clientInfo = { name: "test", version: "1.0.0" };

interface Options {
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** The official client of the newest protocol, over either transport. It speaks an older revision where it is told to. */
export async function connect(
  sandbox: Sandbox,
  transport: Transport,
  { args = [], env = {}, revision = "2026-07-28" }: Options & { revision?: "2025-11-25" | "2026-07-28" } = {},
): Promise<Client2> {
  const client = new Client2(clientInfo, {
    versionNegotiation: { mode: revision === "2026-07-28" ? { pin: revision } : "legacy" },
  });
  onTestFinished(() => client.close());
  if (transport === "stdio") await client.connect(new Stdio2(childOf(sandbox, args, env)));
  else {
    const { url } = await startHttpServer(sandbox, args, env);
    await client.connect(new Http2(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  }
  return client;
}

/** The official client of the 2025 revisions. */
export async function connectOld(
  sandbox: Sandbox,
  transport: Transport,
  { args = [], env = {} }: Options = {},
): Promise<Client1> {
  const client = new Client1(clientInfo);
  onTestFinished(() => client.close());
  if (transport === "stdio") await client.connect(new Stdio1(childOf(sandbox, args, env)));
  else {
    const { url } = await startHttpServer(sandbox, args, env);
    await client.connect(new Http1(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }) as never);
  }
  return client;
}

function childOf(sandbox: Sandbox, args: readonly string[], more: NodeJS.ProcessEnv) {
  const [program = "", ...fixed] = command;
  const env = Object.fromEntries(
    Object.entries({ ...sandbox.env, ...more }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return {
    command: program,
    args: [...fixed, "mcp", "--workspace", sandbox.workspace, ...args],
    env,
    cwd: sandbox.cwd,
    stderr: "pipe" as const,
  };
}
