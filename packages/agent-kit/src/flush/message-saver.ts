import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type AgentConfig, type Memory, messageOf, usualDeadlines } from "@memslot/core";
import { noSurprises, unlessMissing } from "@memslot/core/files";
import type { ConversationMessage } from "../conversation.ts";
import { localClock } from "../edit/local-day.ts";
import { memoryAppendTool } from "../tools/memory-append-tool.ts";
import type { MemoryTool } from "../tools/memory-tool.ts";
import { createMemoryTools } from "../tools/memory-tools.ts";
import { createRecentRecalls } from "../tools/recalled-text.ts";
import { appendDigests, type DigestOptions, type WrittenDigest } from "./flush-digest.ts";
import { flushGroups, timeOf } from "./flush-groups.ts";
import { type FlushTurn, runFlushTurn, type TurnOutcome, type TurnRun } from "./flush-turn.ts";

/** What came of going through messages once. */
export interface HandedOver {
  /** Citations. */
  readonly entries: readonly string[];
  /** How often the model was asked. */
  readonly tries: number;
  /** Undefined when every group was handed over. */
  readonly failure?: { readonly error: string; readonly unwritable: boolean } | undefined;
}

interface SaverRun extends TurnRun {
  /** Whose notes `memory_search` may see. */
  readonly sessionKey: string;
  /** Waits between the tries for one group: one try more than there are waits. */
  readonly retryDelaysMs: readonly number[];
  /** Takes the ids of messages that are handed over now, before the next turn begins. */
  readonly onDone: (messageIds: readonly string[]) => Promise<void>;
}

interface MessageSaverOptions {
  readonly agent: AgentConfig;
  readonly memory?: Memory | undefined;
  readonly runTurn?: FlushTurn | undefined;
  readonly contextWindowTokens?: number | undefined;
  readonly turnDeadlineMs?: number | undefined;
}

/** A turn with less than this would be all prompt. */
const leastTokens = 256;

/** Takes messages to the notes, by a model or as a digest. */
export class MessageSaver {
  /** Where the notes are. */
  readonly workspaceDir: string;
  readonly #options: MessageSaverOptions;
  readonly #clock: () => Date;

  constructor(options: MessageSaverOptions, clock: () => Date) {
    this.workspaceDir = options.memory?.workspaceDir ?? options.agent.workspaceDir;
    this.#options = options;
    this.#clock = clock;
  }

  /** Whether a model is there. */
  get hasModel(): boolean {
    return this.#options.runTurn !== undefined;
  }

  /** The local days of messages, in their order. */
  daysOf(messages: readonly ConversationMessage[]): string[] {
    const now = this.#clock();
    const localTime = localClock(this.#options.agent.userTimezone);
    return [...new Set(messages.map((message) => localTime(timeOf(message, now)).day))];
  }

  /** Gives the citations. Throws as `appendNote` does. */
  digest(
    messages: readonly ConversationMessage[],
    how: Pick<DigestOptions, "cause" | "everything" | "notes">,
    signal: AbortSignal,
  ): Promise<WrittenDigest> {
    const { workspaceDir } = this;
    const where = { workspaceDir, timeZone: this.#options.agent.userTimezone, fallbackTime: this.#clock() };
    return appendDigests(messages, { ...how, ...where, signal });
  }

  /**
   * Hands messages over to the model, one group after another. One that fails does not keep the others back, but after
   * it each gets a single try: where the model is down, all would wait for nothing. Notes that cannot be written end it.
   */
  async handOver(messages: readonly ConversationMessage[], run: SaverRun): Promise<HandedOver> {
    const { agent, runTurn, contextWindowTokens = 0, turnDeadlineMs = 120_000 } = this.#options;
    if (runTurn === undefined) return { entries: [], tries: 0, failure: { error: "no model", unwritable: false } };
    // Half of the window: the prompts, the tools and what they give need room too.
    const maxTokens = contextWindowTokens > 0 ? Math.max(leastTokens, Math.floor(contextWindowTokens / 2)) : Infinity;
    const timing = { timeZone: agent.userTimezone, maxTokens, fallbackTime: this.#clock() };
    // A try after a failed one finds what that one wrote.
    const entries = new Set<string>();
    let tries = 0;
    const endedWith = (error: string, unwritable: boolean): HandedOver => ({
      entries: [...entries],
      tries,
      failure: { error, unwritable },
    });
    let failure: string | undefined;
    for (const group of flushGroups(messages, timing)) {
      const fault = await workspaceFault(this.workspaceDir, group.day);
      if (fault !== undefined) return endedWith(fault, true);
      // Tools of its own for each try: what a search of one has found or failed with is nothing to the next.
      const next = (problem?: string): Promise<TurnOutcome> => {
        const tools = this.#tools(run.sessionKey, group.at);
        return runFlushTurn(group, { agent, runTurn, turnDeadlineMs, tools }, run, problem);
      };
      const delays = failure === undefined ? run.retryDelaysMs : [];
      let outcome = await next();
      for (let tried = 0; ; tried++) {
        tries++;
        for (const entry of outcome.entries) entries.add(entry);
        if (outcome.state !== "failed" || tried === delays.length) break;
        await pause(delays[tried], undefined, { signal: run.signal });
        outcome = await next(outcome.error);
      }
      if (outcome.state === "unwritable") return endedWith(outcome.error, true);
      if (outcome.state === "failed") failure = outcome.error;
      else await run.onDone(group.completes);
    }
    return failure === undefined ? { entries: [...entries], tries } : endedWith(failure, false);
  }

  /**
   * The tools of one flush turn: `memory_append`, which dates every entry with the time of the messages, and
   * `memory_search`. Where memory is not open, notes can be added all the same: they are files.
   */
  #tools(sessionKey: string, at: Date): MemoryTool[] {
    const { memory, agent } = this.#options;
    // The turn itself takes secrets out.
    const append = { timeZone: agent.userTimezone, clock: () => at, secrets: "keep" as const };
    if (memory === undefined) {
      const target = { opened: { memory: this }, deadlineMs: usualDeadlines.searchMs };
      return [memoryAppendTool(target, append, createRecentRecalls())];
    }
    const tools = createMemoryTools({ memory, citations: "auto", sessionKey, append });
    return tools.flatMap((tool) =>
      tool.name === "memory_search" ? ofNotes(tool) : tool.name === "memory_append" ? tool : [],
    );
  }
}

/** The search of notes alone: journal and transcripts hold the very messages that are to become notes. */
function ofNotes(tool: MemoryTool): MemoryTool {
  return {
    ...tool,
    execute: async (input, options) => {
      const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
      return await tool.execute(isObject ? { ...input, corpus: "memory" } : input, options);
    },
  };
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
