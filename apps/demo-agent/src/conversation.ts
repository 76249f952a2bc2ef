import { randomUUID } from "node:crypto";
import {
  type CitationsMode,
  type CompactionReport,
  type FlushReport,
  type FlushTurn,
  type MemoryFlush,
  type MemoryTool,
  type Session,
  type Sessions,
  type Summarize,
  compactSession,
  createMemoryFlush,
  createMemoryTools,
  editOptions,
  handedOver,
  openSessions,
} from "@memslot/agent-kit";
import { type AgentConfig, type Memory, MemoryError, type MemslotConfig, messageOf, withDeadline } from "@memslot/core";
import { flushLine } from "./format-flush-report.ts";
import { describeIndex } from "./open-notes.ts";

/** A longer flush continues in the background. */
const flushDeadlineMs = 150_000;

interface ConversationOptions {
  stateDir: string;
  config: MemslotConfig;
  agent: AgentConfig;
  sessionKey: string;
  memory: Memory | undefined;
  offReason?: string | undefined;
  contextWindowTokens: number;
  flushTurn: FlushTurn | undefined;
  clock: () => Date;
  notify: (line: string) => void;
}

export class Conversation {
  session: Session;
  memory: Memory | undefined;
  /** Why there is none. */
  offReason: string | undefined;
  readonly #options: ConversationOptions;
  readonly #sessions: Sessions;
  #flush: MemoryFlush | undefined;
  /** The next caller waits for it and gets its error. */
  #opening: Promise<MemoryFlush>;
  /** True while a caller waits for the report of a flush, which is then not repeated. */
  #isQuiet = false;

  private constructor(options: ConversationOptions, sessions: Sessions, session: Session) {
    this.#options = options;
    this.#sessions = sessions;
    this.session = session;
    this.memory = options.memory;
    this.offReason = options.offReason;
    this.#opening = this.#openFlush();
  }

  static async open(options: ConversationOptions): Promise<Conversation> {
    const { stateDir, agent, clock, notify } = options;
    const sessions = await openSessions({ stateDir, agentId: agent.id, clock, notify });
    try {
      const conversation = new Conversation(options, sessions, await openSession(sessions, options));
      await conversation.#opening;
      return conversation;
    } catch (error) {
      await sessions.close();
      throw error;
    }
  }

  get pendingFlushes(): number {
    return this.#flush?.status.pending ?? 0;
  }

  status(): { memory: string; session: string; flush: string } {
    const { key, facts, context } = this.session;
    const said = `${context.messages.length} messages since compaction ${facts.compactionCount}`;
    const report = this.#flush?.status.lastReport;
    return {
      memory: `Memory: ${this.memory === undefined ? `off, ${this.offReason}` : describeIndex(this.memory.status())}`,
      session: `Session: ${key}, ${said}, ${facts.file}`,
      flush: `Flush: ${this.pendingFlushes} pending${report === undefined ? "" : `. ${flushLine(report)}`}`,
    };
  }

  tools(citations: CitationsMode): MemoryTool[] {
    if (this.memory === undefined) return [];
    const { agent, config, clock } = this.#options;
    const append = { timeZone: agent.userTimezone, clock, secrets: agent.secrets };
    const wanted = editOptions(config, agent.id);
    const edit = wanted && { ...wanted, clock };
    return createMemoryTools({ memory: this.memory, citations, sessionKey: this.session.key, append, edit });
  }

  flush(): Promise<MemoryFlush> {
    return this.#opening;
  }

  async compactTo(
    keepTokens: number,
    summarize: Summarize | undefined,
    signal: AbortSignal,
  ): Promise<CompactionReport> {
    const flush = await this.#opening;
    return await compactSession({ session: this.session, keepTokens, flush, summarize, signal });
  }

  useMemory(memory: Memory | undefined, offReason: string | undefined): void {
    this.memory = memory;
    this.offReason = offReason;
    this.#reopenFlush();
  }

  async reset(signal: AbortSignal): Promise<({ session: Session } & Session["context"]) | undefined> {
    const flush = await this.#opening;
    const ended = this.session;
    const { context } = ended;
    await flush.beforeDrop(handedOver(ended.recorded), { signal });
    this.session = await this.#sessions.reset(ended.key);
    if (this.session === ended) return undefined;
    this.#reopenFlush();
    return { session: ended, ...context };
  }

  async save(signal: AbortSignal): Promise<FlushReport | undefined> {
    const flush = await this.#opening;
    this.#isQuiet = true;
    try {
      await flush.beforeDrop(handedOver(this.session.recorded), { signal });
      const limits = { what: "the memory flush", deadlineMs: flushDeadlineMs, signals: [signal] };
      return await withDeadline(limits, () => flush.settled());
    } finally {
      this.#isQuiet = false;
    }
  }

  async close(): Promise<void> {
    await this.#opening.catch(() => undefined);
    await this.#flush?.close();
    await this.#sessions.close();
  }

  async #openFlush(): Promise<MemoryFlush> {
    const { stateDir, agent, contextWindowTokens, clock, notify, flushTurn } = this.#options;
    const onReport = (report: FlushReport): void => void (this.#isQuiet || notify(flushLine(report)));
    const place = { stateDir, session: this.session, memory: this.memory, contextWindowTokens, clock };
    const own = this.memory === undefined ? withoutFlush(agent) : agent;
    this.#flush = await createMemoryFlush({ ...place, agent: own, runTurn: flushTurn, onReport });
    // Messages that an earlier run could not save.
    this.#flush.retry();
    return this.#flush;
  }

  /** After a change of session or memory. Unfinished work is in the journal, where the new one finds it. */
  #reopenFlush(): void {
    const closing = this.#opening.then((flush) => flush.close());
    this.#opening = closing.catch(() => undefined).then(() => this.#openFlush());
    // The next turn waits for it and gets the error.
    this.#opening.catch(() => undefined);
  }
}

async function openSession(sessions: Sessions, { sessionKey, agent, notify }: ConversationOptions): Promise<Session> {
  try {
    return await sessions.open(sessionKey);
  } catch (error) {
    if (!MemoryError.is(error, "BUSY")) throw error;
    const key = `agent:${agent.id}:tui:${randomUUID().slice(0, 8)}`;
    notify(`${messageOf(error)}; this is a session of its own, ${key}`);
    return await sessions.open(key);
  }
}

function withoutFlush({ compaction, ...agent }: AgentConfig): AgentConfig {
  return { ...agent, compaction: { ...compaction, memoryFlush: { ...compaction.memoryFlush, enabled: false } } };
}
