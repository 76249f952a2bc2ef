import { type AgentConfig, MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import { parseCitation } from "../citations.ts";
import type { ConversationMessage } from "../conversation.ts";
import { localTime } from "../edit/local-day.ts";
import { guardSecrets } from "../tools/guard-secrets.ts";
import { noteInput } from "../tools/memory-append-tool.ts";
import type { MemoryTool, MemoryToolResult } from "../tools/memory-tool.ts";
import type { FlushGroup } from "./flush-groups.ts";
import type { FlushNotes } from "./flush-notes.ts";
import { flushPrompts, isNoReply, noReply } from "./flush-prompts.ts";
import type { FlushNote } from "./flush-record.ts";

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
  | { readonly state: "done"; readonly entries: readonly string[] }
  | { readonly state: "failed" | "unwritable"; readonly entries: readonly string[]; readonly error: string };

/** What stays the same over all turns and tries for some messages. */
export interface TurnRun {
  /** What the flush has written so far: the model is told of it, and writes none of it again. */
  readonly notes: FlushNotes;
  readonly signal: AbortSignal;
}

/** Notes that one turn takes. A model that has more is asked again, and told of these. */
const maxEntries = 50;

/**
 * Runs one flush turn; `problem` is why the last try for these messages came to nothing. Throws only an `AbortError`, when
 * `signal` was aborted.
 */
export async function runFlushTurn(
  group: FlushGroup,
  turn: { agent: AgentConfig; runTurn: FlushTurn; tools: readonly MemoryTool[]; turnDeadlineMs: number },
  { notes, signal }: TurnRun,
  problem?: string | undefined,
): Promise<TurnOutcome> {
  const { userTimezone: timeZone, compaction } = turn.agent;
  const { day, time } = localTime(group.at, timeZone);
  await notes.look();
  const watched = watch(turn.tools, notes, day);
  const { entries } = watched;
  // Masked unless they are kept: with a note that is refused, all that it says could be lost.
  const secrets = turn.agent.secrets === "keep" ? "keep" : "mask";
  const written = notes.all.filter((note) => note.kind === "longterm" || note.day === day);
  try {
    const limits = { what: "the flush turn", deadlineMs: turn.turnDeadlineMs, signals: [signal] };
    const said: unknown = await withDeadline(limits, (turnSignal) =>
      turn.runTurn({
        ...flushPrompts(compaction, { day, time, timeZone }, { written, problem }),
        messages: group.messages,
        tools: watched.tools.map((tool) => guardSecrets(tool, secrets)),
        signal: turnSignal,
      }),
    );
    return watched.judge(typeof said === "string" ? said : "");
  } catch (error) {
    if (signal.aborted) throw isAbort(error) ? error : new DOMException("This operation was aborted", "AbortError");
    return { state: "failed", entries, error: messageOf(error) || "the model failed without a reason" };
  } finally {
    await watched.end();
  }
}

/** The tools, with an eye on what came of `memory_append`. */
function watch(tools: readonly MemoryTool[], notes: FlushNotes, day: string) {
  /** Of accepted notes, also of those that stood there already. */
  const entries: string[] = [];
  let written = 0;
  let unwritable: string | undefined;
  let refused: string | undefined;
  let ended = false;
  const writing = new Set<Promise<MemoryToolResult>>();

  async function append(tool: MemoryTool, input: unknown): Promise<MemoryToolResult> {
    const problem = holdsSentinel(input)
      ? `leave ${noReply} out of the text: it is an answer, not a note`
      : written >= maxEntries
        ? `${maxEntries} entries were written in this turn, and it takes no more: answer with ${noReply} now, and you are asked for the others in a turn of their own`
        : undefined;
    if (problem !== undefined) {
      refused = problem;
      return { status: "error", code: "INVALID_ARGUMENT", field: "text", error: problem };
    }
    const asked = noteInput(input);
    const note = asked && { text: asked.text, kind: asked.kind, day };
    const same = note && notes.saying(note);
    if (same?.citation !== undefined) {
      accept(same.citation);
      return duplicateOf(same, same.citation);
    }
    const known = note !== undefined && same === undefined;
    if (known) {
      try {
        await notes.begin(note);
      } catch (error) {
        notes.dropped(note);
        unwritable = messageOf(error);
        return { status: "error", code: "WORKSPACE", error: `nothing was noted: ${unwritable}` };
      }
    }
    // Without the signal: an abort in the middle would leave open whether the note stands. The tool has its own limit.
    const answer = await tool.execute(input);
    if (answer["status"] === "ok") {
      const citation = String(answer["citation"]);
      if (known) notes.written(note, citation);
      if (answer["state"] === "appended") written++;
      accept(citation);
      return answer;
    }
    // After a time limit it may stand there all the same: the next try looks.
    if (known && answer["timedOut"] !== true) notes.dropped(note);
    if (answer["code"] === "INVALID_ARGUMENT") refused = String(answer["error"]);
    else unwritable = String(answer["error"]);
    return answer;
  }

  function accept(citation: string): void {
    entries.push(citation);
    [unwritable, refused] = [undefined, undefined];
  }

  return {
    entries,
    tools: tools.map((tool): MemoryTool => ({
      ...tool,
      execute: async (input, options) => {
        if (ended) throw new MemoryError("CLOSED", "this flush turn is over; its tools cannot be used any more");
        if (tool.name !== "memory_append") return await tool.execute(input, options);
        options?.signal?.throwIfAborted();
        const answer = append(tool, input);
        writing.add(answer);
        return await answer;
      },
      onBadCall: ({ name, error }) => {
        // A search that came to nothing loses nothing.
        if (tool.name === "memory_append" && name !== "memory_search") refused = error;
      },
    })),
    judge(said: string): TurnOutcome {
      if (unwritable !== undefined) return { state: "unwritable", entries, error: unwritable };
      // What it wanted to keep is not kept, and it gave up.
      if (refused !== undefined) return { state: "failed", entries, error: `its last note was refused: ${refused}` };
      if (entries.length > 0 || isNoReply(said)) return { state: "done", entries };
      const what =
        said.trim() === "" ? "the model gave an empty answer" : "the model answered in words and noted nothing";
      return { state: "failed", entries, error: what };
    },
    /**
     * What is called from now on does nothing: the turn is over, and somebody else may have its messages. A note that is
     * being written is waited for, so that the next turn knows of it.
     */
    end: async () => {
      ended = true;
      await Promise.allSettled(writing);
    },
  };
}

function duplicateOf({ text, day }: FlushNote, citation: string): MemoryToolResult {
  const { path, startLine, endLine } = parseCitation(citation) ?? { path: citation, startLine: 1, endLine: 1 };
  const note = `Nothing was written: at ${citation} stands "${text}", which was noted from these messages before and says the same. If yours says more, write only what is new.`;
  return { status: "ok", state: "duplicate", path, startLine, endLine, citation, day, note };
}

function holdsSentinel(input: unknown): boolean {
  if (typeof input !== "object" || input === null || !("text" in input)) return false;
  return typeof input.text === "string" && input.text.includes(noReply);
}
