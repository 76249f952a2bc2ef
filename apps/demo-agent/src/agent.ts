import { randomUUID } from "node:crypto";
import {
  type CompactionReport,
  type FlushReport,
  type MemoryFlush,
  type MemoryTool,
  type NewMessage,
  type Session,
  compactSession,
  createMemoryFlush,
  createMemoryTools,
  handedOver,
  openSessions,
  writeSessionNote,
} from "@memslot/agent-kit";
import {
  type AgentConfig,
  type CompactionSettings,
  type Memory,
  MemoryError,
  type MemslotConfig,
  messageOf,
  sessionKindOf,
  withDeadline,
} from "@memslot/core";
import { estimateTokens } from "@memslot/indexing/host";
import { type ChatModel } from "./models/chat-model.ts";
import { fixedTokens, modelTasks, tokensOf } from "./models/model-tasks.ts";
import { runToolLoop } from "./models/tool-loop.ts";
import { flushLine } from "./flush-line.ts";
import { describeIndex } from "./open-notes.ts";
import { citationsOf, respond } from "./answers/responder.ts";
import { createShownAnswer } from "./answers/shown-answer.ts";
import { createSourceLog } from "./answers/sources.ts";
import { type SystemPrompt, buildSystemPrompt } from "./system-prompt.ts";

export interface AgentOptions {
  /** Undefined where memory is off. */
  memory: Memory | undefined;
  /** Why it is off. */
  offReason?: string | undefined;
  config: MemslotConfig;
  agent: AgentConfig;
  /** Where the transcripts, the session index and the journal of the flush are kept. */
  stateDir: string;
  sessionKey: string;
  /** Without one the built-in responder answers, and the flush writes digests. */
  model?: ChatModel | undefined;
  /** The window to keep to where there is no model; 128,000 if left out. */
  contextWindowTokens?: number | undefined;
  clock?: (() => Date) | undefined;
  /** Takes what people should know and did not ask for, a line each. */
  notify: (line: string) => void;
}

interface AskOptions {
  signal: AbortSignal;
  /** Gets the answer as it comes. */
  onText?: ((delta: string) => void) | undefined;
}

export interface Answer {
  text: string;
  /** Citations of what it rests on. */
  sources: readonly string[];
  /** Whether memory was asked for it, also where it rests on nothing that was found. */
  searched: boolean;
}

export interface Agent {
  /** One turn. Whatever is thrown, the question is in the transcript and the next one can be asked. */
  ask(question: string, options: AskOptions): Promise<Answer>;
  /** Has the conversation saved to memory now. Gives a line that says what came of it, as the next two do. */
  flush(signal: AbortSignal): Promise<string>;
  compact(signal: AbortSignal): Promise<string>;
  newSession(signal: AbortSignal): Promise<string>;
  /** Another memory from the next turn on; who opened the old one closes it. */
  useMemory(memory: Memory | undefined, offReason?: string): void;
  status(): string;
  /** What the last answer rests on. */
  readonly sources: readonly string[];
  /** A question that a run before this one did not come to answer. */
  readonly unanswered: string | undefined;
  readonly pendingFlushes: number;
  /** Waits for the flush that is running. */
  settled(): Promise<void>;
  /** What is not done by then stays in the journal. */
  close(): Promise<void>;
}

/** A flush that takes longer than this goes on behind. */
const flushDeadlineMs = 150_000;

export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { config, agent, stateDir, model, notify, clock = () => new Date() } = options;
  const { userTimezone: timeZone, workspaceDir } = agent;
  const contextWindowTokens = model?.contextWindowTokens ?? options.contextWindowTokens ?? 128_000;
  const limitTokens = contextWindowTokens - reserveTokens(contextWindowTokens, agent.compaction);
  const tasks = model && modelTasks(model);
  const log = createSourceLog();
  let { memory, offReason } = options;
  let sources: readonly string[] = [];
  /** Of the last request, before its first message. */
  let promptTokens = 0;
  /** While somebody waits for the report of a flush, it is not told twice. */
  let quiet = false;

  const sessions = await openSessions({ stateDir, agentId: agent.id, clock, notify });
  let session = await openSession();
  let flush: MemoryFlush;
  let opening = openFlush();
  await opening.catch(async (error: unknown) => {
    await sessions.close();
    throw error;
  });

  async function openSession(): Promise<Session> {
    try {
      return await sessions.open(options.sessionKey);
    } catch (error) {
      if (!MemoryError.is(error, "BUSY")) throw error;
      const key = `agent:${agent.id}:tui:${randomUUID().slice(0, 8)}`;
      notify(`${messageOf(error)}; this is a session of its own, ${key}`);
      return await sessions.open(key);
    }
  }

  async function openFlush(): Promise<void> {
    const onReport = (report: FlushReport): void => void (quiet || notify(flushLine(report)));
    const place = { stateDir, session, memory, contextWindowTokens, clock };
    const own = memory === undefined ? withoutFlush(agent) : agent;
    flush = await createMemoryFlush({ ...place, agent: own, runTurn: tasks?.flushTurn, onReport });
    // What a run before this one could not save.
    flush.retry();
  }

  /** After the session or the memory changed. What the old one was at is in the journal, where the new one finds it. */
  function reopenFlush(): void {
    const closing = opening.then(() => flush.close());
    opening = closing.catch(() => undefined).then(openFlush);
    // The next turn waits for it and has the error.
    opening.catch(() => undefined);
  }

  const toolsOf = (): MemoryTool[] => {
    if (memory === undefined) return [];
    const { citations } = config;
    return log.watch(createMemoryTools({ memory, citations, sessionKey: session.key, append: { timeZone, clock } }));
  };

  /** The prompt of the next request. */
  async function nextPrompt(): Promise<SystemPrompt> {
    const tools = toolsOf();
    const prompt = await buildSystemPrompt({
      workspaceDir,
      kind: sessionKindOf(session.key, agent.id, agent.ownerAllowFrom),
      toolNames: tools.map(({ name }) => name),
      citations: config.citations,
      now: clock(),
      timeZone,
      summary: session.context.summary,
      budgetChars: Math.min(20_000, Math.round(limitTokens)),
    });
    promptTokens = fixedTokens(prompt.text, model ? tools : []);
    return prompt;
  }
  const contextTokens = (): number => Math.ceil(promptTokens + tokensOf(session.context.messages));

  const compactTo = (keepTokens: number, signal: AbortSignal): Promise<CompactionReport> =>
    compactSession({ session, keepTokens, flush, summarize: tasks?.summarize, signal });

  async function answer(question: string, { signal, onText }: AskOptions): Promise<Pick<Answer, "text" | "searched">> {
    let prompt = await nextPrompt();
    if (contextTokens() > limitTokens) {
      const { dropped } = await compactTo(limitTokens / 4, signal);
      // A long answer of a tool in the last turn fills it as well, and then there is nothing to compact.
      if (dropped > 0)
        notify(`The context window is full: ${dropped} older messages were saved and summarised before this turn.`);
      prompt = await nextPrompt();
    }
    if (tasks !== undefined) {
      const { messages } = session.context;
      const shown = createShownAnswer((delta) => onText?.(delta));
      const onMessage = async (message: NewMessage): Promise<void> => {
        await session.append(message);
        // Words before a tool call are no part of the answer.
        if (message.role !== "assistant" || !message.toolCalls || message.text === "") return;
        shown.end(message.text);
        onText?.("\n");
      };
      const request = { system: prompt.text, messages, tools: toolsOf(), signal, onText: shown.onText, onMessage };
      const { text } = await runToolLoop({ ...request, model: tasks.within(limitTokens) });
      sources = log.behind(text, prompt.paths);
      return { text: shown.end(text), searched: log.searched };
    }
    const text = await respond(question, { memory, offReason, signal });
    signal.throwIfAborted();
    await session.append({ role: "assistant", text });
    onText?.(text);
    sources = citationsOf(text);
    return { text, searched: memory !== undefined };
  }

  return {
    ask: async (question, options) => {
      options.signal.throwIfAborted();
      await opening;
      const tokens = estimateTokens(question);
      if (tokens > limitTokens / 2) throw tooLong(tokens, contextWindowTokens);
      log.clear();
      sources = [];
      // A question that was not answered is in the transcript already.
      if (session.unanswered?.text !== question) await session.append({ role: "user", text: question });
      const { text, searched } = await answer(question, options);
      const state = { ...session.facts, contextTokens: contextTokens(), contextWindowTokens };
      flush.afterTurn(state, session.context.messages);
      return { text, sources, searched };
    },
    flush: async (signal) => {
      await opening;
      quiet = true;
      try {
        await flush.beforeDrop(handedOver(session.recorded), { signal });
        const limits = { what: "the memory flush", deadlineMs: flushDeadlineMs, signals: [signal] };
        const report = await withDeadline(limits, () => flush.settled());
        return report === undefined ? "There is nothing that is not saved already." : flushLine(report);
      } finally {
        quiet = false;
      }
    },
    compact: async (signal) => {
      await opening;
      const { dropped, summarizedBy } = await compactTo(0, signal);
      if (dropped === 0) return "There is nothing to compact yet: the last turn always stays.";
      return `${dropped} messages are now a summary (by ${summarizedBy}); the memory flush has what they said.`;
    },
    newSession: async (signal) => {
      await opening;
      const closed = session;
      const { messages, summary } = closed.context;
      await flush.beforeDrop(handedOver(closed.recorded), { signal });
      session = await sessions.reset(closed.key);
      if (session === closed) return "This session is new: nothing has been said in it.";
      reopenFlush();
      const about = { session: closed, messages, summary, describe: tasks?.describe };
      const { path, reason } = await writeSessionNote({ ...about, workspaceDir, at: clock(), timeZone, signal });
      return `This is a new session; the one before it has ${path === undefined ? `no note: ${reason}` : `a note, ${path}`}.`;
    },
    useMemory: (next, reason) => {
      [memory, offReason] = [next, reason];
      reopenFlush();
    },
    status: () => {
      const { key, facts, context } = session;
      const { pending, lastReport } = flush.status;
      return [
        `Memory: ${memory === undefined ? `off, ${offReason}` : describeIndex(memory.status())}`,
        `Session: ${key}, ${context.messages.length} messages since compaction ${facts.compactionCount}, ${facts.file}`,
        `Context: about ${contextTokens()} of ${contextWindowTokens} tokens; compaction at ${Math.round(limitTokens)}`,
        `Flush: ${pending} pending${lastReport === undefined ? "" : `. ${flushLine(lastReport)}`}`,
        `Answers: ${model?.name ?? "the built-in responder"}`,
      ].join("\n");
    },
    get sources() {
      return sources;
    },
    get unanswered() {
      return session.unanswered?.text;
    },
    get pendingFlushes() {
      return flush.status.pending;
    },
    settled: async () => {
      await opening;
      await flush.settled();
    },
    close: async () => {
      await opening.catch(() => undefined);
      await flush.close();
      await sessions.close();
    },
  };
}

/** Memory that is off is not written to either. */
function withoutFlush({ compaction, ...agent }: AgentConfig): AgentConfig {
  return { ...agent, compaction: { ...compaction, memoryFlush: { ...compaction.memoryFlush, enabled: false } } };
}

/** What is kept free for the answer. As the flush does: where the two figures need more than half of a small window, less. */
function reserveTokens(window: number, { reserveTokensFloor, memoryFlush }: CompactionSettings): number {
  const wanted = reserveTokensFloor + memoryFlush.softThresholdTokens;
  return reserveTokensFloor * Math.min(1, window / 2 / wanted);
}

function tooLong(tokens: number, windowTokens: number): MemoryError {
  const size = `about ${Math.round(tokens)} tokens do not fit into a context window of ${windowTokens}`;
  return new MemoryError(
    "INVALID_ARGUMENT",
    `the question is too long: ${size}; ask in parts, or put the text into a note`,
  );
}
