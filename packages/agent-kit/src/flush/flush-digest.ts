import { redactLines } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation.ts";
import { type LocalTime, localClock } from "../local-day.ts";
import { isNoReply, noReply } from "./flush-prompts.ts";
import { timeOf } from "./flush-groups.ts";

/** Why no model has chosen what to keep. */
export type DigestCause = "no-model" | "model-failed";

export interface DigestOptions {
  readonly cause: DigestCause;
  readonly timeZone: string;
  /** For messages without a time that can be read. */
  readonly fallbackTime: Date;
  /** For messages that are kept nowhere else. */
  readonly everything?: boolean | undefined;
}

const maxCharacters = 2_000;
const mereQuestion = /^[^.!?。！？\n]*[?？]$/;
const citesNotes = /#L\d+(?:-L?\d+)?(?!\d)/;
const maxOfMessage = 300;
/** What comes after this in a message cannot be in the digest. */
const maxRead = 20_000;

/**
 * The plain digest of what was said on one day, marked as such: what the user wrote and the first sentence of each
 * answer, without what looks like a secret. A mere question is left out, which would be found in place of its answer, and
 * so is an answer that cites notes, which must not become notes again; `everything` keeps them. The digest follows from
 * the messages alone, so that writing it a second time is recognised. Undefined where nothing is left.
 */
export function flushDigest(messages: readonly ConversationMessage[], options: DigestOptions): string | undefined {
  const clock = localClock(options.timeZone);
  const heading =
    options.cause === "no-model"
      ? "Digest of dropped messages (no model was available):"
      : "Digest of dropped messages (the model did not answer):";
  const moreOf = (count: number): string => `… and ${count} more messages in the journal`;
  const said = messages.filter(
    (message) =>
      message.role !== "tool" &&
      message.text.trim() !== "" &&
      !isNoReply(message.text) &&
      (options.everything === true || isNews(message)),
  );
  const lines = [heading];
  let room = maxCharacters - heading.length - moreOf(said.length).length - 1;
  for (const [index, message] of said.entries()) {
    const line = lineOf(message, clock(timeOf(message, options.fallbackTime)));
    if (line === undefined) continue;
    room -= line.length + 1;
    if (room < 0) {
      lines.push(moreOf(said.length - index));
      break;
    }
    lines.push(line);
  }
  return lines.length > 1 ? lines.join("\n") : undefined;
}

function isNews({ role, text }: ConversationMessage): boolean {
  return role === "user" ? !mereQuestion.test(text.trim()) : !citesNotes.test(text);
}

function lineOf(message: ConversationMessage, { time }: LocalTime): string | undefined {
  const text = message.text.slice(0, maxRead).replaceAll(/\r\n?/g, "\n");
  const plain = harmless(redactLines(text.split("\n")).join("\n"));
  const said = message.role === "user" ? plain : firstSentence(plain);
  return said === "" ? undefined : `- ${time} ${message.role}: ${cut(said)}`;
}

/** One line that means nothing else in a note: no comment, no sign that nobody sees, no sentinel. */
function harmless(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\s]+/gu, " ")
    .replaceAll(/<!-+/g, "<!")
    .replaceAll(/--!?>/g, "->")
    .replaceAll(noReply, "")
    .trim();
}

function firstSentence(text: string): string {
  return /^.+?(?:[.!?…](?=\s)|[。！？])/u.exec(text)?.[0] ?? text;
}

function cut(text: string): string {
  return text.length <= maxOfMessage
    ? text
    : `${text
        .slice(0, maxOfMessage - 1)
        .toWellFormed()
        .replace(/\uFFFD$/u, "")}…`;
}
