import { randomBytes } from "node:crypto";
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import path from "node:path";
import { serveUi } from "@memslot/ui";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { keptToken } from "../mcp/token.ts";
import { openMemory } from "../open-memory.ts";
import { chooseAgent, disabledReason, isInShellOfAgent, withoutAgentKeys } from "../open/choose-agents.ts";
import { isFound, readConfig } from "../open/read-config.ts";
import { CLOSE_DEADLINE_MS, closeInTime } from "../open/with-memory.ts";
import { ExitCode, UsageError } from "../terminal/exit-code.ts";

export interface UiCommandOptions extends CommonOptions {
  port?: number;
  open?: boolean;
  readOnly?: boolean;
  signOut?: boolean;
}

/** `memslot ui`: serves the page of one agent's memory until a signal arrives. `--sign-out` signs out all browsers. */
export async function ui(context: CommandContext, options: UiCommandOptions): Promise<number> {
  const { output, signal } = context;
  const given = await readConfig(context, { lookAround: true });
  const keyFile = path.join(given.stateDir, "ui-key");
  // The cookie secret of earlier versions.
  await rm(path.join(given.stateDir, "ui-session"), { force: true }).catch(() => undefined);
  if (options.signOut === true) {
    await rm(keyFile, { force: true });
    await keptToken(keyFile);
    if (options.json === true) output.printJson({ signedOut: true });
    else output.print("All browsers are signed out. memslot ui prints an address to sign in again.");
    return ExitCode.ok;
  }
  const agent = chooseAgent(given, options.agent);
  context.onAgent(agent.id);
  const off = disabledReason(given, agent);
  if (off !== undefined) throw new UsageError(`memory is off for agent "${agent.id}": ${off}`);
  context.needsToEnd?.(CLOSE_DEADLINE_MS);
  const notice = (line: string): void => output.notice(line);
  const config = isInShellOfAgent(context.env) ? withoutAgentKeys(given, agent, notice) : given;
  await keptToken(keyFile);
  const memory = await openMemory({
    config,
    agentId: agent.id,
    workspaceDir: agent.workspaceDir,
    projectDir: context.cwd,
    notify: notice,
    signal,
  });
  try {
    await serveUi({
      host: {
        memory,
        config,
        agent,
        readOnly: options.readOnly === true || isFound(config),
      },
      port: options.port ?? 0,
      secret: randomBytes(32).toString("base64url"),
      keyFile,
      onListening: (url) => {
        if (options.json === true) output.print(JSON.stringify({ url }));
        else output.print(`memslot ui: ${url}\nPress Ctrl-C to stop.`);
        if (options.open === true) openInBrowser(url, notice);
      },
      signal,
    });
  } finally {
    await closeInTime(context, memory);
  }
  return ExitCode.ok;
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens the address in the browser. The terminal shows it too, in case that fails. */
function openInBrowser(url: string, notice: (line: string) => void): void {
  const [program, ...words] = openers[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...words, url], { stdio: "ignore", detached: true });
  child.once("error", (error) => notice(`the browser could not be opened: ${error.message}`));
  child.unref();
}
