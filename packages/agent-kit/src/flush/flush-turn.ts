import { type CompactionSettings, MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import type { ConversationMessage } from "../conversation.ts";
import { localTime } from "../local-day.ts";
import type { MemoryTool } from "../memory-tool.ts";
import type { FlushGroup } from "./flush-groups.ts";
import { flushPrompts, isNoReply, noReply } from "./flush-prompts.ts";

/**
 * Has a model read messages that are about to be dropped and note what is worth keeping: one turn of its own, in which
 * `tools` are all the tools there are. Gives the model's final text, which nobody is shown. `prompt` is the user's
 * message behind `messages`. It must end when `signal` is aborted, which is also its time limit.
 */
export type FlushTurn = (turn: {
  systemPrompt: string;
  prompt: string;
  messages: readonly ConversationMessage[];
  tools: readonly MemoryTool[];
  signal: AbortSignal;
}) => Promise<string>;

/** What came of one flush turn. `entries` are the citations of what it wrote, whatever became of it then. */
export type TurnOutcome =
  | { readonly state: "done"; readonly entries: readonly string[]; readonly said?: string | undefined }
  | { readonly state: "failed"; readonly entries: readonly string[]; readonly error: string }
  | { readonly state: "unwritable"; readonly entries: readonly string[]; readonly error: string };

export interface FlushTurnOptions {
  readonly group: FlushGroup;
  readonly settings: CompactionSettings;
  readonly timeZone: string;
  readonly runTurn: FlushTurn;
  readonly tools: readonly MemoryTool[];
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** More entries than this from one turn are no notes but a copy, or a model that cannot stop. */
const maxEntries = 50;

/** Runs one flush turn. Throws only an `AbortError`, when `signal` was aborted. */
export async function runFlushTurn(options: FlushTurnOptions): Promise<TurnOutcome> {
  const { group, settings, timeZone, runTurn, signal } = options;
  const { day, time } = localTime(group.at, timeZone);
  const watched = watch(options.tools);
  const { entries } = watched;
  try {
    const limits = { what: "the flush turn", deadlineMs: options.deadlineMs, signals: [signal] };
    const said: unknown = await withDeadline(limits, (turnSignal) =>
      runTurn({
        ...flushPrompts(settings, { day, time, timeZone }),
        messages: group.messages,
        tools: watched.tools,
        signal: turnSignal,
      }),
    );
    return watched.judge(typeof said === "string" ? said : "");
  } catch (error) {
    if (signal.aborted) throw isAbort(error) ? error : new DOMException("This operation was aborted", "AbortError");
    return { state: "failed", entries, error: messageOf(error) || "the model failed without a reason" };
  } finally {
    watched.end();
  }
}

interface WatchedTools {
  readonly tools: readonly MemoryTool[];
  readonly entries: readonly string[];
  judge(said: string): TurnOutcome;
  /** What is called from now on does nothing: the turn is over, and somebody else may have its messages. */
  end(): void;
}

/** The tools, with an eye on what came of `memory_append`. */
function watch(tools: readonly MemoryTool[]): WatchedTools {
  const entries: string[] = [];
  let unwritable: string | undefined;
  let refused: string | undefined;
  let ended = false;

  async function append(
    tool: MemoryTool,
    input: unknown,
    options: { signal?: AbortSignal | undefined } | undefined,
  ): Promise<object> {
    const problem = holdsSentinel(input)
      ? `leave ${noReply} out of the text: it is an answer, not a note`
      : entries.length >= maxEntries
        ? `${maxEntries} entries were written in this turn, which is enough: answer with ${noReply} now`
        : undefined;
    if (problem !== undefined) {
      refused = problem;
      return { status: "error", code: "INVALID_ARGUMENT", field: "text", error: problem };
    }
    const answer: Record<string, unknown> = { ...(await tool.execute(input, options)) };
    if (answer["status"] === "ok") {
      entries.push(String(answer["citation"]));
      [unwritable, refused] = [undefined, undefined];
    } else if (answer["code"] === "INVALID_ARGUMENT") refused = String(answer["error"]);
    else unwritable = String(answer["error"]);
    return answer;
  }

  return {
    entries,
    tools: tools.map((tool) => ({
      ...tool,
      execute: async (input, options) => {
        if (ended) throw new MemoryError("CLOSED", "this flush turn is over; its tools cannot be used any more");
        return tool.name === "memory_append" ? await append(tool, input, options) : await tool.execute(input, options);
      },
    })),
    judge(said) {
      if (unwritable !== undefined) return { state: "unwritable", entries, error: unwritable };
      // What it wanted to keep is not kept, and it gave up.
      if (refused !== undefined && entries.length === 0)
        return { state: "failed", entries, error: `its last note was refused: ${refused}` };
      if (entries.length > 0 || isNoReply(said)) return { state: "done", entries };
      if (said.trim() === "") return { state: "failed", entries, error: "the model gave an empty answer" };
      return { state: "done", entries, said };
    },
    end: () => {
      ended = true;
    },
  };
}

function holdsSentinel(input: unknown): boolean {
  if (typeof input !== "object" || input === null || !("text" in input)) return false;
  return typeof input.text === "string" && input.text.includes(noReply);
}
