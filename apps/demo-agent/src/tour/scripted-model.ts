import { formatCitation, type NewMessage, type ToolCall } from "@memslot/agent-kit";
import { estimateTokens } from "@memslot/indexing/host";
import type { ChatModel, ModelReply } from "../models/chat-model.ts";

export interface SearchAnswer {
  readonly state: string;
  readonly warning?: string;
  readonly debug: { readonly mode: string };
  /** Undefined in an answer that was cut to fit the window. */
  readonly results?: readonly {
    path: string;
    startLine: number;
    endLine: number;
    score: number;
    snippet: string;
  }[];
}

/** A request as the model got it; `text`: system text and all messages. */
interface SeenRequest {
  readonly kind: "reply" | "flush" | "summary";
  readonly tokens: number;
  readonly text: string;
}

/** A scripted chat model, so that the tour needs no key. */
export interface ScriptedModel extends ChatModel {
  readonly seen: readonly SeenRequest[];
  readonly lastSearch: SearchAnswer | undefined;
  /** Holds flush turns until `release`; `begun` resolves when the first one has started. */
  holdFlushes(): { readonly begun: Promise<void>; readonly release: () => void };
}

const smallTalk =
  "That sounds good. We could begin with the part that takes longest, look at the weather before the weekend, and leave the rest for a quiet evening. ";

/** Questions are searched and answered with the best line; a flush appends sentences with "For the record:". */
export function createScriptedModel(contextWindowTokens: number): ScriptedModel {
  const seen: SeenRequest[] = [];
  let lastSearch: SearchAnswer | undefined;
  let calls = 0;
  let hold: { begin: () => void; end: Promise<void>; release: () => void } | undefined;
  const call = (name: string, input: object): ToolCall => {
    calls += 1;
    return { id: `call-${calls}`, name, arguments: JSON.stringify(input) };
  };

  const flushed = (messages: readonly NewMessage[]): Partial<ModelReply> => {
    if (messages.at(-1)?.role === "tool") return { text: "NO_REPLY" };
    const facts = messages.flatMap(({ text }) =>
      [...text.matchAll(/For the record: (.+?\.)/g)].map(([, fact]) => fact),
    );
    if (facts.length === 0) return { text: "NO_REPLY" };
    return { toolCalls: [...new Set(facts)].map((text) => call("memory_append", { text, kind: "daily" })) };
  };

  const replied = (messages: readonly NewMessage[]): Partial<ModelReply> => {
    const question = messages.findLast(({ role }) => role === "user")?.text ?? "";
    const last = messages.at(-1);
    if (last?.role === "tool") {
      lastSearch = JSON.parse(last.text) as SearchAnswer;
      return { text: quoted(question, lastSearch) };
    }
    return question.endsWith("?")
      ? { toolCalls: [call("memory_search", { query: question, debug: true })] }
      : { text: smallTalk.repeat(6).trim() };
  };

  return {
    name: "a scripted model",
    contextWindowTokens,
    seen,
    get lastSearch() {
      return lastSearch;
    },
    holdFlushes: () => {
      const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const release = (): void => {
        hold = undefined;
        end.resolve();
      };
      // Of a failed step.
      hold?.release();
      hold = { begin: begun.resolve, end: end.promise, release };
      return { begun: begun.promise, release };
    },
    complete: async ({ system, messages, tools, signal, onText }) => {
      signal.throwIfAborted();
      const text = [system, ...messages.map((message) => message.text)].join("\n");
      const names = tools.map(({ name }) => name);
      const kind = names.includes("memory_get") ? "reply" : names.includes("memory_append") ? "flush" : "summary";
      seen.push({ kind, tokens: Math.ceil(estimateTokens(text)), text });
      if (kind === "flush" && hold !== undefined) {
        hold.begin();
        await Promise.race([hold.end, aborted(signal)]);
        signal.throwIfAborted();
      }
      const summary = { text: "They talked about the garden and the coming weekend." };
      const reply = { flush: flushed, reply: replied, summary: () => summary }[kind](messages);
      if (reply.text !== undefined) onText?.(reply.text);
      return { text: "", toolCalls: [], ...reply };
    },
    close: async () => undefined,
  };
}

function quoted(question: string, { results = [], state, warning }: SearchAnswer): string {
  const [best] = results;
  const caveat = state === "ok" ? "" : ` (${warning})`;
  if (best === undefined) return `My notes hold nothing on this.${caveat}`;
  const asked = wordsOf(question);
  const shared = (line: string): number => wordsOf(line).intersection(asked).size;
  const lines = best.snippet.split("\n").filter((line) => line.startsWith("- "));
  const [line = best.snippet] = lines.toSorted((left, right) => shared(right) - shared(left));
  return `${line.replace("- ", "")} (${formatCitation(best)})${caveat}`;
}

export function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
