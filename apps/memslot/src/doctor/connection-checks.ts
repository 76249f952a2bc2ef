import { existsSync, readFileSync } from "node:fs";
import { homeDir, isAbort, messageOf, resolveStateDir } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import type { ClientFile, ClientPlace } from "../connect/client.ts";
import { clientOf } from "../connect/clients.ts";
import { markdownMarkers } from "../connect/edits/marked-block.ts";
import { keyVariables } from "../connect/connection.ts";
import { chooseAgent } from "../open/agents.ts";
import { readConfig } from "../open/read-config.ts";
import { UnusableFile } from "../connect/edits/text-form.ts";
import { type Receipt, openReceipts } from "../connect/receipt.ts";
import { lastFault } from "../hook/fault.ts";
import { type DoctorCheck, failed, passed, warned } from "./doctor-check.ts";
import { silentSkips } from "./silent-skips.ts";
import { runHookLine, toolsOf } from "./start-server.ts";

const faultDays = 7;

/** Each client that was connected: whether its files still say so, and whether what they name can be started. */
export async function* checkConnections(context: CommandContext): AsyncGenerator<DoctorCheck> {
  const home = homeDir(context.env);
  const stateDir = resolveStateDir(context);
  const keys = await keysFor(context);
  for (const receipt of openReceipts(stateDir).all()) {
    yield await checkConnection(context, receipt, home);
    for (const { message, next } of silentSkips(receipt, { home, keys, read: textOf }))
      yield warned("connect", `${receipt.client}: ${message}`, next);
  }
  const fault = lastFault(stateDir);
  if (fault !== undefined && Date.now() - Date.parse(fault.at) < faultDays * 86_400_000)
    yield warned("hook", `${fault.client}: at ${fault.at} a hook gave no answer: ${fault.message}`);
}

/** The variables that the configuration asks for and that are set. */
async function keysFor(context: CommandContext): Promise<string[]> {
  try {
    const output = { ...context.output, notice: () => undefined };
    return keyVariables(chooseAgent(await readConfig({ ...context, output }), undefined), context.env);
  } catch {
    return []; // The chain before this one says what is wrong with it, as its notices do.
  }
}

async function checkConnection(context: CommandContext, receipt: Receipt, home: string): Promise<DoctorCheck> {
  const { client, scope, projectDir, server, hook } = receipt;
  const name = clientOf(client).name;
  const again = `Run memslot connect ${client}${scope === "project" ? " --project" : ""} again${projectDir === undefined ? "" : ` in ${projectDir}`}.`;
  const missing = missingPart(context, receipt, home);
  if (missing !== undefined) return failed("connect", `${name}: ${missing}`, again);
  try {
    const tools = await toolsOf(server, context.env, context.signal);
    const exitCode = hook === undefined ? 0 : await runHookLine(hook, context.env, context.signal);
    if (exitCode !== 0) return failed("connect", `${name}: its hook ends with ${exitCode}`, again);
    const what = tools.length === 0 ? "no tools, as memory is off" : tools.join(", ");
    return passed(
      "connect",
      `${name} (${scope}): the server starts and offers ${what}${hook === undefined ? "" : "; the hook runs"}`,
    );
  } catch (error) {
    if (isAbort(error)) throw error;
    return failed("connect", `${name}: the server does not start: ${messageOf(error)}`, again);
  }
}

/** What is no longer in the files of a client; undefined where all of it is. */
function missingPart(context: CommandContext, receipt: Receipt, home: string): string | undefined {
  const { client, scope, projectDir, server, keys = [], hook } = receipt;
  const place: ClientPlace = {
    home,
    env: context.env,
    platform: process.platform,
    scope,
    projectDir: projectDir ?? context.cwd,
    exists: existsSync,
  };
  const connection = { server, keys, hook, instructions: [] };
  for (const file of clientOf(client).files(place, connection)) {
    const text = textOf(file.path);
    if (text === undefined) return `${file.path} is gone`;
    const problem = problemOf(file, text);
    if (problem !== undefined) return `${file.path} ${problem}`;
  }
  return undefined;
}

function problemOf({ what, edit }: ClientFile, text: string): string | undefined {
  if (what === "instructions") return text.includes(markdownMarkers.begin) ? undefined : "has lost its lines on memory";
  try {
    return edit.put(text) === text ? undefined : "does not say any more what memslot connect wrote";
  } catch (error) {
    if (error instanceof UnusableFile) return `cannot be read: ${error.message}`;
    throw error;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // Gone, or not for us to read: that is what is told.
  }
}
