import { type ImportedNote, localClock } from "@memslot/agent-kit";
import type { Conversation } from "./conversation.ts";

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
