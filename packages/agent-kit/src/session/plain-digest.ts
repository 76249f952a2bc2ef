import type { ConversationMessage } from "../conversation.ts";

const maxLength = 2_000;
const maxLineLength = 200;
const maxCarriedLength = 4_000;
const cutMark = "[…]";
const heading = "[Plain digest, made without a model: first lines only]";

/**
 * A summary where no model makes one: the first line of what the user said and the first sentence of each answer, at
 * most 2,000 characters of them, the newest first to be kept. The summary before stays in front, itself at most 4,000.
 */
export function plainDigest(messages: readonly ConversationMessage[], previousSummary?: string | undefined): string {
  const lines = messages.map((message) => digestLine(message)).filter((line) => line !== "");
  const kept: string[] = [];
  let length = 0;
  for (const line of lines.toReversed()) {
    length += line.length + 1;
    if (length > maxLength) break;
    kept.unshift(line);
  }
  const missing = lines.length - kept.length;
  const gap = missing > 0 ? [`${cutMark} ${missing} earlier lines left out`] : [];
  const digest = [heading, ...gap, ...kept].join("\n");
  const carried = carry(previousSummary ?? "");
  return carried === "" ? digest : `${carried}\n\n${digest}`;
}

function digestLine(message: ConversationMessage): string {
  if (message.role === "tool") return "";
  const first = message.text.split(/\r?\n/).find((line) => line.trim() !== "") ?? "";
  const said = message.role === "user" ? first : (/^.*?(?:[。！？]|[.!?](?=\s|$))/u.exec(first)?.[0] ?? first);
  const clean = said
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim();
  if (clean === "") return "";
  return `${message.role === "user" ? "User" : "Assistant"}: ${shortened(clean)}`;
}

function shortened(text: string): string {
  if (text.length <= maxLineLength) return text;
  return `${text
    .slice(0, maxLineLength)
    .toWellFormed()
    .replace(/\uFFFD$/, "")
    .trimEnd()} ${cutMark}`;
}

/** The beginning and the end of a summary that grew too long: what it began with, and what came last. */
function carry(summary: string): string {
  const text = summary.trim();
  if (text.length <= maxCarriedLength) return text;
  const begin = text.slice(0, maxCarriedLength / 4);
  const end = text.slice(-(maxCarriedLength * 3) / 4);
  return `${begin.slice(0, lastBreak(begin))}\n${cutMark}\n${end.slice(firstBreak(end))}`;
}

function lastBreak(text: string): number {
  const at = text.lastIndexOf("\n");
  return at > 0 ? at : text.length;
}

function firstBreak(text: string): number {
  return text.indexOf("\n") + 1;
}
