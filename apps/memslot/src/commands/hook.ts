import { spawn } from "node:child_process";
import { Readable } from "node:stream";
import {
  type AgentConfig,
  type ClientId,
  type Memory,
  type MemslotConfig,
  messageOf,
  withDeadline,
} from "@memslot/core";
import { type HookMoment, agents } from "@memslot/indexing/host";
import type { CommandContext, CommonOptions } from "../command-context.ts";
import { ownProgram } from "../cli-start-args.ts";
import { type HookEvent, type RecallMode, readEvent, readInput } from "../hook/read-event.ts";
import { finishSessions, runHook } from "../hook/run-hook.ts";
import type { ServedHook } from "../hook/serve-hooks.ts";
import { noteFault, openHookStates } from "../hook/session-state.ts";
import type { HookPlace } from "../hook/store-messages.ts";
import { chooseAgent, disabledReason, isAuto } from "../open/choose-agents.ts";
import { readConfig } from "../open/read-config.ts";
import { resolvePath } from "../open/find-notes-folder.ts";
import { withMemory } from "../open/with-memory.ts";
import { ExitCode } from "../terminal/exit-code.ts";

export interface HookCommandOptions extends CommonOptions {
  readOnly?: boolean;
  recall: RecallMode;
  home?: string;
  /** `client:session`: no event, but the digests that are due, of this session first. */
  finish?: string;
  /** A server ended while it handled the event: handle it although it is marked as handled. */
  again?: boolean;
}

/** Whether a server serves a configuration and its agent. */
type Serves = (config: MemslotConfig, agent: AgentConfig) => boolean;

/** From the start of the process, which takes seconds on a busy machine. */
const deadlineMs: Record<HookMoment, number> = {
  start: 5000,
  prompt: 2500,
  compact: 5000,
  "turn-end": 5000,
  end: 2500,
};
/** Runs in the background. */
const finishMs = 20_000;

/**
 * `memslot hook`: one event of an agent. Always ends with 0 and without a message; `memslot doctor` reports failures.
 */
export async function hook(context: CommandContext, options: HookCommandOptions, client = ""): Promise<number> {
  // commander lets no other client through.
  const answer = await answerOrNone(context, options, client as ClientId);
  if (answer !== "") context.output.write(answer);
  return ExitCode.ok;
}

const recallModes: readonly string[] = ["off", "strong", "always"] satisfies RecallMode[];

/** What the process of a hook would print, for a server. Undefined if the server must not answer it. */
export async function servedHook(
  given: CommandContext,
  { call, cwd, env, input, runningMs, signal }: ServedHook,
  serves: Serves,
): Promise<string | undefined> {
  const { client, workspace, config: configPath, recall = "strong", readOnly = false, agent, home } = call;
  const isKnown = agents.some(({ id, hooks }) => id === client && hooks !== undefined) && recallModes.includes(recall);
  const { handedEnvironment, processVariables } = await import("../warm-hook.ts");
  const handed = handedEnvironment(env);
  if (!isKnown || processVariables.some((name) => handed[name] !== given.env[name])) return undefined;
  const stdin = Readable.from([input]);
  const context = { ...given, cwd, env: { ...given.env, ...handed }, stdin, runningMs, signal, workspace, configPath };
  const options = { recall: recall as RecallMode, readOnly, ...(agent && { agent }), ...(home && { home }) };
  try {
    return await answerOrNone(context, options, client as ClientId, serves);
  } catch {
    return undefined;
  }
}

class NotServed extends Error {}

/** Throws only `NotServed`. */
async function answerOrNone(
  given: CommandContext,
  options: HookCommandOptions,
  client: ClientId,
  serves?: Serves,
): Promise<string> {
  const context = quiet(given, options);
  const what = `the hook of ${client}`;
  let isLate = false;
  const within = async <T>(moment: HookMoment, run: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const limitMs = deadlineOf(context, moment);
    const leftMs = limitMs - (context.runningMs?.() ?? 0);
    isLate = leftMs <= 0;
    if (isLate) throw new Error(`${what} had no time left: its process took ${limitMs} ms to get to the event`);
    const timer = setTimeout(() => (isLate = true), leftMs);
    const limits = { what, deadlineMs: leftMs, signals: [context.signal] };
    return await withDeadline(limits, run).finally(() => clearTimeout(timer));
  };
  try {
    if (options.finish !== undefined) {
      const { finish } = options;
      await withDeadline({ what, deadlineMs: finishMs, signals: [context.signal] }, async (signal) => {
        const place = await placeOf(context, options, signal, serves);
        if (place !== undefined) await finishSessions(place, finish);
      });
      return "";
    }
    const text = await within("start", (signal) => readInput(context.stdin, signal));
    const event = readEvent(text, client, new Date());
    const answer = event && (await within(event.moment, (signal) => answerTo(event, context, options, signal, serves)));
    return answer === undefined ? "" : `${answer}\n`;
  } catch (error) {
    if (error instanceof NotServed) throw error;
    noteFault(context, { client, message: messageOf(error) }, isLate || context.signal.aborted);
    return "";
  }
}

async function answerTo(
  event: HookEvent,
  context: CommandContext,
  options: HookCommandOptions,
  signal: AbortSignal,
  serves: Serves | undefined,
): Promise<string | undefined> {
  const place = await placeOf(context, options, signal, serves);
  if (place === undefined) return undefined;
  return await runHook(event, {
    ...place,
    recall: options.recall,
    readOnly: options.readOnly === true,
    again: options.again === true,
    withMemory: (use) => withIndex(context, place, use),
    finishLater: () => finishLater(event, context, options),
  });
}

/** `MEMSLOT_HOOK_DEADLINE_MS`, for a machine that is slow. */
function deadlineOf({ env }: CommandContext, moment: HookMoment): number {
  const named = Number(env["MEMSLOT_HOOK_DEADLINE_MS"]);
  return Number.isSafeInteger(named) && named > 0 ? named : deadlineMs[moment];
}

async function placeOf(
  context: CommandContext,
  options: HookCommandOptions,
  signal: AbortSignal,
  serves: Serves | undefined,
): Promise<HookPlace | undefined> {
  const config = await readConfig(context).catch((error: unknown) => {
    // It may name a variable that only the hook has.
    throw serves === undefined ? error : new NotServed();
  });
  const agent = chooseAgent(config, options.agent);
  if (serves?.(config, agent) === false) throw new NotServed();
  if (disabledReason(config, agent) !== undefined) return undefined;
  return { config, agent, states: openHookStates(config.stateDir), now: () => new Date(), signal };
}

/** Searches without a scan, which the MCP server does. With `provider: "auto"` by words only. */
async function withIndex(
  context: CommandContext,
  { config, agent, signal }: HookPlace,
  use: (memory: Memory) => Promise<string>,
): Promise<string> {
  const how = { readOnly: true, oneShot: true, ...(isAuto(agent) && { provider: "none" }) };
  return await withMemory({ ...context, signal }, config, agent, use, how);
}

/** In a detached process. */
function finishLater({ client, sessionId }: HookEvent, context: CommandContext, options: HookCommandOptions): void {
  const { configPath, workspace } = context;
  const words = [
    ...ownProgram(),
    "hook",
    client,
    "--finish",
    `${client}:${sessionId}`,
    ...(configPath === undefined ? [] : ["--config", configPath]),
    ...(workspace === undefined ? [] : ["--workspace", workspace]),
    ...(options.agent === undefined ? [] : ["--agent", options.agent]),
  ];
  const { cwd, env } = context;
  const child = spawn(process.execPath, words, { cwd, env, detached: true, stdio: "ignore", windowsHide: true });
  child.on("error", () => {
    // The next session does it.
  });
  child.unref();
}

/** The same context without messages. */
function quiet(context: CommandContext, { home }: HookCommandOptions): CommandContext {
  const { cwd, env } = context;
  return {
    ...context,
    output: { ...context.output, notice: () => undefined },
    env: home === undefined ? env : { ...env, MEMSLOT_HOME: resolvePath(home, cwd, env) },
  };
}
