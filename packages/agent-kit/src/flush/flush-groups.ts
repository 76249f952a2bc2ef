import { estimateTokens } from "@memslot/indexing/host";
import { type ConversationMessage, handedOver, resultAsText, tokensOf, withCalls } from "../conversation-messages.ts";
import { localClock } from "../edit/local-day.ts";

export interface FlushGroup {
  readonly day: string;
  readonly at: Date;
  readonly messages: readonly ConversationMessage[];
  readonly completes: readonly string[];
}

/** Characters of a tool result that are handed over: recalled notes must not become memory again. */
const maxToolText = 500;

/** Splits messages into flush turns of one local day and at most `maxTokens`. A tool result stays with its call. */
export function flushGroups(
  messages: readonly ConversationMessage[],
  options: { timeZone: string; maxTokens: number; fallbackTime: Date },
): FlushGroup[] {
  const clock = localClock(options.timeZone);
  const timeIn = (message: ConversationMessage): Date => timeOf(message, options.fallbackTime);
  const dayOf = (message: ConversationMessage): string => clock(timeIn(message)).day;
  const days = Map.groupBy(unitsOf(messages), ([first]) => (first === undefined ? "" : dayOf(first)));
  return [...days].flatMap(([day, units]) => {
    let latest = Number.NEGATIVE_INFINITY;
    return packed(units, options.maxTokens).map((pack) => {
      // A tool result may have come after midnight, and may be a group of its own.
      for (const message of pack.messages)
        if (dayOf(message) === day) latest = Math.max(latest, timeIn(message).getTime());
      return { day, at: new Date(latest), ...pack };
    });
  });
}

/** The time of a message, `fallback` if it has no valid one. */
export function timeOf(message: ConversationMessage, fallback: Date): Date {
  const at = new Date(message.at);
  return Number.isNaN(at.getTime()) ? fallback : at;
}

type Unit = ConversationMessage[];

function unitsOf(messages: readonly ConversationMessage[]): Unit[] {
  const units: Unit[] = [];
  for (const message of handedOver(messages.map(withShortResult)))
    if (message.role === "tool") units.at(-1)?.push(message);
    else units.push([message]);
  return units;
}

function withShortResult(message: ConversationMessage): ConversationMessage {
  const { role, text } = message;
  if (role !== "tool" || text.length <= maxToolText) return message;
  return { ...message, text: `${text.slice(0, surrogateSafe(text, maxToolText - 1))}…` };
}

type Pack = Pick<FlushGroup, "messages" | "completes">;

function packed(units: readonly Unit[], maxTokens: number): Pack[] {
  const packs: Pack[] = [];
  let open: ConversationMessage[] = [];
  let tokens = 0;
  const close = (): void => {
    if (open.length > 0) packs.push({ messages: open, completes: open.map(({ id }) => id) });
    [open, tokens] = [[], 0];
  };
  for (const unit of units) {
    const size = tokensOf(unit);
    if (tokens + size > maxTokens) close();
    if (size > maxTokens) packs.push(...piecesOf(unit, maxTokens));
    else {
      open.push(...unit);
      tokens += size;
    }
  }
  close();
  return packs;
}

function piecesOf(unit: Unit, maxTokens: number): Pack[] {
  return unit.flatMap((message) => {
    const plain =
      message.role === "tool" ? resultAsText(message) : message.role === "assistant" ? withCalls(message, []) : message;
    const texts = split(plain.text, maxTokens);
    return texts.map((text, index) => ({
      messages: [{ ...plain, text }],
      completes: index === texts.length - 1 ? [message.id] : [],
    }));
  });
}

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
