import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { type AgentConfig, sessionKindOf } from "@memslot/core";
import { replaceFile, unlessMissing } from "@memslot/core/files";
import { isObject, jsonOf } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation-messages.ts";
import { unlessLocked } from "../state-locks.ts";
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

/** The journal of a conversation in another program: messages are kept at once and digested when a part of it is over. */
export interface ConversationJournal {
  /** Adds messages that are new to it, on disk when it resolves. Returns how many they were. Throws `UNAVAILABLE`. */
  add(messages: readonly ConversationMessage[]): Promise<number>;
  /** Writes waiting messages into the logs of their days; undefined if none wait. Throws `WORKSPACE`. */
  digest(signal?: AbortSignal | undefined): Promise<ConversationDigest | undefined>;
  /** Number of entries that wait for a digest. */
  readonly waiting: number;
}

export interface ConversationDigest {
  readonly messages: number;
  /** `path#Lfrom-Lto` of what was written; empty if nothing was new. */
  readonly citations: readonly string[];
}

interface DigestPlan {
  readonly names: readonly string[];
  /** Set once the notes have the digest, and the entries can go. */
  readonly citations?: readonly string[] | undefined;
}

/** Opens the journal of a conversation. Undefined for groups and with the flush off. Throws `INVALID_ARGUMENT`. */
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

  const waiting = (): readonly string[] => journal.entryNames(sessionKey);

  async function digestOf(names: readonly string[], signal: AbortSignal): Promise<ConversationDigest> {
    const messages: ConversationMessage[] = [];
    // An entry with a digest belongs to the flush of a host.
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

/** Undefined if none was begun or the plan is damaged: then all waiting entries are one digest. */
async function readPlan(file: string): Promise<DigestPlan | undefined> {
  const plan = jsonOf(await readFile(file, "utf8").catch(unlessMissing));
  return isObject(plan) && Array.isArray(plan["names"]) ? (plan as unknown as DigestPlan) : undefined;
}
