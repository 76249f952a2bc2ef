import { setTimeout as pause } from "node:timers/promises";
import type { FlushGroup } from "../turn/flush-groups.ts";
import type { TurnOutcome } from "../turn/flush-turn.ts";
import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { noSurprises, unlessMissing } from "@memslot/core/files";

/** What came of going through messages once. */
export interface HandedOver {
  /** Citations. */
  readonly entries: readonly string[];
  /** How often the model was asked. */
  readonly tries: number;
  /** Undefined when every group was handed over. */
  readonly failure?: { readonly error: string; readonly unwritable: boolean } | undefined;
}

export interface HandOverOptions {
  readonly workspaceDir: string;
  /** Runs one flush turn. `problem` is why the one before it, for the same messages, came to nothing. */
  readonly turn: (group: FlushGroup, problem: string | undefined) => Promise<TurnOutcome>;
  /** Waits between the tries for one group: one try more than there are waits. */
  readonly retryDelaysMs: readonly number[];
  readonly signal: AbortSignal;
  /** Takes the ids of messages that are handed over now, before the next turn begins. */
  readonly onDone: (messageIds: readonly string[]) => Promise<void>;
}

/**
 * Hands groups of messages over to a model, one after another. One that fails does not keep the others back, but after
 * it each gets a single try: where the model is down, all would wait for nothing. Notes that cannot be written end it.
 */
export async function handOver(groups: readonly FlushGroup[], options: HandOverOptions): Promise<HandedOver> {
  const entries: string[] = [];
  let tries = 0;
  let failure: HandedOver["failure"];
  for (const group of groups) {
    const fault = await workspaceFault(options.workspaceDir, group.day);
    if (fault !== undefined) return { entries, tries, failure: { error: fault, unwritable: true } };
    const delays = failure === undefined ? options.retryDelaysMs : [];
    let outcome = await options.turn(group, undefined);
    tries++;
    entries.push(...outcome.entries);
    for (const delayMs of delays) {
      if (outcome.state !== "failed") break;
      await pause(delayMs, undefined, { signal: options.signal });
      outcome = await options.turn(group, outcome.error);
      tries++;
      entries.push(...outcome.entries);
    }
    if (outcome.state === "unwritable")
      return { entries: unique(entries), tries, failure: { error: outcome.error, unwritable: true } };
    if (outcome.state === "failed") {
      failure = { error: outcome.error, unwritable: false };
      continue;
    }
    await options.onDone(group.completes);
  }
  return { entries: unique(entries), tries, failure };
}

/** A try after a failed one finds what that one wrote. */
function unique(citations: readonly string[]): string[] {
  return [...new Set(citations)];
}

/**
 * Why a note of this day cannot be written, found out without writing one; undefined where nothing speaks against it.
 * To look costs nothing, and a model that writes notes which nobody can save does.
 */
async function workspaceFault(workspaceDir: string, day: string): Promise<string | undefined> {
  const folder = path.join(workspaceDir, "memory");
  try {
    await access(workspaceDir, constants.W_OK);
    const found = await stat(folder).catch(unlessMissing);
    if (found === undefined) return undefined;
    if (!found.isDirectory()) return `${folder} is not a folder`;
    await access(folder, constants.W_OK);
    const note = path.join(folder, `${day}.md`);
    if ((await stat(note).catch(unlessMissing)) === undefined) return undefined;
    const handle = await open(note, constants.O_WRONLY | constants.O_APPEND | noSurprises);
    await handle.close();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
