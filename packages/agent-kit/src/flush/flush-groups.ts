import { estimateTokens } from "@memslot/indexing/host";
import type { AssistantMessage, ConversationMessage, ToolMessage } from "../conversation.ts";
import { localClock } from "../edit/local-day.ts";

/** Messages of one local day that fit into one flush turn. */
export interface FlushGroup {
  readonly day: string;
  /** The time of the last message of the day in this group: the notes of the turn are dated with it. */
  readonly at: Date;
  /** As the model gets them. */
  readonly messages: readonly ConversationMessage[];
  /** Messages that are handed over in full once this turn is done. */
  readonly completes: readonly string[];
}

/** More of what a tool gave is not handed over: recalled notes must not become memory again. */
const maxToolText = 500;

/**
 * Cuts messages into flush turns: one for each local day, so that every note lands on the day of its event, and more
 * where a day has more than `maxTokens`. What a tool gave stays with the call. A single message above the limit is
 * handed over in pieces.
 */
export function flushGroups(
  messages: readonly ConversationMessage[],
  options: { timeZone: string; maxTokens: number; fallbackTime: Date },
): FlushGroup[] {
  const clock = localClock(options.timeZone);
  const dayOf = (message: ConversationMessage): string => clock(timeOf(message, options.fallbackTime)).day;
  const days = new Map<string, Unit[]>();
  for (const unit of unitsOf(messages)) {
    const [first] = unit;
    if (first === undefined) continue;
    const day = dayOf(first);
    const ofDay = days.get(day);
    if (ofDay === undefined) days.set(day, [unit]);
    else ofDay.push(unit);
  }
  return [...days].flatMap(([day, units]) => groupsOfDay(day, units, { ...options, dayOf }));
}

/** When a message was said; one without a time that can be read was said at `fallback`. */
export function timeOf(message: ConversationMessage, fallback: Date): Date {
  const at = new Date(message.at);
  return Number.isNaN(at.getTime()) ? fallback : at;
}

/** A message, or an answer with calls and all that its tools gave. */
type Unit = readonly ConversationMessage[];

function unitsOf(messages: readonly ConversationMessage[]): Unit[] {
  const answers = new Map<string, ToolMessage[]>();
  for (const message of messages)
    if (message.role === "tool") answers.set(message.toolCallId, [...(answers.get(message.toolCallId) ?? []), message]);
  const taken = new Set<string>();
  const units: Unit[] = [];
  for (const message of messages) {
    if (message.role === "assistant") {
      const answered = (message.toolCalls ?? []).filter(({ id }) => answers.has(id));
      const given = answered.flatMap(({ id }) => answers.get(id)?.slice(0, 1) ?? []).filter(({ id }) => !taken.has(id));
      for (const { id } of given) taken.add(id);
      units.push([withCalls(message, answered), ...given.map(shortened)]);
    } else if (message.role === "user") units.push([message]);
  }
  // What a tool gave to a call that is not here: no model takes it as such, so it is told in the assistant's words.
  const rest = messages.filter((message) => message.role === "tool" && !taken.has(message.id));
  if (rest.length === 0) return units;
  const orderOf = new Map(messages.map(({ id }, index) => [id, index]));
  for (const message of rest) if (message.role === "tool") units.push([retold(message)]);
  return units.toSorted((a, b) => (orderOf.get(a[0]?.id ?? "") ?? 0) - (orderOf.get(b[0]?.id ?? "") ?? 0));
}

/** Calls that nothing answers are left out: no model takes a conversation with one. */
function withCalls(message: AssistantMessage, answered: AssistantMessage["toolCalls"]): AssistantMessage {
  const { toolCalls: _, ...rest } = message;
  return answered === undefined || answered.length === 0 ? rest : { ...rest, toolCalls: answered };
}

function shortened(message: ToolMessage): ToolMessage {
  return { ...message, text: cut(message.text) };
}

function retold({ id, at, toolName, text }: ToolMessage): AssistantMessage {
  return { role: "assistant", id, at, text: `(${toolName} gave: ${cut(text)})` };
}

function cut(text: string): string {
  return text.length <= maxToolText ? text : `${text.slice(0, surrogateSafe(text, maxToolText - 1))}…`;
}

function groupsOfDay(
  day: string,
  units: readonly Unit[],
  {
    maxTokens,
    fallbackTime,
    dayOf,
  }: { maxTokens: number; fallbackTime: Date; dayOf: (m: ConversationMessage) => string },
): FlushGroup[] {
  const groups: FlushGroup[] = [];
  let messages: ConversationMessage[] = [];
  let completes: string[] = [];
  let tokens = 0;
  let latest = Number.NEGATIVE_INFINITY;
  const close = (): void => {
    if (messages.length === 0) return;
    // What a tool gave to a call may have come after midnight, and may be a group of its own.
    for (const message of messages)
      if (dayOf(message) === day) latest = Math.max(latest, timeOf(message, fallbackTime).getTime());
    groups.push({ day, at: new Date(latest), messages, completes });
    [messages, completes, tokens] = [[], [], 0];
  };
  for (const unit of units) {
    const size = tokensOf(unit);
    if (messages.length > 0 && tokens + size > maxTokens) close();
    if (size <= maxTokens) {
      messages.push(...unit);
      completes.push(...unit.map(({ id }) => id));
      tokens += size;
      continue;
    }
    for (const [index, pieces] of piecesOf(unit, maxTokens).entries()) {
      if (index > 0) close();
      messages.push(...pieces.messages);
      completes.push(...pieces.completes);
    }
    close();
  }
  close();
  return groups;
}

/** A unit that is too large, without its calls and each message in pieces. Every piece is a turn of its own. */
function piecesOf(unit: Unit, maxTokens: number): { messages: ConversationMessage[]; completes: string[] }[] {
  return unit.flatMap((message) => {
    const plain =
      message.role === "tool" ? retold(message) : message.role === "assistant" ? withCalls(message, []) : message;
    const texts = split(plain.text, maxTokens);
    return texts.map((text, index) => ({
      messages: [{ ...plain, text }],
      completes: index === texts.length - 1 ? [message.id] : [],
    }));
  });
}

/** Halves a text at the line or word end nearest to its middle until each piece is small enough. */
function split(text: string, maxTokens: number): string[] {
  if (estimateTokens(text) <= maxTokens || text.length < 2) return [text];
  const middle = Math.floor(text.length / 2);
  const near = text.slice(Math.floor(text.length / 4), middle);
  const breakAt = Math.max(near.lastIndexOf("\n"), near.includes("\n") ? -1 : near.lastIndexOf(" "));
  const index = breakAt < 0 ? surrogateSafe(text, middle) : Math.floor(text.length / 4) + breakAt + 1;
  return [...split(text.slice(0, index), maxTokens), ...split(text.slice(index), maxTokens)];
}

function surrogateSafe(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return index > 1 && unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}

/** A few tokens for what a request needs around each message. */
function tokensOf(unit: Unit): number {
  return unit.reduce((sum, message) => {
    const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    return (
      sum + 8 + estimateTokens(message.text) + estimateTokens(calls.map((call) => call.name + call.arguments).join(""))
    );
  }, 0);
}
