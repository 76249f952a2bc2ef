import { readFileSync } from "node:fs";
import { isAbort, messageOf } from "@memslot/core";
import { homeDir, resolveStateDir } from "@memslot/core/host";
import { agentOf, type ConnectedFiles, connectMarkers } from "@memslot/indexing/host";
import type { CommandContext } from "../command-context.ts";
import { type ConnectedFile, filesOf } from "../connect/agent-files.ts";
import { keyVariables } from "../connect/connection-commands.ts";
import { valueOf } from "../connect/json-edit.ts";
import { type Receipt, openReceipts } from "../connect/receipts.ts";
import { UnusableFile, formOf } from "../connect/text-edit.ts";
import { tomlOf } from "../connect/toml-edit.ts";
import { lastFault, missedSince } from "../hook/session-state.ts";
import { chooseAgent } from "../open/choose-agents.ts";
import { readConfig } from "../open/read-config.ts";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";
import { runHookLine, toolsOf } from "./probe-server-and-hook.ts";

const faultDays = 7;

/** For each connected agent: whether its files are complete, and whether the server and the hook start. */
export async function* checkConnections(context: CommandContext): AsyncGenerator<DoctorCheck> {
  const home = homeDir(context.env);
  const stateDir = resolveStateDir(context);
  const keys = await keysFor(context);
  for (const receipt of openReceipts(stateDir).all()) {
    yield await checkConnection(context, receipt, home);
    for (const { message, next } of agentOf(receipt.client).silentSkips?.(connectedFiles(receipt, home, keys)) ?? [])
      yield warned("connect", `${receipt.client}: ${message}`, next);
  }
  const sinceMs = Date.now() - faultDays * 86_400_000;
  for (const [client, count] of missedSince(stateDir, sinceMs))
    yield warned(
      "hook",
      `${client}: in the last ${faultDays} days ${count} ${count === 1 ? "event" : "events"} missed the deadline and got no notes`,
      "Hooks are several times faster while memslot mcp of the same workspace runs; MEMSLOT_HOOK_DEADLINE_MS sets another deadline.",
    );
  const fault = lastFault(stateDir);
  if (fault !== undefined && Date.parse(fault.at) >= sinceMs)
    yield warned("hook", `${fault.client}: at ${fault.at} a hook failed: ${fault.message}`);
}

/** Environment variables that are set and contain the API key of a configured provider. */
async function keysFor(context: CommandContext): Promise<string[]> {
  try {
    const output = { ...context.output, notice: () => undefined };
    return keyVariables(chooseAgent(await readConfig({ ...context, output }), undefined), context.env);
  } catch {
    return []; // An earlier check reports a broken configuration.
  }
}

async function checkConnection(context: CommandContext, receipt: Receipt, home: string): Promise<DoctorCheck> {
  const { client, scope, projectDir, server, hook } = receipt;
  const name = agentOf(client).name;
  const again = `Run memslot connect ${client}${scope === "project" ? " --project" : ""} again${projectDir === undefined ? "" : ` in ${projectDir}`}.`;
  const missing = missingPart(context, receipt, home);
  if (missing !== undefined) return failed("connect", `${name}: ${missing}`, again);
  try {
    const tools = await toolsOf(server, context.env, context.signal);
    const exitCode = hook === undefined ? 0 : await runHookLine(hook, context.env, context.signal);
    if (exitCode !== 0) return failed("connect", `${name}: its hook exits with code ${exitCode}`, again);
    const what = tools.length === 0 ? "no tools, because memory is off" : tools.join(", ");
    return passed(
      "connect",
      `${name} (${scope}): the server starts and offers ${what}${hook === undefined ? "" : "; the hook runs"}`,
    );
  } catch (error) {
    if (isAbort(error)) throw error;
    return failed("connect", `${name}: the server does not start: ${messageOf(error)}`, again);
  }
}

/** What is missing in the files of an agent; undefined if they are complete. */
function missingPart(context: CommandContext, receipt: Receipt, home: string): string | undefined {
  const { client, scope, projectDir, server, keys = [], hook } = receipt;
  const place = { home, env: context.env, platform: process.platform, scope, cwd: projectDir ?? context.cwd };
  const connection = { server, keys, hook, instructions: [] };
  for (const file of filesOf(agentOf(client), place, connection)) {
    const text = textOf(file.path);
    if (text === undefined) return `${file.path} no longer exists`;
    const problem = problemOf(file, text);
    if (problem !== undefined) return `${file.path} ${problem}`;
  }
  return undefined;
}

function problemOf(file: ConnectedFile, text: string): string | undefined {
  if (file.what === "instructions")
    return text.includes(connectMarkers.begin) ? undefined : "no longer contains the memory instructions";
  try {
    return file.edit.put(text) === text ? undefined : "no longer contains what memslot connect wrote";
  } catch (error) {
    if (error instanceof UnusableFile) return `cannot be read: ${error.message}`;
    throw error;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // Missing or not readable: reported as such.
  }
}

/** The files of a connection as its agent reads them. */
export function connectedFiles({ files, projectDir }: Receipt, home: string, keys: readonly string[]): ConnectedFiles {
  const parsed = (file: string | undefined, parse: (text: string) => unknown): Record<string, unknown> => {
    const text = file === undefined ? undefined : textOf(file);
    try {
      return text === undefined ? {} : (parse(text) as Record<string, unknown>);
    } catch (error) {
      if (error instanceof UnusableFile) return {}; // `missingPart` reports it.
      throw error;
    }
  };
  return {
    home,
    projectDir,
    keys,
    file: (name) => files.find((file) => name.test(file.path))?.path,
    json: (file) => parsed(file, (text) => valueOf(formOf(text).body)),
    toml: (file) => parsed(file, tomlOf),
  };
}
