import { type AgentConfig, type Memory, usualDeadlines } from "@memslot/core";
import type { ConversationMessage } from "../../conversation.ts";
import { localClock } from "../../notes/local-day.ts";
import { type WrittenDigest, appendDigests } from "../turn/append-digests.ts";
import type { DigestOptions } from "../turn/flush-digest.ts";
import { flushGroups, timeOf } from "../turn/flush-groups.ts";
import type { FlushNotes } from "../turn/flush-notes.ts";
import { type FlushTurn, runFlushTurn } from "../turn/flush-turn.ts";
import { type HandedOver, handOver } from "./hand-over.ts";
import { memoryAppendTool } from "../../tools/memory-append-tool.ts";
import type { MemoryTool } from "../../tools/memory-tool.ts";
import { createMemoryTools } from "../../tools/memory-tools.ts";
import { createRecentRecalls } from "../../tools/recent-recalls.ts";

/** Takes messages to the notes, by a model or as a digest. */
export interface MessageSaver {
  /** Whether a model is there. */
  readonly hasModel: boolean;
  /** Where the notes are. */
  readonly workspaceDir: string;
  /** The local days of messages, in their order. */
  daysOf(messages: readonly ConversationMessage[]): string[];
  handOver(messages: readonly ConversationMessage[], run: SaverRun): Promise<HandedOver>;
  /** Gives the citations. Throws as `appendNote` does. */
  digest(messages: readonly ConversationMessage[], how: DigestHow, signal: AbortSignal): Promise<WrittenDigest>;
}

type DigestHow = Pick<DigestOptions, "cause" | "everything" | "notes">;

interface SaverRun {
  /** Whose notes `memory_search` may see. */
  readonly sessionKey: string;
  readonly notes: FlushNotes;
  readonly retryDelaysMs: readonly number[];
  readonly signal: AbortSignal;
  readonly onDone: (messageIds: readonly string[]) => Promise<void>;
}

export interface MessageSaverOptions {
  readonly agent: AgentConfig;
  readonly memory: Memory | undefined;
  readonly runTurn: FlushTurn | undefined;
  readonly contextWindowTokens: number | undefined;
  readonly turnDeadlineMs: number;
  readonly clock: () => Date;
}

/** A turn with less than this would be all prompt. */
const leastTokens = 256;

export function createMessageSaver(options: MessageSaverOptions): MessageSaver {
  const { agent, memory, runTurn, contextWindowTokens = 0, turnDeadlineMs, clock } = options;
  const timeZone = agent.userTimezone;
  const workspaceDir = memory?.workspaceDir ?? agent.workspaceDir;
  // Half of the window: the prompts, the tools and what they give need room too.
  const maxTokens =
    contextWindowTokens > 0 ? Math.max(leastTokens, Math.floor(contextWindowTokens / 2)) : Number.POSITIVE_INFINITY;

  return {
    hasModel: runTurn !== undefined,
    workspaceDir,
    daysOf: (messages) => {
      const now = clock();
      const localTime = localClock(timeZone);
      return [...new Set(messages.map((message) => localTime(timeOf(message, now)).day))];
    },
    async handOver(messages, { sessionKey, notes, ...run }) {
      if (runTurn === undefined) return { entries: [], tries: 0, failure: { error: "no model", unwritable: false } };
      return await handOver(flushGroups(messages, { timeZone, maxTokens, fallbackTime: clock() }), {
        ...run,
        workspaceDir,
        turn: (group, problem) =>
          runFlushTurn({
            group,
            settings: agent.compaction,
            timeZone,
            runTurn,
            notes,
            problem,
            tools: flushTools({ memory, workspaceDir, sessionKey, timeZone, at: group.at }),
            secrets: agent.secrets,
            deadlineMs: turnDeadlineMs,
            signal: run.signal,
          }),
      });
    },
    digest: (messages, how, signal) =>
      appendDigests(messages, { ...how, workspaceDir, timeZone, fallbackTime: clock(), signal }),
  };
}

/** Everything that a model may do in a flush turn. */
const allowed: ReadonlySet<string> = new Set(["memory_append", "memory_search"]);

/**
 * The tools of one flush turn: `memory_append`, which dates every entry with the time of the messages, and
 * `memory_search`. Where memory is not open, notes can be added all the same: they are files.
 */
function flushTools(options: {
  memory: Memory | undefined;
  workspaceDir: string;
  sessionKey: string;
  timeZone: string;
  at: Date;
}): MemoryTool[] {
  const { memory, workspaceDir, sessionKey, timeZone, at } = options;
  // The turn itself takes them out.
  const append = { timeZone, clock: () => at, secrets: "keep" as const };
  if (memory === undefined) {
    const target = { opened: { memory: { workspaceDir } }, deadlineMs: usualDeadlines.searchMs };
    return [memoryAppendTool(target, append, createRecentRecalls())];
  }
  const tools = createMemoryTools({ memory, citations: "auto", sessionKey, append });
  return tools
    .filter(({ name }) => allowed.has(name))
    .map((tool) => (tool.name === "memory_search" ? ofNotes(tool) : tool));
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
