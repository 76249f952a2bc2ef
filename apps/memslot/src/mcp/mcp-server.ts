import { toMcpResult, toMcpTools } from "@memslot/agent-kit";
import { type SyncProgress, visibleName } from "@memslot/core";
import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from "@modelcontextprotocol/server";
import { packageVersion } from "../package-version.ts";
import type { McpMemory } from "./mcp-memory.ts";
import { listNotes, noteTemplate, readNote } from "./resources.ts";

/** Claude Code defers the tools of a server until its model searches for them, except those with this mark. */
const visibleMeta = { "anthropic/alwaysLoad": true };
const atOnce: ReadonlySet<string> = new Set(["memory_search", "memory_append"]);

/** Minimum interval of progress messages. */
const PROGRESS_EVERY_MS = 100;

export interface McpServerOptions {
  memory: McpMemory;
  instructions: string;
  workspaceDir: string;
  timeZone: string;
  now: () => Date;
}

/** Makes one server per connection, or per HTTP request; all of them share one memory. */
export function createMcpServers(options: McpServerOptions): (connection: { era: "legacy" | "modern" }) => Server {
  const { memory, instructions, workspaceDir, timeZone } = options;
  const version = packageVersion();
  const tools = toMcpTools(memory.tools).map((tool) =>
    atOnce.has(tool.name) ? { ...tool, _meta: visibleMeta } : tool,
  );
  const off = memory.tools.length === 0;

  return ({ era }) => {
    const server = new Server(
      { name: "memslot", title: "memslot", version },
      { capabilities: { tools: {}, resources: {} }, instructions },
    );
    if (era === "legacy") useOldNotFoundCode(server);
    server.setRequestHandler("tools/list", () => ({ tools }));
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const tool = memory.tools.find(({ name }) => name === params.name);
      if (tool === undefined) throw unknownTool(params.name, memory);
      const progress = progressOf(context);
      const answer = await memory.call(tool, params.arguments ?? {}, {
        signal: context.mcpReq.signal,
        onProgress: progress?.report,
      });
      await progress?.sent();
      return { ...toMcpResult(answer) };
    });
    server.setRequestHandler("resources/list", async () => ({
      resources: off ? [] : await listNotes({ workspaceDir, now: options.now(), timeZone }),
    }));
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: off ? [] : [noteTemplate] }));
    server.setRequestHandler("resources/read", async ({ params }, { mcpReq: { signal } }) => ({
      contents: [await readNote(params.uri, () => memory.open(signal), signal)],
    }));
    return server;
  };
}

function unknownTool(name: string, memory: McpMemory): ProtocolError {
  const known = memory.tools.map((tool) => tool.name).join(", ") || "none: memory is off for this agent";
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Unknown tool ${JSON.stringify(name.slice(0, 100))}; the tools are: ${known}`,
  );
}

interface ProgressReports {
  report: (progress: SyncProgress) => void;
  /** Resolves when all reports are sent, so that none follows the answer. */
  sent(): Promise<void>;
}

/** The progress notifications of a request that asks for them, increasing. */
function progressOf({ mcpReq }: ServerContext): ProgressReports | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last: { completed: number; atMs: number } | undefined;
  let sending: Promise<unknown> = Promise.resolve();
  return {
    report({ completed, total, label }) {
      const atMs = performance.now();
      if (last !== undefined && (completed <= last.completed || atMs - last.atMs < PROGRESS_EVERY_MS)) return;
      last = { completed, atMs };
      const message = `making the index: ${completed} of ${total}${label === undefined ? "" : `, ${visibleName(label)}`}`;
      // The client is gone.
      const sent = mcpReq
        .notify({ method: "notifications/progress", params: { progressToken, progress: completed, total, message } })
        .catch(() => undefined);
      sending = Promise.all([sending, sent]);
    },
    sent: async () => void (await sending),
  };
}

/** Code of the 2025 revisions for a missing resource; that of 2026-07-28 is -32602. */
const RESOURCE_NOT_FOUND = -32_002;
const INVALID_PARAMS = -32_602;

/** Restores the code of the 2025 revisions: the SDK sends that of 2026 to all. */
function useOldNotFoundCode(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) =>
      send(
        "error" in message && isNotFound(message.error)
          ? { ...message, error: { ...message.error, code: RESOURCE_NOT_FOUND } }
          : message,
        options,
      );
    return connect(transport);
  };
}

/** The error of the SDK: invalid parameters with only the address. */
function isNotFound({ code, data }: { code: number; data?: unknown }): boolean {
  return (
    code === INVALID_PARAMS &&
    typeof data === "object" &&
    data !== null &&
    "uri" in data &&
    Object.keys(data).length === 1
  );
}
