/** A conversation of an export. */
export interface Conversation {
  id: string;
  title: string;
  begun: Date | undefined;
  url: string;
  messages: Message[];
}

export interface Message {
  from: "user" | "assistant";
  at: Date | undefined;
  text: string;
}

/** Counts of excluded entries by reason. */
export type LeftOut = Map<string, number>;

export function leaveOut(leftOut: LeftOut, reason: string, count = 1): void {
  if (count > 0) leftOut.set(reason, (leftOut.get(reason) ?? 0) + count);
}

/** Reads one entry of an export; undefined for another kind, and for an empty conversation, which is counted. */
export type ReadConversation = (entry: unknown, leftOut: LeftOut) => Conversation | undefined;

export const notOne = "entries that are no conversation";

/** A conversation with messages; without a time of its own it gets that of its first message. */
export function ifSaid(conversation: Conversation, leftOut: LeftOut): Conversation | undefined {
  const [first] = conversation.messages;
  if (first !== undefined) return { ...conversation, begun: conversation.begun ?? first.at };
  leaveOut(leftOut, "conversations in which nothing was said");
  return undefined;
}

/** An object of the export, unchecked. */
export function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A moment in seconds since 1970, or as ISO 8601. */
export function momentOf(value: unknown): Date | undefined {
  const at = typeof value === "number" ? new Date(value * 1000) : new Date(textOf(value) || Number.NaN);
  return Number.isNaN(at.getTime()) ? undefined : at;
}
