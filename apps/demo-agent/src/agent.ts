import { type MemoryTool, type NewMessage, type Session, writeSessionNote } from "@memslot/agent-kit";
import { type AgentConfig, type CompactionSettings, type Memory, MemoryError, type MemslotConfig } from "@memslot/core";
import { estimateTokens } from "@memslot/indexing/host";
import { Conversation } from "./conversation.ts";
import type { ChatModel } from "./models/chat-model.ts";
import { fixedTokens, modelTasks, tokensOf } from "./models/model-tasks.ts";
import { runToolLoop } from "./models/tool-loop.ts";
import { flushLine } from "./format-flush-report.ts";
import { citationsOf, respond } from "./answers/responder.ts";
import { ShownAnswer } from "./answers/filter-no-reply.ts";
import { SourceLog } from "./answers/cited-sources.ts";
import { type SystemPrompt, buildSystemPrompt } from "./system-prompt.ts";

export interface AgentOptions {
  memory: Memory | undefined;
  offReason?: string | undefined;
  config: MemslotConfig;
  agent: AgentConfig;
  /** Folder of the transcripts, the session index and the flush journal. */
  stateDir: string;
  sessionKey: string;
  /** Without one the built-in responder answers, and the flush writes digests. */
  model?: ChatModel | undefined;
  /** The window without a model; 128,000 if left out. */
  contextWindowTokens?: number | undefined;
  clock?: (() => Date) | undefined;
  /** Receives notices for the user, a line each. */
  notify: (line: string) => void;
}

interface AskOptions {
  signal: AbortSignal;
  /** Receives the answer as it is streamed. */
  onText?: ((delta: string) => void) | undefined;
}

export interface Answer {
  text: string;
  sources: readonly string[];
  /** Whether memory was searched, also without a result. */
  searched: boolean;
}

export interface Agent {
  /** One turn. After an error the question is in the transcript and the next one can be asked. */
  ask(question: string, options: AskOptions): Promise<Answer>;
  flush(signal: AbortSignal): Promise<string>;
  compact(signal: AbortSignal): Promise<string>;
  newSession(signal: AbortSignal): Promise<string>;
  /** Uses another memory from the next turn on; the caller closes the old one. */
  useMemory(memory: Memory | undefined, offReason?: string): void;
  status(): string;
  readonly sources: readonly string[];
  readonly unanswered: string | undefined;
  readonly pendingFlushes: number;
  settled(): Promise<void>;
  /** Unfinished work stays in the journal. */
  close(): Promise<void>;
}

export async function createAgent(options: AgentOptions): Promise<Agent> {
  const { agent, model, notify, clock = () => new Date() } = options;
  const { userTimezone: timeZone, workspaceDir } = agent;
  const { citations } = options.config;
  const contextWindowTokens = model?.contextWindowTokens ?? options.contextWindowTokens ?? 128_000;
  const limitTokens = contextWindowTokens - reserveTokens(contextWindowTokens, agent.compaction);
  const tasks = model && modelTasks(model);
  const conversation = await Conversation.open({ ...options, contextWindowTokens, clock, flushTurn: tasks?.flushTurn });
  const log = new SourceLog();
  let sources: readonly string[] = [];
  let promptTokens = 0;

  const tools = (): MemoryTool[] => log.watch(conversation.tools(citations));
  async function nextPrompt(): Promise<SystemPrompt> {
    const given = tools();
    const about = { agent, citations, now: clock(), limitTokens };
    const prompt = await buildSystemPrompt(conversation.session, given, about);
    promptTokens = fixedTokens(prompt.text, model ? given : []);
    return prompt;
  }
  const contextTokens = (): number => Math.ceil(promptTokens + tokensOf(conversation.session.context.messages));

  async function answer(question: string, { signal, onText }: AskOptions): Promise<Pick<Answer, "text" | "searched">> {
    let prompt = await nextPrompt();
    if (contextTokens() > limitTokens) {
      const { dropped } = await conversation.compactTo(limitTokens / 4, tasks?.summarize, signal);
      // A long tool result in the last turn can fill it too; then there is nothing to compact.
      if (dropped > 0)
        notify(`The context window is full: ${dropped} older messages were saved and summarised before this turn.`);
      prompt = await nextPrompt();
    }
    const { session, memory, offReason } = conversation;
    if (tasks !== undefined) {
      const request = { system: prompt.text, tools: tools(), signal, onText };
      const [said, shown] = await sayWith(tasks.within(limitTokens), session, request);
      sources = log.behind(said, prompt.paths);
      return { text: shown, searched: log.searched };
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
      const flush = await conversation.flush();
      const { session } = conversation;
      const tokens = estimateTokens(question);
      if (tokens > limitTokens / 2) throw tooLong(tokens, contextWindowTokens);
      log.clear();
      sources = [];
      if (session.unanswered?.text !== question) await session.append({ role: "user", text: question });
      const { text, searched } = await answer(question, options);
      const state = { ...session.facts, contextTokens: contextTokens(), contextWindowTokens };
      flush.afterTurn(state, session.context.messages);
      return { text, sources, searched };
    },
    flush: async (signal) => {
      const report = await conversation.save(signal);
      return report === undefined ? "There is nothing that is not saved already." : flushLine(report);
    },
    compact: async (signal) => {
      const { dropped, summarizedBy } = await conversation.compactTo(0, tasks?.summarize, signal);
      if (dropped === 0) return "There is nothing to compact yet: the last turn always stays.";
      return `${dropped} messages are now a summary (by ${summarizedBy}); the memory flush has what they said.`;
    },
    newSession: async (signal) => {
      const ended = await conversation.reset(signal);
      if (ended === undefined) return "This session is new: nothing has been said in it.";
      const about = { ...ended, describe: tasks?.describe, workspaceDir, at: clock(), timeZone, signal };
      const { path, reason } = await writeSessionNote(about);
      return `This is a new session; the one before it has ${path === undefined ? `no note: ${reason}` : `a note, ${path}`}.`;
    },
    useMemory: (next, reason) => conversation.useMemory(next, reason),
    status: () => {
      const about = conversation.status();
      const context = `about ${contextTokens()} of ${contextWindowTokens} tokens; compaction at ${Math.round(limitTokens)}`;
      const answers = `Answers: ${model?.name ?? "the built-in responder"}`;
      return [about.memory, about.session, `Context: ${context}`, about.flush, answers].join("\n");
    },
    get sources() {
      return sources;
    },
    get unanswered() {
      return conversation.session.unanswered?.text;
    },
    get pendingFlushes() {
      return conversation.pendingFlushes;
    },
    settled: async () => void (await (await conversation.flush()).settled()),
    close: () => conversation.close(),
  };
}

/** Runs a model on a conversation; returns its full and its displayed text. Each message is recorded at once. */
async function sayWith(
  model: ChatModel,
  session: Session,
  request: { system: string; tools: MemoryTool[] } & AskOptions,
): Promise<[said: string, shown: string]> {
  const { signal, onText } = request;
  const shown = new ShownAnswer((delta) => onText?.(delta));
  const onMessage = async (message: NewMessage): Promise<void> => {
    await session.append(message);
    if (message.role !== "assistant" || !message.toolCalls || message.text === "") return;
    shown.end(message.text);
    onText?.("\n");
  };
  const { messages } = session.context;
  const { text } = await runToolLoop({
    ...request,
    model,
    messages,
    signal,
    onText: (delta) => shown.onText(delta),
    onMessage,
  });
  return [text, shown.end(text)];
}

/** Tokens reserved for the answer: as in the flush, less in a small window. */
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
