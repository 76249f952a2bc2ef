import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { type AgentConfig, sessionKindOf } from "@memslot/core";
import { replaceFile, unlessMissing } from "@memslot/core/files";
import type { ConversationMessage } from "../conversation.ts";
import { unlessLocked } from "../failures.ts";
import { openFlushJournal, nameOf } from "./flush-journal.ts";
import { appendDigests, type ConversationOrigin } from "./flush-digest.ts";

export interface ConversationJournalOptions {
  readonly agent: AgentConfig;
  readonly stateDir: string;
  /** As a host names it; see `sessionKindOf`. */
  readonly sessionKey: string;
  readonly from: ConversationOrigin;
  readonly clock?: (() => Date) | undefined;
}

/** What was said in somebody else's program, piece by piece: kept at once, and noted as a whole when a part of it is over. */
export interface ConversationJournal {
  /** Takes messages that it does not hold yet, on disk when it resolves. Gives how many they were. Throws `UNAVAILABLE`. */
  add(messages: readonly ConversationMessage[]): Promise<number>;
  /**
   * Writes one digest a day of all that was taken since the last one into the daily logs, and lets the messages go to
   * where searches find them. Undefined where nothing waits, or another process is at it. However often it is broken off,
   * nothing is left out and nothing is written twice. Throws `WORKSPACE` where the log cannot be written: all of it waits.
   */
  digest(signal?: AbortSignal | undefined): Promise<ConversationDigest | undefined>;
  /** How many entries wait for a digest. */
  readonly waiting: number;
}

export interface ConversationDigest {
  readonly messages: number;
  /** `path#Lfrom-Lto` of what was written; none where nothing of it was news. */
  readonly citations: readonly string[];
}

/** What is being digested: the same entries give the same text, which is known again after a crash. */
interface DigestPlan {
  readonly names: readonly string[];
  /** The digest stands in the notes, and the entries can go. */
  readonly citations?: readonly string[] | undefined;
}

/**
 * The journal of one conversation that hooks report. Undefined where the agent keeps none (`memoryFlush.enabled`), or
 * others read along. Throws `INVALID_ARGUMENT` for a session of another agent.
 */
export async function openConversationJournal(
  options: ConversationJournalOptions,
): Promise<ConversationJournal | undefined> {
  const { agent, stateDir, sessionKey, from, clock = () => new Date() } = options;
  const { enabled, journalDays } = agent.compaction.memoryFlush;
  if (!enabled || sessionKindOf(sessionKey, agent.id, agent.ownerAllowFrom) === "group") return undefined;
  const journal = await openFlushJournal({ stateDir, agentId: agent.id, now: clock(), journalDays });
  const { sessionId } = from;
  const planFile = path.join(journal.folder, `${nameOf(sessionId)}.digest`);

  async function add(messages: readonly ConversationMessage[]): Promise<number> {
    const fresh = journal.unknownOf(sessionId, messages);
    if (fresh.length === 0) return 0;
    const createdAt = clock().toISOString();
    await journal.add({ sessionKey, sessionId, compactionCount: 0, createdAt, messages: fresh });
    return fresh.length;
  }

  const waiting = (): string[] => journal.entryNames().filter((name) => journal.keyOf(name) === sessionKey);

  async function digestOf(names: readonly string[], signal: AbortSignal): Promise<ConversationDigest> {
    const messages: ConversationMessage[] = [];
    // A digest of its own stands for one that another host has seen to.
    for (const name of names) {
      const record = await journal.read(name);
      if (record !== undefined && record.digest === undefined) messages.push(...record.messages);
    }
    const how = { cause: "no-model", from, timeZone: agent.userTimezone, fallbackTime: clock() } as const;
    const { citations } = await appendDigests(messages, { ...how, workspaceDir: agent.workspaceDir, signal });
    await writePlan({ names, citations });
    await finish({ names, citations });
    return { messages: messages.length, citations };
  }

  async function finish({ names }: DigestPlan): Promise<void> {
    for (const name of names) await journal.remove(name);
    await rm(planFile, { force: true });
  }

  const writePlan = (plan: DigestPlan): Promise<void> => replaceFile(planFile, `${JSON.stringify(plan)}\n`);

  return {
    add,
    async digest(signal = new AbortController().signal) {
      await journal.refresh();
      if (waiting().length === 0) return undefined;
      return await unlessLocked(planFile, signal, async () => {
        await journal.refresh();
        const done: ConversationDigest[] = [];
        const begun = await readPlan(planFile);
        if (begun?.citations !== undefined) await finish(begun);
        else if (begun !== undefined) done.push(await digestOf(begun.names, signal));
        const names = waiting();
        if (names.length > 0) {
          await writePlan({ names });
          done.push(await digestOf(names, signal));
        }
        if (done.length === 0) return undefined;
        return {
          messages: done.reduce((sum, each) => sum + each.messages, 0),
          citations: done.flatMap(({ citations }) => citations),
        };
      });
    },
    get waiting() {
      return waiting().length;
    },
  };
}

/** Undefined where none was begun, or a plan is damaged: then what waits is one digest. */
async function readPlan(file: string): Promise<DigestPlan | undefined> {
  const text = await readFile(file, "utf8").catch(unlessMissing);
  try {
    const plan = JSON.parse(text ?? "") as Partial<DigestPlan> | null;
    return Array.isArray(plan?.names) ? (plan as DigestPlan) : undefined;
  } catch {
    return undefined;
  }
}
