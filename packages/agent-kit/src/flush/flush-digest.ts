import { visibleText } from "@memslot/core";
import { redactSecrets } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation-messages.ts";
import { appendNote } from "../edit/append-note.ts";
import { localClock, localTime } from "../edit/local-day.ts";
import { withoutPromptMarks } from "../edit/validate-note.ts";
import { timeOf, flushGroups } from "./flush-groups.ts";
import type { FlushNote } from "./flush-journal.ts";
import { isNoReply, noReply } from "./flush-prompts.ts";
import { mostlySaid } from "./compare-facts.ts";

/** The origin of a conversation, which its digest names. */
export interface ConversationOrigin {
  readonly client: string;
  readonly sessionId: string;
  readonly project?: string | undefined;
}

export interface DigestOptions {
  readonly cause: "no-model" | "model-failed";
  readonly timeZone: string;
  /** For messages without a valid time. */
  readonly fallbackTime: Date;
  readonly everything?: boolean | undefined;
  /** Earlier notes from these messages. */
  readonly notes?: readonly string[] | undefined;
  /** Set for a conversation in another program. */
  readonly from?: ConversationOrigin | undefined;
}

const maxCharacters = 2_000;
const maxCharactersOfEach = 7_000;
const mereQuestion = /^[^.!?。！？\n]*[?？]$/;
const citesNotes = /#L\d+(?:-L?\d+)?(?!\d)/;
const maxOfMessage = 300;
const maxRead = 20_000;

interface FlushDigest {
  readonly text: string;
  readonly said: readonly string[];
}

/**
 * The digest of one day: the user's messages and the first sentence of each answer, secrets masked, without mere
 * questions, answers that cite notes, and what `notes` say. Deterministic, so that a second write is recognised.
 */
function flushDigests(messages: readonly ConversationMessage[], options: DigestOptions): FlushDigest[] {
  const { everything = false, notes = [] } = options;
  const clock = localClock(options.timeZone);
  const heading = headingOf(options);
  const moreOf = (count: number): string => `… and ${count} more messages in the journal`;
  const said = messages.filter(
    (message) =>
      message.role !== "tool" &&
      message.text.trim() !== "" &&
      !isNoReply(message.text) &&
      (everything || (isNews(message) && !mostlySaid(notes, message.text))),
  );
  const digests: { lines: string[]; said: string[] }[] = [];
  const budget = (everything ? maxCharactersOfEach : maxCharacters) - heading.length - moreOf(said.length).length - 1;
  let left = 0;
  for (const [index, message] of said.entries()) {
    const { time } = clock(timeOf(message, options.fallbackTime));
    for (const text of textsOf(message, everything)) {
      const line = `- ${time} ${message.role}: ${text}`;
      const open = digests.at(-1);
      left -= line.length + 1;
      if (open !== undefined && left < 0 && !everything) {
        open.lines.push(moreOf(said.length - index));
        return digests.map(digestOf);
      }
      if (open === undefined || left < 0) {
        digests.push({ lines: [heading, line], said: [text] });
        left = budget - line.length - 1;
      } else {
        open.lines.push(line);
        open.said.push(text);
      }
    }
  }
  return digests.map(digestOf);
}

function headingOf({ cause, from }: DigestOptions): string {
  const reason = cause === "no-model" ? "no model was available" : "the model did not answer";
  if (from === undefined) return `Digest of dropped messages (${reason}):`;
  const project = from.project === undefined ? "" : `, project ${named(from.project)}`;
  return `Digest of a conversation (${named(from.client)}${project}, session ${named(from.sessionId)}):`;
}

const ofProject = /^- \d{2}:\d{2} Digest of a conversation \([^(),:]*, project ([^(),:]*), session [^(),:]*\):/u;

/** Whether a line of a log begins the digest of a conversation in another project. */
export function isDigestOfOther(line: string, project: string): boolean {
  const found = ofProject.exec(line)?.[1];
  return found !== undefined && found !== named(project);
}

function named(name: string): string {
  return (
    visibleText(harmless(name.replaceAll(/[(),:]/gu, " ")))
      .slice(0, 80)
      .trim() || "unnamed"
  );
}

function digestOf({ lines, said }: { lines: string[]; said: string[] }): FlushDigest {
  return { text: lines.join("\n"), said };
}

function isNews({ role, text }: ConversationMessage): boolean {
  return role === "user" ? !mereQuestion.test(text.trim()) : !citesNotes.test(text);
}

function textsOf(message: ConversationMessage, everything: boolean): string[] {
  const text = (everything ? message.text : message.text.slice(0, maxRead)).replaceAll(/\r\n?/g, "\n");
  const plain = harmless(redactSecrets(text));
  if (everything) return piecesOf(plain);
  const said = message.role === "user" ? plain : firstSentence(plain);
  // Last, as a cut may leave half of a character.
  return said === "" ? [] : [visibleText(cut(said))];
}

/** Cuts at ends of words if there are some, so that each piece can be found. */
function piecesOf(text: string): string[] {
  return (
    text
      .match(/.{1,3000}(?=\s|$)|.{1,3000}/gu)
      ?.map((piece) => visibleText(piece.trim()))
      .filter((piece) => piece !== "") ?? []
  );
}

function harmless(text: string): string {
  const plain = withoutPromptMarks(text)
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\s]+/gu, " ")
    .replaceAll(/<!-+/g, "<!")
    .replaceAll(/--!?>/g, "->")
    .replaceAll(noReply, "")
    .trim();
  return withoutPromptMarks(plain);
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

export interface WrittenDigest {
  readonly citations: readonly string[];
  readonly notes: readonly FlushNote[];
}

/** Writes the digest of each local day into that day's log. Throws as `appendNote` does; a retry recognises what was written. */
export async function appendDigests(
  messages: readonly ConversationMessage[],
  options: DigestOptions & { workspaceDir: string; signal: AbortSignal },
): Promise<WrittenDigest> {
  const { workspaceDir, timeZone, signal } = options;
  const citations: string[] = [];
  const notes: FlushNote[] = [];
  for (const { messages: ofDay, at } of flushGroups(messages, { ...options, maxTokens: Number.POSITIVE_INFINITY })) {
    for (const { text, said } of flushDigests(ofDay, options)) {
      const { citation } = await appendNote({ workspaceDir, text, kind: "daily", at, timeZone, signal });
      citations.push(citation);
      const { day } = localTime(at, timeZone);
      notes.push(...said.map((line): FlushNote => ({ text: line, kind: "daily", day, citation })));
    }
  }
  return { citations, notes };
}
