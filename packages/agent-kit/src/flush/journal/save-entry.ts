import path from "node:path";
import { MemoryError, isAbort, messageOf } from "@memslot/core";
import type { ConversationMessage } from "../../conversation.ts";
import type { ProcessLock } from "@memslot/core/files";
import { acquireStateLock } from "../../state-lock.ts";
import type { WrittenDigest } from "../turn/append-digests.ts";
import type { DigestCause } from "../turn/flush-digest.ts";
import type { FlushJournal } from "./flush-journal.ts";
import { FlushNotes, notesThatStand } from "../turn/flush-notes.ts";
import type { FlushRecord } from "./flush-record.ts";
import type { FlushReport } from "../turn/flush-report.ts";
import type { MessageSaver } from "./message-saver.ts";

export interface SaveEntryOptions {
  readonly journal: FlushJournal;
  readonly saver: MessageSaver;
  readonly retryDelaysMs: readonly number[];
  readonly clock: () => Date;
  /** How many days messages wait for a model once their digest is written. */
  readonly journalDays: number;
  readonly signal: AbortSignal;
}

/** After so many rounds without success a digest is written. */
const maxRounds = 3;

/** What came of an entry, with the entry as it was. */
export interface SavedEntry {
  readonly record: FlushRecord;
  readonly report: FlushReport;
}

/**
 * Goes through one entry of the journal once. Undefined where there is nothing to tell: another process has it, it is
 * done already, or it waits for a model. Throws where the signal is aborted; the entry stays.
 */
export async function saveEntry(name: string, options: SaveEntryOptions): Promise<SavedEntry | undefined> {
  const { journal, signal } = options;
  const lock = await lockOf(path.join(journal.folder, name), signal);
  if (lock === undefined) return undefined;
  try {
    await journal.refresh();
    const record = await journal.read(name);
    if (record === undefined) return undefined;
    const left = leftOf(record, journal);
    if (left.length > 0) {
      const report = await saveRecord(name, record, left, options);
      return report && { record, report };
    }
    await journal.remove(name);
    return undefined;
  } finally {
    await lock.release();
  }
}

async function lockOf(file: string, signal: AbortSignal): Promise<ProcessLock | undefined> {
  try {
    return await acquireStateLock(`${file}.lock`, { waitMs: 0, busy: () => `${file} is at work elsewhere`, signal });
  } catch (error) {
    if (MemoryError.is(error, "BUSY")) return undefined;
    throw error;
  }
}

function leftOf(record: FlushRecord, journal: FlushJournal): ConversationMessage[] {
  return record.messages.filter(({ id }) => !journal.isDone(record.sessionId, id));
}

async function saveRecord(
  name: string,
  record: FlushRecord,
  messages: readonly ConversationMessage[],
  options: SaveEntryOptions,
): Promise<FlushReport | undefined> {
  const { journal, saver, signal, clock } = options;
  const about = { messages: messages.length, days: saver.daysOf(messages) };
  const known = await notesThatStand(record.notes ?? [], saver.workspaceDir);
  const notes = new FlushNotes(known, saver.workspaceDir, (all) => journal.save(name, { ...record, notes: all }));
  if (!saver.hasModel) {
    if (record.digest === undefined)
      return await digestOf(name, record, { messages, notes, cause: "no-model", about }, options);
    return isOver(record, options) ? await giveUp(name, about, options) : undefined;
  }
  const { entries, tries, failure } = await saver.handOver(messages, {
    sessionKey: record.sessionKey,
    notes,
    retryDelaysMs: options.retryDelaysMs,
    signal,
    onDone: (ids) => journal.markDone(record.sessionId, ids, clock()),
  });
  if (failure === undefined) {
    await journal.remove(name);
    if (entries.length > 0) return { state: "done", entries, tries, ...about };
    return { state: "nothing", entries, tries, ...about };
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
  if (record.digest !== undefined && isOver(record, options)) return await giveUp(name, about, options);
  if (record.digest === undefined && tried.rounds >= maxRounds) {
    const left = leftOf(record, journal);
    const run: DigestRun = { messages: left, notes, cause: "model-failed", about, entries, tries };
    return await digestOf(name, tried, run, options);
  }
  return { state: "failed", reason: failure.error, entries, tries, ...about };
}

interface DigestRun {
  readonly messages: readonly ConversationMessage[];
  readonly notes: FlushNotes;
  readonly cause: DigestCause;
  readonly about: Pick<FlushReport, "messages" | "days">;
  readonly entries?: readonly string[];
  readonly tries?: number;
}

async function digestOf(
  name: string,
  record: FlushRecord,
  { messages, notes, cause, about, entries = [], tries = 0 }: DigestRun,
  { journal, saver, signal, clock }: SaveEntryOptions,
): Promise<FlushReport> {
  let digest: WrittenDigest;
  try {
    digest = await saver.digest(messages, { cause, notes: notes.all.map(({ text }) => text) }, signal);
  } catch (error) {
    if (isAbort(error)) throw error;
    await journal.save(name, { ...record, lastTriedAt: clock().toISOString(), lastError: messageOf(error) });
    return { ...skipped(messageOf(error)), entries, tries, ...about };
  }
  const { citations } = digest;
  notes.add(digest.notes);
  await journal.save(name, { ...record, notes: notes.all, digest: { at: clock().toISOString(), citations } });
  const reason = cause === "no-model" ? "no model was available" : `the model failed: ${record.lastError}`;
  return { state: "digested", reason, entries: [...entries, ...citations], tries, ...about };
}

function skipped(error: string): Pick<FlushReport, "state" | "reason"> {
  return { state: "skipped", reason: `the notes cannot be written: ${error}; the messages are kept in the journal` };
}

function isOver({ digest }: FlushRecord, { clock, journalDays }: SaveEntryOptions): boolean {
  return digest !== undefined && clock().getTime() - Date.parse(digest.at) > journalDays * 86_400_000;
}

async function giveUp(
  name: string,
  about: Pick<FlushReport, "messages" | "days">,
  { journal, journalDays }: SaveEntryOptions,
): Promise<FlushReport> {
  await journal.remove(name);
  const reason = `no model took the messages within ${journalDays} days, and none is asked any more: their digest stays in the notes, and they can be found in the journal`;
  return { state: "digested", reason, entries: [], tries: 0, ...about };
}
