import path from "node:path";
import { type AgentConfig, MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import type { ConversationMessage } from "../conversation.ts";
import { unlessLocked } from "../failures.ts";
import type { DigestCause, WrittenDigest } from "./flush-digest.ts";
import type { FlushJournal } from "./flush-journal.ts";
import { FlushNotes, notesThatStand } from "./flush-notes.ts";
import type { FlushRecord, FlushReport } from "./flush-record.ts";
import type { HandedOver, MessageSaver } from "./message-saver.ts";

/** What messages of a journal are saved with. */
export interface SaveContext {
  readonly agent: AgentConfig;
  readonly journal: FlushJournal;
  readonly saver: MessageSaver;
  readonly retryDelaysMs: readonly number[];
  readonly clock: () => Date;
}

/** After so many rounds without success a digest is written. */
const maxRounds = 3;
/** How long messages that the journal cannot take may keep a host waiting. */
const inlineMs = 30_000;
/** How much of it a model may take; the rest is for the digest. */
const modelMs = 20_000;

/** What came of an entry, with the entry as it was. */
export interface SavedEntry {
  readonly record: FlushRecord;
  readonly report: FlushReport;
}

/**
 * Goes through one entry of the journal once. Undefined where there is nothing to tell: another process has it, it is
 * done already, or it waits for a model. Throws where the signal is aborted; the entry stays.
 */
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
  { agent, journal, saver, retryDelaysMs, clock }: SaveContext,
  signal: AbortSignal,
): Promise<FlushReport | undefined> {
  const { journalDays } = agent.compaction.memoryFlush;
  const about = { messages: messages.length, days: saver.daysOf(messages) };
  const known = await notesThatStand(record.notes ?? [], saver.workspaceDir);
  const notes = new FlushNotes(known, saver.workspaceDir, (all) => journal.save(name, { ...record, notes: all }));
  const isOver = (): boolean =>
    record.digest !== undefined && clock().getTime() - Date.parse(record.digest.at) > journalDays * 86_400_000;

  function skipped(error: string): Pick<FlushReport, "state" | "reason"> {
    return { state: "skipped", reason: `the notes cannot be written: ${error}; the messages are kept in the journal` };
  }

  async function giveUp(): Promise<FlushReport> {
    await journal.remove(name);
    const reason = `no model took the messages within ${journalDays} days, and none is asked any more: their digest stays in the notes, and they can be found in the journal`;
    return { state: "digested", reason, entries: [], tries: 0, ...about };
  }

  async function digest(
    cause: DigestCause,
    tried: FlushRecord,
    { entries, tries }: HandedOver = { entries: [], tries: 0 },
  ): Promise<FlushReport> {
    let written: WrittenDigest;
    try {
      const how = { cause, notes: notes.all.map(({ text }) => text) };
      written = await saver.digest(leftOf(record, journal), how, signal);
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

  if (!saver.hasModel) {
    if (record.digest === undefined) return await digest("no-model", record);
    return isOver() ? await giveUp() : undefined;
  }
  const handed = await saver.handOver(messages, {
    sessionKey: record.sessionKey,
    notes,
    retryDelaysMs,
    signal,
    onDone: (ids) => journal.markDone(record.sessionId, ids, clock()),
  });
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
  if (isOver()) return await giveUp();
  if (record.digest === undefined && tried.rounds >= maxRounds) return await digest("model-failed", tried, handed);
  return { state: "failed", reason: failure.error, entries, tries, ...about };
}

/**
 * Saves messages to the notes at once, because the journal cannot be written: by the model with one try, and what it does
 * not take as a digest. Throws `UNAVAILABLE` where that fails as well: the messages are nowhere but in the conversation.
 */
export async function saveInline(
  messages: readonly ConversationMessage[],
  session: { readonly key: string; readonly id: string },
  { journal, saver }: SaveContext,
  /** Why the journal cannot be written. */
  journalError: unknown,
  signals: readonly (AbortSignal | undefined)[],
): Promise<FlushReport> {
  const about = { messages: messages.length, days: saver.daysOf(messages) };
  const reason = `the journal cannot be written: ${messageOf(journalError)}`;
  const done = new Set<string>();
  const onDone = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) done.add(id);
    journal.markDoneHere(session.id, ids);
  };
  const notes = new FlushNotes([], saver.workspaceDir, async () => undefined);
  const entries: string[] = [];
  let tries = 0;
  try {
    return await withDeadline(
      { what: "saving the messages at once", deadlineMs: inlineMs, signals },
      async (signal) => {
        if (saver.hasModel) {
          const turn = { what: "the flush turn", deadlineMs: modelMs, signals: [signal] };
          const handed = await withDeadline(turn, (turnSignal) =>
            saver.handOver(messages, { sessionKey: session.key, notes, retryDelaysMs: [], signal: turnSignal, onDone }),
          ).catch((error: unknown) => {
            if (isAbort(error)) throw error;
            return { entries: [], tries: 1, failure: { error: messageOf(error), unwritable: false } };
          });
          entries.push(...handed.entries);
          tries = handed.tries;
          if (handed.failure === undefined)
            return { state: entries.length > 0 ? "done" : "nothing", reason, entries, tries, ...about };
        }
        const left = messages.filter(({ id }) => !done.has(id));
        const cause = saver.hasModel ? "model-failed" : "no-model";
        const { citations } = await saver.digest(left, { cause, everything: true }, signal);
        entries.push(...citations);
        await onDone(left.map(({ id }) => id));
        return { state: "digested", reason, entries, tries, ...about };
      },
    );
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new MemoryError(
      "UNAVAILABLE",
      `the messages must not be dropped: ${reason}, and they cannot be saved to the notes (${messageOf(error)}); free some space or check the rights of ${journal.folder}`,
      { cause: error },
    );
  }
}
