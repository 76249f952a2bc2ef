import { lazily } from "@memslot/core";

/** What a turn is about: a person's message, the check of a heartbeat, or the saving of notes before compaction. */
export type Turn = "plain" | "heartbeat" | "flush";

/** An answer to a heartbeat with at most so many characters says with the token that all is well. */
const maxAckLength = 300;
/** A longer text is no token with signs around it, and need not be looked through. */
const maxTokenLength = 200;

const flushPrompt = /^Pre-compaction memory flush\b/i;
const heartbeatPrompt =
  /^(?:Read HEARTBEAT\.md\b|\[[\w ]{0,30}heartbeat (?:poll|check|wake)\]|<heartbeat>|HEARTBEAT$)/i;
/** Heartbeat prompts of one's own end with the answer that is expected. */
const heartbeatOrder =
  /(?:\b(?:reply|respond|answer|return|output)\b|回复|回答|返回|输出)[^\n]{0,40}HEARTBEAT_OK[^\p{L}\p{N}?？]{0,20}$/iu;
/** What hosts say in a user's place: timers, finished commands, a new session, orders to a helper. */
const eventPrompt =
  /^(?:\[cron:[^\]\n]+\]|\[Scheduled [^\]\n]+\]|A scheduled (?:reminder|cron event) (?:has been|was) triggered|An async command you ran earlier has completed|Exec finished(?::|\s?\()|Exec (?:completed|failed) \([\w-]{1,64}, (?:code|signal) |A new session was started via \/new or \/reset|\[(?:Subagent Context|System Message|Inter-session message)\b[^\]\n]*\])/i;

const silentReply = lazily(() => /^(?:[\s\p{P}\p{S}]*NO_REPLY[\s\p{P}\p{S}]*|\{\s*"action"\s*:\s*"NO_REPLY"\s*\})$/iu);
const heartbeatReply = lazily(() => /^[\s\p{P}\p{S}]*HEARTBEAT_OK[\s\p{P}\p{S}]*$/iu);
const heartbeatToken = /^[^\p{L}\p{N}]{0,10}HEARTBEAT_OK\b|\bHEARTBEAT_OK[^\p{L}\p{N}]{0,10}$/u;
const silentEdges = /^\s*NO_REPLY[ \t]*\n|\n[ \t]*NO_REPLY\s*$/g;

/** A user's text without what the host has put into it: which turn it begins, and what of it is kept. */
export function readUserText(text: string): { turn: Turn; text: string } {
  if (flushPrompt.test(text)) return { turn: "flush", text: "" };
  if (heartbeatPrompt.test(text) || heartbeatOrder.test(text.slice(-maxTokenLength)))
    return { turn: "heartbeat", text: "" };
  return { turn: "plain", text: eventPrompt.test(text) || isSilent(text) ? "" : text };
}

/** What of an answer is kept, by the turn that it belongs to. */
export function readAssistantText(text: string, turn: Turn): string {
  if (turn === "flush" || isSilent(text)) return "";
  if (text.length <= maxTokenLength && heartbeatReply().test(text)) return "";
  if (turn === "heartbeat" && text.length <= maxAckLength && heartbeatToken.test(text)) return "";
  return text.replace(silentEdges, "");
}

function isSilent(text: string): boolean {
  return text.length <= maxTokenLength && silentReply().test(text);
}
