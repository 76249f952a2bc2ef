import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import type { ConversationMessage } from "../../conversation.ts";
import { FlushNotes } from "../turn/flush-notes.ts";
import type { FlushJournal } from "./flush-journal.ts";
import type { FlushReport } from "../turn/flush-report.ts";
import type { MessageSaver } from "./message-saver.ts";

const deadlineMs = 30_000;
/** How much of it a model may take; the rest is for the digest. */
const modelMs = 20_000;

/**
 * Saves messages to the notes at once, because the journal cannot be written: by the model with one try, and what it does
 * not take as a digest. Throws `UNAVAILABLE` where that fails as well: the messages are nowhere but in the conversation.
 */
export async function saveInline(options: {
  messages: readonly ConversationMessage[];
  session: { readonly key: string; readonly id: string };
  journal: FlushJournal;
  saver: MessageSaver;
  /** Why the journal cannot be written. */
  journalError: unknown;
  signals: readonly (AbortSignal | undefined)[];
  clock: () => Date;
}): Promise<FlushReport> {
  const { messages, session, journal, saver, signals } = options;
  const about = { messages: messages.length, days: saver.daysOf(messages) };
  const reason = `the journal cannot be written: ${messageOf(options.journalError)}`;
  const done = new Set<string>();
  const onDone = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) done.add(id);
    journal.markDoneHere(session.id, ids);
  };
  const notes = new FlushNotes([], saver.workspaceDir, async () => undefined);
  const entries: string[] = [];
  let tries = 0;
  try {
    return await withDeadline({ what: "saving the messages at once", deadlineMs, signals }, async (signal) => {
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
      entries.push(
        ...(await saver.digest(left, { cause: saver.hasModel ? "model-failed" : "no-model", everything: true }, signal))
          .citations,
      );
      await onDone(left.map(({ id }) => id));
      return { state: "digested", reason, entries, tries, ...about };
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new MemoryError(
      "UNAVAILABLE",
      `the messages must not be dropped: ${reason}, and they cannot be saved to the notes (${messageOf(error)}); free some space or check the rights of ${journal.folder}`,
      { cause: error },
    );
  }
}
