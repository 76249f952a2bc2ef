import { editOptions, memoryPromptSection } from "@memslot/agent-kit";
import type { AgentConfig, MemslotConfig } from "@memslot/core";
import { chooseAgent, disabledReason, isInShellOfAgent, withoutAgentKeys } from "../open/choose-agents.ts";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { ExitCode, UsageError } from "../terminal/exit-code.ts";
import { serveHooks } from "../hook/serve-hooks.ts";
import { FINISH_DEADLINE_MS } from "../mcp/pending-requests.ts";
import { type McpMemory, createMcpMemory } from "../mcp/mcp-memory.ts";
import { createMcpServers } from "../mcp/mcp-server.ts";
import { serveOverStdio } from "../mcp/serve-stdio.ts";
import type { BearerToken } from "../mcp/token.ts";
import { openMemory } from "../open-memory.ts";
import { isFound, readConfig } from "../open/read-config.ts";
import { resolvePath } from "../open/find-notes-folder.ts";
import { CLOSE_DEADLINE_MS, closeInTime } from "../open/with-memory.ts";

export interface McpCommandOptions extends CommonOptions {
  readOnly?: boolean;
  http?: boolean;
  port?: number;
  host?: string;
  tokenFile?: string;
}

/** Time to finish requests and to close the memory, plus a margin. */
const ENDING_MS = FINISH_DEADLINE_MS + CLOSE_DEADLINE_MS + 2000;
const loopback = ["127.0.0.1", "::1"];

/** `memslot mcp`: runs an MCP server for the memory of one agent until the client disconnects or a signal arrives. */
export async function mcp(context: CommandContext, options: McpCommandOptions): Promise<number> {
  checkOptions(options);
  const { stdin, output } = context;
  const { stdout, stderr } = output;
  const notice = (line: string): void => output.notice(line);
  const given = await readConfig(context, { lookAround: "unlessUsual" });
  const agent = chooseAgent(given, options.agent);
  context.onAgent(agent.id);
  // Over HTTP the user starts the server, unless the shell is an agent's.
  const isOwn = options.http === true && !isInShellOfAgent(context.env);
  const config = isOwn ? given : withoutAgentKeys(given, agent, notice);
  const token = options.http === true ? await tokenOf(context, config, options) : undefined;

  // A client starts the server in its project: private notes must not be written into a project that contains Markdown.
  const readOnly = options.readOnly === true || isFound(config);
  if (readOnly && options.readOnly !== true)
    notice("the workspace was detected, so no tool writes notes; pass --workspace to enable memory_append");

  const ending = new AbortController();
  let hungUp = false;
  let badConfig: { error: unknown } | undefined;
  const onHangup = (): void => {
    hungUp = true;
    ending.abort();
  };
  process.once("SIGHUP", onHangup);
  context.needsToEnd?.(ENDING_MS);
  const signal = AbortSignal.any([context.signal, ending.signal]);

  // The client's project: the one it names, or the folder where it starts the server.
  const projectDir = context.env["CLAUDE_PROJECT_DIR"] || context.cwd;
  const off = disabledReason(config, agent);
  if (off !== undefined) notice(`memory is off for agent "${agent.id}": ${off}`);
  const memory = createMcpMemory({
    openMemory:
      off === undefined
        ? // Not aborted by the signal: pending requests still need the memory.
          (opening) => openMemory({ config, agentId: agent.id, projectDir, notify: notice, signal: opening })
        : undefined,
    tools: {
      citations: config.citations,
      append: readOnly ? false : { timeZone: agent.userTimezone, secrets: agent.secrets },
      edit: readOnly ? false : editOptions(config, agent.id, "append"),
    },
    closeMemory: (opened) => closeInTime(context, opened),
    notice,
    onBadConfig: (error) => {
      badConfig ??= { error };
      ending.abort();
    },
  });
  const factory = createMcpServers({
    memory,
    instructions: instructionsFor(memory, config, agent, off),
    workspaceDir: agent.workspaceDir,
    timeZone: agent.userTimezone,
    now: () => new Date(),
  });
  memory.start();
  const endHooks = off === undefined ? serveHooksOf(context, config, agent, options) : undefined;
  try {
    if (token === undefined) await serveOverStdio({ factory, stdin, stdout, stderr, notice, signal });
    else
      // Loaded only here: most clients use stdio and wait for the start.
      await (
        await import("../mcp/serve-http.ts")
      ).serveOverHttp({
        factory,
        host: options.host ?? "127.0.0.1",
        port: options.port ?? 0,
        token: token.token,
        notice,
        onListening: (url) => {
          notice(`MCP server at ${url}`);
          notice(`the bearer token is ${token.origin}`);
        },
        signal,
      });
  } finally {
    await Promise.all([(await endHooks)?.(), memory.close()]);
    process.off("SIGHUP", onHangup);
  }
  if (badConfig !== undefined) throw badConfig.error;
  return hungUp ? ExitCode.hungUp : ExitCode.ok;
}

/** Answers the hooks of the same workspace, so that each hook need not load memslot. */
async function serveHooksOf(
  context: CommandContext,
  config: MemslotConfig,
  agent: AgentConfig,
  options: McpCommandOptions,
): Promise<(() => Promise<void>) | undefined> {
  const { workspace = "", configPath = "" } = context;
  const { serverKey } = await import("../warm-hook.ts");
  const key = serverKey({ workspace, config: configPath, agent: options.agent ?? "" });
  if (key === undefined) return undefined;
  return await serveHooks({
    stateDir: config.stateDir,
    key,
    answer: async (hook) => {
      // Loaded at the first hook: many clients have none, and wait for the start.
      const { servedHook } = await import("./hook.ts");
      return await servedHook(
        context,
        hook,
        (found, its) => found.file === config.file && its.id === agent.id && its.workspaceDir === agent.workspaceDir,
      );
    },
  });
}

function checkOptions({ http, port, host, tokenFile }: McpCommandOptions): void {
  const given = { "--port": port, "--host": host, "--token-file": tokenFile };
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && http !== true) throw new UsageError(`${name} requires --http`);
  if (host !== undefined && !loopback.includes(host))
    throw new UsageError(
      `--host ${host} is not supported: the server accepts only local connections, at ${loopback.join(" or ")}. From another machine, use an SSH tunnel.`,
    );
}

async function tokenOf(
  context: CommandContext,
  config: MemslotConfig,
  { tokenFile }: McpCommandOptions,
): Promise<BearerToken> {
  const { bearerToken } = await import("../mcp/token.ts");
  return await bearerToken({
    tokenFile: tokenFile === undefined ? undefined : resolvePath(tokenFile, context.cwd, context.env),
    env: context.env,
    stateDir: config.stateDir,
  });
}

function instructionsFor(
  memory: McpMemory,
  config: MemslotConfig,
  agent: AgentConfig,
  off: string | undefined,
): string {
  if (off !== undefined)
    return `Memory is off for agent "${agent.id}" (${off}): there are no memory tools. Do not say that the memory has no answer.`;
  const availableTools = new Set(memory.tools.map(({ name }) => name));
  return memoryPromptSection({ availableTools, citations: config.citations }).join("\n");
}
