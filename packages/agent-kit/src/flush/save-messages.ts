import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  type AgentConfig,
  isAbort,
  type Memory,
  MemoryError,
  messageOf,
  usualDeadlines,
  withDeadline,
} from "@memslot/core";
import { noFollow, unlessMissing } from "@memslot/core/files";
import { isObject } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation-messages.ts";
import { localClock } from "../edit/local-day.ts";
import { unlessLocked } from "../state-locks.ts";
import { memoryAppendTool } from "../tools/memory-note-tools.ts";
import type { MemoryTool } from "../tools/tool-types.ts";
import { createMemoryTools } from "../tools/memory-tools.ts";
import { RecentRecalls } from "../tools/recalled-text.ts";
import { appendDigests, type DigestOptions, type WrittenDigest } from "./flush-digest.ts";
import { flushGroups, timeOf } from "./flush-groups.ts";
import type { FlushJournal, FlushRecord } from "./flush-journal.ts";
import { FlushNotes, notesThatExist } from "./flush-notes.ts";
import { type FlushTurn, runFlushTurn, type TurnOutcome, type TurnRun } from "./flush-turn.ts";

export interface FlushModel {
  readonly agent: AgentConfig;
  /** With it the model can search the notes. Without it, it can only add to them. */
  readonly memory?: Memory | undefined;
  /** Left out: a plain digest is written, and the messages wait in the journal for a model. */
  readonly runTurn?: FlushTurn | undefined;
  /** Tokens that the model takes; messages that need more than half of it are handed over in several turns. */
  readonly contextWindowTokens?: number | undefined;
  /** The deadline of one turn; 120 s if left out. */
  readonly turnDeadlineMs?: number | undefined;
}

export interface SaveContext extends FlushModel {
  readonly journal: FlushJournal;
  readonly retryDelaysMs: readonly number[];
  readonly clock: () => Date;
}

export interface FlushReport {
  /** `failed`, `skipped`: the messages wait in the journal. `digested`: so too, and the notes have a plain digest. */
  readonly state: "done" | "nothing" | "failed" | "skipped" | "digested";
  /** Why, for a person; always set for `failed` and `skipped`. */
  readonly reason?: string | undefined;
  readonly entries: readonly string[];
  readonly messages: number;
  /** How often a model was asked, in this run. */
  readonly tries: number;
  readonly days: readonly string[];
}

const maxRounds = 3;
const inlineMs = 30_000;
const modelMs = 20_000;
const leastTokens = 256;

export interface SavedEntry {
  readonly record: FlushRecord;
  readonly report: FlushReport;
}

/** Processes a journal entry once; undefined if there is nothing to report. Throws if aborted; the entry stays. */
export async function saveEntry(
  name: string,
  context: SaveContext,
  signal: AbortSignal,
): Promise<SavedEntry | undefined> {
  const { journal } = context;
  return await unlessLocked(path.join(journal.folder, name), signal, async () => {
    await journal.refresh();
    const record = await journal.read(name);
    if (record === undefined) return undefined;
    const messages = leftOf(record, journal);
    if (messages.length > 0) {
      const report = await saveRecord(name, record, messages, context, signal);
      return report && { record, report };
    }
    await journal.remove(name);
    return undefined;
  });
}

function leftOf(record: FlushRecord, journal: FlushJournal): ConversationMessage[] {
  return record.messages.filter(({ id }) => !journal.isDone(record.sessionId, id));
}

async function saveRecord(
  name: string,
  record: FlushRecord,
  messages: readonly ConversationMessage[],
  context: SaveContext,
  signal: AbortSignal,
): Promise<FlushReport | undefined> {
  const { agent, journal, retryDelaysMs, clock } = context;
  const workspaceDir = workspaceOf(context);
  const { journalDays } = agent.compaction.memoryFlush;
  const about = aboutOf(messages, context);
  const known = await notesThatExist(record.notes ?? [], workspaceDir);
  const notes = new FlushNotes(known, workspaceDir, (all) => journal.save(name, { ...record, notes: all }));
  const isOver =
    record.digest !== undefined && clock().getTime() - Date.parse(record.digest.at) > journalDays * 86_400_000;
  const skipped = (error: string) => ({
    state: "skipped" as const,
    reason: `the notes cannot be written: ${error}; the messages are kept in the journal`,
  });

  async function giveUp(): Promise<FlushReport> {
    await journal.remove(name);
    const reason = `no model took the messages within ${journalDays} days, and none is asked any more: their digest stays in the notes, and they can be found in the journal`;
    return { state: "digested", reason, entries: [], tries: 0, ...about };
  }

  async function digest(
    cause: DigestOptions["cause"],
    tried: FlushRecord,
    { entries, tries }: HandedOver = { entries: [], tries: 0 },
  ): Promise<FlushReport> {
    let written: WrittenDigest;
    try {
      const how = { cause, notes: notes.all.map(({ text }) => text) };
      written = await writeDigests(leftOf(record, journal), how, context, signal);
    } catch (error) {
      if (isAbort(error)) throw error;
      await journal.save(name, { ...tried, lastTriedAt: clock().toISOString(), lastError: messageOf(error) });
      return { ...skipped(messageOf(error)), entries, tries, ...about };
    }
    const { citations } = written;
    notes.add(written.notes);
    await journal.save(name, { ...tried, notes: notes.all, digest: { at: clock().toISOString(), citations } });
    const reason = cause === "no-model" ? "no model was available" : `the model failed: ${tried.lastError}`;
    return { state: "digested", reason, entries: [...entries, ...citations], tries, ...about };
  }

  if (context.runTurn === undefined) {
    if (record.digest === undefined) return await digest("no-model", record);
    return isOver ? await giveUp() : undefined;
  }
  const onDone = (ids: readonly string[]): Promise<void> => journal.markDone(record.sessionId, ids, clock());
  const run = { sessionKey: record.sessionKey, notes, retryDelaysMs, signal, onDone };
  const handed = await handOver(messages, context, run);
  const { entries, tries, failure } = handed;
  if (failure === undefined) {
    await journal.remove(name);
    return { state: entries.length > 0 ? "done" : "nothing", entries, tries, ...about };
  }
  const tried: FlushRecord = {
    ...record,
    notes: notes.all,
    rounds: record.rounds + (failure.unwritable ? 0 : 1),
    tries: record.tries + tries,
    lastTriedAt: clock().toISOString(),
    lastError: failure.error,
  };
  await journal.save(name, tried);
  if (failure.unwritable) return { ...skipped(failure.error), entries, tries, ...about };
  if (isOver) return await giveUp();
  if (record.digest === undefined && tried.rounds >= maxRounds) return await digest("model-failed", tried, handed);
  return { state: "failed", reason: failure.error, entries, tries, ...about };
}

/** Saves messages without the journal: one try of the model, else a digest. Throws `UNAVAILABLE`. */
export async function saveInline(
  messages: readonly ConversationMessage[],
  session: { readonly key: string; readonly id: string },
  context: SaveContext,
  journalError: unknown,
  signals: readonly (AbortSignal | undefined)[],
): Promise<FlushReport> {
  const { journal, runTurn } = context;
  const about = aboutOf(messages, context);
  const reason = `the journal cannot be written: ${messageOf(journalError)}`;
  const done = new Set<string>();
  const onDone = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) done.add(id);
    journal.markDoneHere(session.id, ids);
  };
  const notes = new FlushNotes([], workspaceOf(context), async () => undefined);
  const entries: string[] = [];
  const save = async (signal: AbortSignal): Promise<FlushReport> => {
    let tries = 0;
    if (runTurn !== undefined) {
      const turn = { what: "the flush turn", deadlineMs: modelMs, signals: [signal] };
      const handed = await withDeadline(turn, (turnSignal) =>
        handOver(messages, context, { sessionKey: session.key, notes, retryDelaysMs: [], signal: turnSignal, onDone }),
      ).catch((error: unknown): HandedOver => {
        if (isAbort(error)) throw error;
        return { entries: [], tries: 1, failure: { error: messageOf(error), unwritable: false } };
      });
      entries.push(...handed.entries);
      tries = handed.tries;
      if (handed.failure === undefined)
        return { state: entries.length > 0 ? "done" : "nothing", reason, entries, tries, ...about };
    }
    const left = messages.filter(({ id }) => !done.has(id));
    const cause = runTurn === undefined ? "no-model" : "model-failed";
    const { citations } = await writeDigests(left, { cause, everything: true }, context, signal);
    entries.push(...citations);
    await onDone(left.map(({ id }) => id));
    return { state: "digested", reason, entries, tries, ...about };
  };
  try {
    return await withDeadline({ what: "saving the messages at once", deadlineMs: inlineMs, signals }, save);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new MemoryError(
      "UNAVAILABLE",
      `the messages must not be dropped: ${reason}, and they cannot be saved to the notes (${messageOf(error)}); free some space or check the rights of ${journal.folder}`,
      { cause: error },
    );
  }
}

function workspaceOf({ memory, agent }: FlushModel): string {
  return memory?.workspaceDir ?? agent.workspaceDir;
}

function aboutOf(
  messages: readonly ConversationMessage[],
  { agent, clock }: SaveContext,
): Pick<FlushReport, "messages" | "days"> {
  const localTime = localClock(agent.userTimezone);
  const now = clock();
  return {
    messages: messages.length,
    days: [...new Set(messages.map((message) => localTime(timeOf(message, now)).day))],
  };
}

function writeDigests(
  messages: readonly ConversationMessage[],
  how: Pick<DigestOptions, "cause" | "everything" | "notes">,
  context: SaveContext,
  signal: AbortSignal,
): Promise<WrittenDigest> {
  const { agent, clock } = context;
  const where = { workspaceDir: workspaceOf(context), timeZone: agent.userTimezone, fallbackTime: clock() };
  return appendDigests(messages, { ...how, ...where, signal });
}

interface HandedOver {
  readonly entries: readonly string[];
  readonly tries: number;
  readonly failure?: { readonly error: string; readonly unwritable: boolean } | undefined;
}

interface HandOverRun extends TurnRun {
  readonly sessionKey: string;
  readonly retryDelaysMs: readonly number[];
  /** Gets the ids of messages that are handed over, before the next turn begins. */
  readonly onDone: (messageIds: readonly string[]) => Promise<void>;
}

/** Hands messages over, group by group. After a failure other groups get one try, as the model may be down. */
async function handOver(
  messages: readonly ConversationMessage[],
  context: SaveContext,
  run: HandOverRun,
): Promise<HandedOver> {
  const { agent, runTurn, contextWindowTokens = 0, turnDeadlineMs = 120_000, clock } = context;
  if (runTurn === undefined) return { entries: [], tries: 0, failure: { error: "no model", unwritable: false } };
  // Half of the window: the prompts, the tools and their results need tokens too.
  const maxTokens = contextWindowTokens > 0 ? Math.max(leastTokens, Math.floor(contextWindowTokens / 2)) : Infinity;
  const entries = new Set<string>();
  let tries = 0;
  let failure: string | undefined;
  const endedWith = (error: string, unwritable: boolean): HandedOver => ({
    entries: [...entries],
    tries,
    failure: { error, unwritable },
  });
  for (const group of flushGroups(messages, { timeZone: agent.userTimezone, maxTokens, fallbackTime: clock() })) {
    const fault = await workspaceFault(workspaceOf(context), group.day);
    if (fault !== undefined) return endedWith(fault, true);
    // New tools for each try: results and failures of a search do not carry over.
    const next = (problem?: string): Promise<TurnOutcome> => {
      const tools = turnTools(context, run.sessionKey, group.at);
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

/** The tools of a flush turn: `memory_append`, dated by the messages, and `memory_search` if memory is open. */
function turnTools(context: FlushModel, sessionKey: string, at: Date): MemoryTool[] {
  const { memory, agent } = context;
  const append = { timeZone: agent.userTimezone, clock: () => at, secrets: "keep" as const };
  if (memory === undefined) {
    const opened = { memory: { workspaceDir: workspaceOf(context) } };
    return [memoryAppendTool({ opened, deadlineMs: usualDeadlines.searchMs }, append, new RecentRecalls())];
  }
  return createMemoryTools({ memory, citations: "auto", sessionKey, append }).flatMap((tool) => {
    if (tool.name === "memory_append") return tool;
    // Notes only: journal and transcripts have the very messages that are to become notes.
    const execute: MemoryTool["execute"] = (input, options) =>
      tool.execute(isObject(input) ? { ...input, corpus: "memory" } : input, options);
    return tool.name === "memory_search" ? { ...tool, execute } : [];
  });
}

async function workspaceFault(workspaceDir: string, day: string): Promise<string | undefined> {
  const folder = path.join(workspaceDir, "memory");
  try {
    await access(workspaceDir, constants.W_OK);
    const found = await stat(folder).catch(unlessMissing);
    if (found === undefined) return undefined;
    if (!found.isDirectory()) return `${folder} is not a folder`;
    await access(folder, constants.W_OK);
    const flags = constants.O_WRONLY | constants.O_APPEND | noFollow;
    const note = await open(path.join(folder, `${day}.md`), flags).catch(unlessMissing);
    await note?.close();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
