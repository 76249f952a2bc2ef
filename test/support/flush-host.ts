import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import {
  type ConversationMessage,
  type FlushTurn,
  type MemoryFlush,
  type Session,
  compactSession,
  createMemoryFlush,
  openSessions,
  runToolCall,
} from "@memslot/agent-kit";
import { estimateTokens } from "@memslot/indexing/host";
import { type AgentConfig, parseConfig } from "memslot";
import { expect, onTestFinished } from "vitest";
import type { House } from "./house.ts";

const sessionKey = "agent:main:main";

/** A small window, so that a conversation of a few messages fills it: a flush is due from 27,000 tokens. */
const contextWindowTokens = 32_000;
const compaction = { reserveTokensFloor: 4_000, memoryFlush: { softThresholdTokens: 1_000 } };

/** Talks with a user as an agent does, and answers every message with one sentence. */
export interface FlushHost {
  readonly session: Session;
  readonly flush: MemoryFlush;
  readonly shown: string[];
  /** Messages that compaction has taken out of the context. */
  readonly dropped: ConversationMessage[];
  /** Makes room first where the context would overflow. Resolves when the answer is written down. */
  ask(text: string): Promise<void>;
  close(): Promise<void>;
}

export interface FlushHostOptions {
  readonly house: House;
  readonly timeZone: string;
  readonly runTurn: FlushTurn | undefined;
  readonly clock: () => Date;
}

function flushAgent(house: House, timeZone: string): AgentConfig {
  const defaults = { workspace: house.notes, userTimezone: timeZone, compaction };
  return parseConfig({ agents: { defaults } }, { stateDir: house.stateDir, env: {} }).agent("main");
}

export async function startFlushHost({ house, timeZone, runTurn, clock }: FlushHostOptions): Promise<FlushHost> {
  const { stateDir } = house;
  const sessions = await openSessions({ stateDir, agentId: "main", clock });
  const session = await sessions.open(sessionKey);
  const flush = await createMemoryFlush({
    agent: flushAgent(house, timeZone),
    stateDir,
    session,
    memory: await house.open(),
    runTurn,
    contextWindowTokens,
    clock,
    retryDelaysMs: [0, 0],
  });
  const shown: string[] = [];
  const dropped: ConversationMessage[] = [];
  const contextTokens = (): number =>
    session.context.messages.reduce(
      (sum, { text }) => sum + estimateTokens(text),
      estimateTokens(session.context.summary ?? ""),
    );

  async function compact(): Promise<void> {
    const before = [...session.context.messages];
    await compactSession({ session, keepTokens: contextWindowTokens / 4, flush });
    const kept = new Set(session.context.messages.map(({ id }) => id));
    dropped.push(...before.filter(({ id }) => !kept.has(id)));
  }

  const host: FlushHost = {
    session,
    flush,
    shown,
    dropped,
    async ask(text) {
      await session.append({ role: "user", text });
      if (contextTokens() > contextWindowTokens) await compact();
      const said = `Understood: ${text.slice(0, 20)}`;
      await session.append({ role: "assistant", text: said });
      shown.push(said);
      const { compactionCount, memoryFlushCompactionCount, bytesSinceCompaction } = session.facts;
      flush.afterTurn(
        {
          contextTokens: contextTokens(),
          contextWindowTokens,
          compactionCount,
          memoryFlushCompactionCount,
          bytesSinceCompaction,
        },
        session.context.messages,
      );
    },
    async close() {
      await flush.close();
      await sessions.close();
    },
  };
  onTestFinished(() => host.close());
  return host;
}

/** The notes by name, as they are on disk. */
export function notesOf(house: House): Map<string, string> {
  const names = readdirSync(house.notes, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  return new Map(names.toSorted().map((name) => [name, readFileSync(path.join(house.notes, name), "utf8")]));
}

/** Ids of messages that are in the journal. */
export function journalIds(house: House): string[] {
  const folder = path.join(house.stateDir, "agents/main/flush");
  const names = readdirSync(folder).filter((name) => name.endsWith(".json") && !name.endsWith(".done.json"));
  return names.flatMap((name) => {
    const entry = JSON.parse(readFileSync(path.join(folder, name), "utf8")) as { messages: { id: string }[] };
    return entry.messages.map(({ id }) => id);
  });
}

/** What `sessions.json` says of the session. */
export function sessionRecord(house: House): Record<string, unknown> {
  const file = path.join(house.stateDir, "agents/main/sessions/sessions.json");
  const table = JSON.parse(readFileSync(file, "utf8")) as Record<string, Record<string, unknown>>;
  return table[sessionKey] ?? {};
}

/** One note for each message of the user, that names it. */
export async function noteAll({ messages, tools, signal }: Parameters<FlushTurn>[0]): Promise<void> {
  for (const { role, id } of messages) {
    if (role !== "user") continue;
    const input = { text: `The user said fact ${id}.`, kind: "daily" };
    await runToolCall(tools, { name: "memory_append", arguments: JSON.stringify(input) }, { signal });
  }
}

/** The words of a message of so many tokens. */
export function long(tokens: number, word: string): string {
  return `${word} `.repeat(Math.ceil((tokens * 4) / (word.length + 1)));
}

/** Every message that was dropped is in the journal. */
export function expectJournaled(host: FlushHost, house: House): void {
  const safe = new Set(journalIds(house));
  expect(host.dropped.filter(({ id }) => !safe.has(id))).toEqual([]);
}
