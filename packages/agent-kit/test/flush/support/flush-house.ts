import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type AgentConfig, parseConfig } from "@memslot/core";
import { createWorkspace } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import {
  type AssistantMessage,
  type ConversationMessage,
  type FlushReport,
  type FlushSession,
  type FlushTurn,
  type MemoryFlush,
  type MemoryFlushOptions,
  type UserMessage,
  createMemoryFlush,
  runToolCall,
} from "@memslot/agent-kit";
import { fakeMemory } from "../../support/fake-memory.ts";

const sessionKey = "agent:main:main";

/** A workspace, a state folder and a session whose record is kept in memory. */
export interface FlushHouse {
  readonly workspaceDir: string;
  readonly stateDir: string;
  readonly journalDir: string;
  readonly session: FlushSession & { readonly record: Record<string, unknown> };
  readonly reports: FlushReport[];
  agentWith(compaction: Record<string, unknown>): AgentConfig;
  /** A flush of the session: without a model, unless one is given. */
  open(options?: Partial<MemoryFlushOptions>): Promise<MemoryFlush>;
  /** Hands messages over to a new flush and waits for its report. */
  drop(
    messages: readonly ConversationMessage[],
    options?: Partial<MemoryFlushOptions>,
  ): Promise<{ flush: MemoryFlush; report: FlushReport | undefined }>;
  /** Works the journal off as the next process does. */
  workOff(runTurn: FlushTurn, options?: Partial<MemoryFlushOptions>): Promise<FlushReport | undefined>;
  /** Makes the journal impossible to write. */
  blockJournal(): void;
  /** Names in the journal with this ending. */
  journal(ending?: string): string[];
  note(day: string): string;
  notes(): string;
}

export function useFlushHouse({
  timeZone = "Europe/Amsterdam",
  key = sessionKey,
}: { timeZone?: string; key?: string } = {}): FlushHouse {
  const { workspaceDir, stateDir } = createWorkspace();
  const journalDir = path.join(stateDir, "agents/main/flush");
  mkdirSync(path.join(workspaceDir, "memory"));
  const agentWith = (compaction: Record<string, unknown>): AgentConfig =>
    parseConfig(
      { agents: { defaults: { workspace: workspaceDir, userTimezone: timeZone, compaction } } },
      { stateDir, env: {} },
    ).agent("main");
  const session = fakeSession(key);
  const reports: FlushReport[] = [];
  const agent = agentWith({});
  const read = (name: string): string => {
    try {
      return readFileSync(path.join(workspaceDir, name), "utf8");
    } catch {
      return "";
    }
  };
  async function open(options: Partial<MemoryFlushOptions> = {}): Promise<MemoryFlush> {
    const flush = await createMemoryFlush({
      agent,
      stateDir,
      session,
      memory: fakeMemory({ workspaceDir }),
      onReport: (report) => void reports.push(report),
      retryDelaysMs: [0, 0],
      ...options,
    });
    onTestFinished(() => flush.close());
    return flush;
  }
  return {
    workspaceDir,
    stateDir,
    journalDir,
    session,
    reports,
    agentWith,
    open,
    async drop(messages, options) {
      const flush = await open(options);
      await flush.beforeDrop(messages);
      return { flush, report: await flush.settled() };
    },
    async workOff(runTurn, options) {
      return await retry(await open({ runTurn, ...options }));
    },
    blockJournal() {
      mkdirSync(path.join(stateDir, "agents"), { recursive: true });
      writeFileSync(path.join(stateDir, "agents/main"), "not a folder");
    },
    journal(ending = ".json") {
      try {
        return readdirSync(journalDir).filter(
          (name) => name.endsWith(ending) && (ending !== ".json" || !name.endsWith(".done.json")),
        );
      } catch {
        return [];
      }
    },
    note: (day) => read(`memory/${day}.md`),
    notes: () =>
      ["MEMORY.md", ...readdirSync(path.join(workspaceDir, "memory")).map((name) => `memory/${name}`)]
        .map(read)
        .join(""),
  };
}

/** Tries again and waits for the report. */
export async function retry(flush: MemoryFlush): Promise<FlushReport | undefined> {
  flush.retry();
  return await flush.settled();
}

/** A session whose record a test can read. */
function fakeSession(key: string, id = "5f3c"): FlushSession & { readonly record: Record<string, unknown> } {
  const record: Record<string, unknown> = {};
  return {
    key,
    id,
    record,
    get facts() {
      const at = record["memoryFlushCompactionCount"];
      return {
        key,
        id,
        file: "/nowhere.jsonl",
        updatedAt: "2026-03-05T10:00:00.000Z",
        compactionCount: 0,
        transcriptBytes: 0,
        bytesSinceCompaction: 0,
        memoryFlushCompactionCount: typeof at === "number" ? at : undefined,
      };
    },
    async update(patch) {
      Object.assign(record, patch);
    },
  };
}

export function user(id: string, text: string, at = "2026-03-05T10:00:00.000Z"): UserMessage {
  return { role: "user", id, at, text };
}

export function assistant(id: string, text: string, at = "2026-03-05T10:00:05.000Z"): AssistantMessage {
  return { role: "assistant", id, at, text };
}

/** A model that notes every user text, one entry each, and then says that it is done. */
export const noteTaker: FlushTurn = async ({ messages, tools, signal }) => {
  for (const message of messages)
    if (message.role === "user")
      await runToolCall(
        tools,
        { name: "memory_append", arguments: JSON.stringify({ text: message.text, kind: "daily" }) },
        { signal },
      );
  return "NO_REPLY";
};

/** The model `turn`, with the requests that it got. */
export function watching(turn: FlushTurn): FlushTurn & { readonly given: Parameters<FlushTurn>[0][] } {
  const given: Parameters<FlushTurn>[0][] = [];
  return Object.assign(
    async (request: Parameters<FlushTurn>[0]) => {
      given.push(request);
      return await turn(request);
    },
    { given },
  );
}

/** The usual conversation. */
export const talk: readonly (UserMessage | AssistantMessage)[] = [
  user("u1", "The boat is called Heron."),
  assistant("a1", "A good name. I like it."),
];

export const down: FlushTurn = async () => {
  throw new Error("503 the model is down");
};

/** The only entry of the journal on disk. */
export function entryOf(house: FlushHouse): Record<string, unknown> {
  const [name = ""] = house.journal();
  return JSON.parse(readFileSync(path.join(house.journalDir, name), "utf8")) as Record<string, unknown>;
}

/** A model that does each of these in turn, and the last one for ever. */
export function inTurn(...turns: readonly FlushTurn[]): ReturnType<typeof watching> {
  let index = 0;
  return watching((turn) => (turns[Math.min(index++, turns.length - 1)] ?? down)(turn));
}
