import { spawn } from "node:child_process";
import { type Memory, type MemslotConfig, messageOf, withDeadline } from "@memslot/core";
import type { CommandContext } from "../command-context.ts";
import type { ClientId } from "../connect/client.ts";
import { ownProgram } from "../own-program.ts";
import type { RecallMode } from "../connect/recall-mode.ts";
import type { HookPlace } from "../hook/capture.ts";
import { noteFault } from "../hook/fault.ts";
import type { HookEvent } from "../hook/hook-event.ts";
import { readEvent } from "../hook/read-event.ts";
import { readInput } from "../hook/read-input.ts";
import { finishSessions, runHook } from "../hook/run-hook.ts";
import { openHookStates } from "../hook/session-state.ts";
import { chooseAgent } from "../open/agents.ts";
import { disabledReason } from "../open/disabled-memory.ts";
import { readConfig } from "../open/read-config.ts";
import { resolvePath } from "../open/resolve-path.ts";
import { withMemory } from "../open/with-memory.ts";
import { ExitCode } from "../terminal/exit-code.ts";

export interface HookCommandOptions {
  agent?: string;
  readOnly?: boolean;
  recall: RecallMode;
  home?: string;
  /** `client:session`: no event, but the digests that are due, of this session first. */
  finish?: string;
}

/** With what a process takes to start, an answer is there within a second or not at all. */
const usualDeadlineMs = 850;
/** Nobody waits for it. */
const finishMs = 20_000;

/**
 * `memslot hook`: one event of an agent. Whatever goes wrong, it ends with 0 and says nothing: an agent must not stand
 * still because of its memory. `memslot doctor` tells what went wrong last.
 */
export async function hook(given: CommandContext, options: HookCommandOptions, client = ""): Promise<number> {
  const context = quiet(given, options);
  const limits = { what: `the hook of ${client}`, signals: [context.signal] };
  try {
    if (options.finish !== undefined) {
      const { finish } = options;
      await withDeadline({ ...limits, deadlineMs: finishMs }, async (signal) => {
        const place = await placeOf(context, options, signal);
        if (place !== undefined) await finishSessions(place, finish);
      });
      return ExitCode.ok;
    }
    const answer = await withDeadline({ ...limits, deadlineMs: deadlineOf(context) }, async (signal) => {
      // commander lets no other client through.
      const event = readEvent(await readInput(context.stdin, signal), client as ClientId, new Date());
      return event === undefined ? undefined : await answerTo(event, context, options, signal);
    });
    if (answer !== undefined) context.output.write(`${answer}\n`);
  } catch (error) {
    noteFault(context, { client, message: messageOf(error) });
  }
  return ExitCode.ok;
}

async function answerTo(
  event: HookEvent,
  context: CommandContext,
  options: HookCommandOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const place = await placeOf(context, options, signal);
  if (place === undefined) return undefined;
  return await runHook(event, {
    ...place,
    recall: options.recall,
    readOnly: options.readOnly === true,
    withMemory: (use) => withIndex(context, place, use),
    finishLater: () => finishLater(event, context, options),
  });
}

/** `MEMSLOT_HOOK_DEADLINE_MS`, for a machine that is slow. */
function deadlineOf({ env }: CommandContext): number {
  const named = Number(env["MEMSLOT_HOOK_DEADLINE_MS"]);
  return Number.isSafeInteger(named) && named > 0 ? named : usualDeadlineMs;
}

/** Undefined where memory is off for the agent. */
async function placeOf(
  context: CommandContext,
  options: HookCommandOptions,
  signal: AbortSignal,
): Promise<HookPlace | undefined> {
  const config: MemslotConfig = await readConfig(context);
  const agent = chooseAgent(config, options.agent);
  if (disabledReason(config, agent) !== undefined) return undefined;
  return { config, agent, states: openHookStates(config.stateDir), now: () => new Date(), signal };
}

/** Asks the index as it is: the MCP server beside it keeps it fresh, and to look at every note would take too long. */
async function withIndex(
  context: CommandContext,
  { config, agent, signal }: HookPlace,
  use: (memory: Memory) => Promise<string>,
): Promise<string> {
  return await withMemory({ ...context, signal }, config, agent, use, { lookOnly: true });
}

/** In a process of its own, which outlives this one. */
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
    // The next session that starts has it done.
  });
  child.unref();
}

/** The same surroundings, in which nothing is said but the answer. */
function quiet(context: CommandContext, { home }: HookCommandOptions): CommandContext {
  const { cwd, env } = context;
  return {
    ...context,
    output: { ...context.output, notice: () => undefined },
    env: home === undefined ? env : { ...env, MEMSLOT_HOME: resolvePath(home, cwd, env) },
  };
}
