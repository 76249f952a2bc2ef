import { type ImportedNote, localClock } from "@memslot/agent-kit";

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

/** Headings of a message are lowered below that of its speaker. */
const lowerBy = 2;
const deepest = 6;

/** Makes the notes of conversations: messages in order, under headings with speaker and time. */
export function createNoteMaker(input: { product: string; timeZone: string }): (from: Conversation) => ImportedNote {
  const clock = localClock(input.timeZone);
  return ({ id, title, begun, url, messages }) => {
    const day = begun && clock(begun).day;
    const said = messages.map(({ from, at, text }) => {
      const when = at && clock(at);
      const who = from === "user" ? "User" : input.product;
      return `## ${who}${when ? `, ${when.day} ${when.time}` : ""}\n\n${below(text.trim())}`;
    });
    return { id, title, day, url, text: `[Conversation with ${input.product}](${url})\n\n${said.join("\n\n")}` };
  };
}

/** A message that cannot change the structure of the note: headings lowered, open blocks closed. */
export function below(text: string): string {
  let fence: string | undefined;
  const lines = text.split(/\r\n?|\n/u).map((line) => {
    const [, marks = ""] = /^ {0,3}(`{3,}|~{3,})/u.exec(line) ?? [];
    if (fence === undefined && marks !== "") fence = marks;
    else if (fence !== undefined) {
      const closes = marks.startsWith(fence) && line.trim() === marks;
      if (closes) fence = undefined;
      return line;
    }
    // A line of dashes or equals signs would make a heading of the line above it.
    if (/^ {0,3}(?:-+|=+) *$/u.test(line)) return `\\${line.trimStart()}`;
    return line.replace(/^( {0,3})(#{1,6})(?=[ \t]|$)/u, (_, space: string, signs: string) => {
      return space + "#".repeat(Math.min(deepest, signs.length + lowerBy));
    });
  });
  return fence === undefined ? lines.join("\n") : `${lines.join("\n")}\n${fence}`;
}
