import { type AgentConfig, MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import { isObject } from "@memslot/indexing/host";
import { parseCitation } from "../citations.ts";
import type { ConversationMessage } from "../conversation-messages.ts";
import { localTime } from "../edit/local-day.ts";
import { guardSecrets } from "../tools/guard-secrets.ts";
import { noteInput } from "../tools/memory-note-tools.ts";
import type { MemoryTool, MemoryToolResult } from "../tools/tool-types.ts";
import type { FlushGroup } from "./flush-groups.ts";
import type { FlushNote } from "./flush-journal.ts";
import type { FlushNotes } from "./flush-notes.ts";
import { flushPrompts, isNoReply, noReply } from "./flush-prompts.ts";

/**
 * Runs a model with `tools` as its only tools on messages about to be dropped; returns its final text. `prompt` follows
 * `messages`. Must end when `signal` is aborted.
 */
export type FlushTurn = (turn: {
  systemPrompt: string;
  prompt: string;
  messages: readonly ConversationMessage[];
  tools: readonly MemoryTool[];
  signal: AbortSignal;
}) => Promise<string>;

export type TurnOutcome =
  | { readonly state: "done"; readonly entries: readonly string[] }
  | { readonly state: "failed" | "unwritable"; readonly entries: readonly string[]; readonly error: string };

export interface TurnRun {
  /** What the flush has written so far: the model gets the list, and the tool refuses to write any of it again. */
  readonly notes: FlushNotes;
  readonly signal: AbortSignal;
}

const maxEntries = 50;

/** Runs one flush turn; `problem`: why the last try failed. Throws only an `AbortError`, if `signal` was aborted. */
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
  // Masked unless they are kept: a refused note could lose all that it says.
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

function watch(tools: readonly MemoryTool[], notes: FlushNotes, day: string) {
  const entries: string[] = [];
  let written = 0;
  let unwritable: string | undefined;
  let refused: string | undefined;
  let ended = false;
  const writing = new Set<Promise<MemoryToolResult>>();

  async function append(tool: MemoryTool, input: unknown): Promise<MemoryToolResult> {
    const problem = refusal(input);
    if (problem !== undefined) {
      refused = problem;
      return { status: "error", code: "INVALID_ARGUMENT", field: "text", error: problem };
    }
    const asked = noteInput(input);
    const note = asked && { text: asked.text, kind: asked.kind, day };
    const same = note && notes.saying(note);
    if (same?.citation !== undefined) return accept(same.citation, duplicateOf(same, same.citation));
    const fresh = same === undefined ? note : undefined;
    try {
      if (fresh !== undefined) await notes.begin(fresh);
    } catch (error) {
      if (fresh !== undefined) notes.dropped(fresh);
      unwritable = messageOf(error);
      return { status: "error", code: "WORKSPACE", error: `nothing was noted: ${unwritable}` };
    }
    // Without the signal: an abort in the middle would leave open whether the note exists. The tool has its own deadline.
    const answer = await tool.execute(input);
    if (answer.status === "ok") {
      const citation = String(answer.citation);
      if (fresh !== undefined) notes.written(fresh, citation);
      if (answer.state === "appended") written++;
      return accept(citation, answer);
    }
    // After a timeout it may have been written all the same: the next try looks it up.
    if (fresh !== undefined && answer.timedOut !== true) notes.dropped(fresh);
    if (answer.code === "INVALID_ARGUMENT") refused = String(answer.error);
    else unwritable = String(answer.error);
    return answer;
  }

  function refusal(input: unknown): string | undefined {
    const text = isObject(input) ? input["text"] : undefined;
    if (typeof text === "string" && text.includes(noReply))
      return `leave ${noReply} out of the text: it is an answer, not a note`;
    if (written < maxEntries) return undefined;
    return `${maxEntries} entries were written in this turn, and it takes no more: answer with ${noReply} now, and you are asked for the others in a turn of their own`;
  }

  function accept(citation: string, answer: MemoryToolResult): MemoryToolResult {
    entries.push(citation);
    [unwritable, refused] = [undefined, undefined];
    return answer;
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
        // A search that fails loses nothing.
        if (tool.name === "memory_append" && name !== "memory_search") refused = error;
      },
    })),
    judge(said: string): TurnOutcome {
      if (unwritable !== undefined) return { state: "unwritable", entries, error: unwritable };
      // The model wanted to keep something and gave up.
      if (refused !== undefined) return { state: "failed", entries, error: `its last note was refused: ${refused}` };
      if (entries.length > 0 || isNoReply(said)) return { state: "done", entries };
      const what =
        said.trim() === "" ? "the model gave an empty answer" : "the model answered in words and noted nothing";
      return { state: "failed", entries, error: what };
    },
    /** Disables the tools: another turn may have the messages. Waits for notes being written, so that the next turn knows them. */
    end: async () => {
      ended = true;
      await Promise.allSettled(writing);
    },
  };
}

function duplicateOf({ text, day }: FlushNote, citation: string): MemoryToolResult {
  const { path, startLine, endLine } = parseCitation(citation) ?? { path: citation, startLine: 1, endLine: 1 };
  const note = `Nothing was written: "${text}" at ${citation} was noted from these messages before and says the same. If yours says more, write only what is new.`;
  return { status: "ok", state: "duplicate", path, startLine, endLine, citation, day, note };
}
