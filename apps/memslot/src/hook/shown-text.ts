import { formatCitation, frameRecalled, sessionStartContext } from "@memslot/agent-kit";
import { type AgentConfig, type Memory, type MemorySearchResult, visibleName } from "@memslot/core";
import { ownTexts } from "@memslot/indexing/host";
import type { RecallMode } from "./read-event.ts";
import { hashOf, type SessionState } from "./session-state.ts";

/** Parts of a word as tokenizers cut them: a word with its capital, capitals alone, up to three digits, one character. */
const pieces = /\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{Lu}+|\p{N}{1,3}|[^]/gu;
const digitAfterSpace = /(?<=[ \t])\p{N}/gu;
/** Keys, hashes and ids: tokenizers do not know their letters as words. */
const id = /^(?=.*\d)(?=.*[A-Za-z])[\w+/=.-]{12,}$|[bcdfghjklmnpqrstvwxz]{5}|[A-Za-z]{20}/u;

const startTokens = 600;
/** The budget is counted in tokens, but requested in characters. */
const mostTries = 6;

/** The text for the start of a session: the curated notes, today's and yesterday's, as data, in at most 600 tokens. */
export async function startText(input: {
  agent: AgentConfig;
  now: Date;
  readOnly: boolean;
  /** The project of the session: digests of other projects are excluded. */
  project: string | undefined;
  dropped: SessionState["dropped"];
}): Promise<string> {
  const { agent, now, readOnly } = input;
  const head = [...droppedLines(input.dropped), ...(readOnly ? [] : [ownTexts.appendAdvice])].join("\n");
  let budgetChars = startTokens * 4;
  for (let tries = 0; tries < mostTries; tries++) {
    const { text } = await sessionStartContext({
      workspaceDir: agent.workspaceDir,
      now,
      timeZone: agent.userTimezone,
      session: { kind: "main", private: true },
      project: input.project,
      budgetChars,
    });
    if (text === "" && input.dropped === undefined) return "";
    const whole = [text, head].filter((part) => part !== "").join("\n\n");
    const tokens = tokensAtMost(whole);
    if (tokens <= startTokens) return whole;
    budgetChars = Math.floor(budgetChars * Math.min(0.9, startTokens / tokens));
  }
  return head;
}

function droppedLines(dropped: SessionState["dropped"]): string[] {
  if (dropped === undefined || dropped.messages === 0) return [];
  const { messages, citations } = dropped;
  const where =
    citations.length === 0 ? "" : ` Their digest stands at ${citations.map((each) => visibleName(each)).join(", ")};`;
  return [
    `${ownTexts.dropped} ${messages} ${messages === 1 ? "message" : "messages"} from your context.${where} memory_search finds what was said in them. If something lasting is missing from the notes, write it down now.`,
  ];
}

const recallTokens = 400;
/** Characters of a prompt that are searched. The rest is mostly pasted. */
const mostCharacters = 600;
const leastWords = 2;

/** The query for a prompt: its words, without anything that the search would take for a filter. */
function questionOf(prompt: string): string {
  const text = prompt.trim();
  if (/^[/!#]/u.test(text)) return "";
  const prose = text
    .replaceAll(/```[^]*?(?:```|$)/gu, " ")
    .replaceAll(/<[^<>\n]{1,200}>/gu, " ")
    .slice(0, mostCharacters)
    .toWellFormed();
  const words = prose
    .replaceAll(/["“”]/gu, " ")
    .replaceAll(/(?<=^|\s)-+(?=\S)/gu, "")
    .replaceAll(/(?<=\p{L}):(?=\S)/gu, " ");
  const question = words.replaceAll(/\s+/gu, " ").trim();
  const count = question.split(" ").length;
  return count >= leastWords ||
    /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u.test(question)
    ? question
    : "";
}

/**
 * The notes that match a prompt, in at most 400 tokens, without lines the session has seen. Throws as a search does.
 */
export async function recallText(
  memory: Memory,
  prompt: string,
  { mode, shown, signal }: { mode: RecallMode; shown: ReadonlySet<string>; signal: AbortSignal },
): Promise<string> {
  const question = mode === "off" ? "" : questionOf(prompt);
  if (question === "") return "";
  const { results, report } = await memory.ask(question, {
    maxTokens: recallTokens,
    // Conversations are long, and their digests are in the notes.
    sources: ["memory"],
    signal,
  });
  if (mode === "strong" && report.match?.level !== "strong") return "";
  return fitted(results, shown);
}

function fitted(results: readonly MemorySearchResult[], shown: ReadonlySet<string>): string {
  const parts: string[] = [ownTexts.recallIntro];
  for (const result of results) {
    const text = unshownPart(result.snippet, shown);
    const frame = text === "" ? "" : frameRecalled(formatCitation(result), text);
    if (frame === "" || tokensAtMost([...parts, frame].join("\n")) > recallTokens) continue;
    parts.push(frame);
  }
  return parts.length > 1 ? parts.join("\n") : "";
}

/** Hashes of the lines of a text. Lines without two letters or digits in a row are skipped. */
export function linesShown(text: string): string[] {
  const lines = text.split("\n").map((line) => line.normalize("NFC").replaceAll(/\s+/gu, " ").trim());
  return [...new Set(lines.filter((line) => /[\p{L}\p{N}]{2}/u.test(line)).map((line) => hashOf([line]).slice(0, 12)))];
}

function unshownPart(text: string, shown: ReadonlySet<string>): string {
  const isNew = (line: string): boolean => linesShown(line).every((hash) => !shown.has(hash));
  const left = text
    .split("\n")
    .filter(isNew)
    .join("\n")
    .replaceAll(/^\s*\n|\s+$/gu, "");
  return linesShown(left).length === 0 ? "" : left;
}

/** An upper bound for the tokens of a text: at least o200k_base, at most 2.3 times as much. */
function tokensAtMost(text: string): number {
  let tokens = (text.match(/\n/gu)?.length ?? 0) + (text.match(digitAfterSpace)?.length ?? 0);
  for (const [word] of text.matchAll(/\S+/gu)) {
    const known = !id.test(word) && (word.match(/[a-z][A-Z]/gu)?.length ?? 0) < 3;
    for (const [piece] of word.matchAll(pieces)) tokens += pieceTokens(piece, known);
  }
  return tokens;
}

function pieceTokens(piece: string, known: boolean): number {
  if (/^[a-z]+$/iu.test(piece)) {
    if (!known || /^[A-Z]{2}/u.test(piece)) return Math.ceil(piece.length * 0.6 + 0.2);
    return piece.length <= 8 ? 1 : Math.ceil(piece.length / 5);
  }
  if (/^\p{N}/u.test(piece)) return piece.length === Buffer.byteLength(piece) ? 1 : Buffer.byteLength(piece) / 2;
  if (!/^[\p{L}\p{M}]/u.test(piece)) return [1, 1, 1.2, 1.6, 2.6][Buffer.byteLength(piece)] ?? 3;
  return [...piece].reduce((sum, letter) => sum + letterTokens(letter), 0.4);
}

function letterTokens(letter: string): number {
  const code = letter.codePointAt(0) ?? 0;
  if (/\p{M}/u.test(letter)) return code < 0x900 ? 1.2 : 0.6;
  if (code < 0x250) return 0.55;
  if (code < 0x800) return /\p{Lu}/u.test(letter) ? 0.85 : 0.36;
  if (code < 0xe00) return 0.6;
  return code > 0xffff ? 3 : 0.9;
}
