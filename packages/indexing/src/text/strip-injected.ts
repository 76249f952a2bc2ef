import texts from "./own-texts.json" with { type: "json" };
import { jsonOf } from "../json-values.ts";

/** Texts that memslot adds for a model, to recognise them in transcripts. */
export const ownTexts: Readonly<
  Record<"notesHeading" | "notesIntro" | "recallIntro" | "appendAdvice" | "dropped", string>
> = texts;
const ownLine = new RegExp(
  String.raw`(?:^[^\p{L}\n]*(?:\w+ hook additional context:[^\p{L}\n]{0,8}|\w+":[ \t]*")?|<!\[CDATA\[|(?<=>[^\p{L}\n]{0,8}|: ))(?:${Object.values(
    ownTexts,
  )
    .map((text) => text.slice(0, 40).replaceAll(/[.*+?^$()[\]\\|]/gu, String.raw`\$&`))
    .join("|")})[^\n]*?(?=<\/[\w-]+>[ \t]*$|$)`,
  "gmu",
);
const ownNotice =
  /^[ \t]*\[[^\n]{1,400}?(?:: (?:the (?:first|last) \d+ of )?\d+ lines [^\n]{0,200}?left out[^\n]{0,80}\. Read (?:them|it) with memory_get:[^\n]{0,500}| is not shown: [^\n]{0,500})\][ \t]*$/gmu;

/** Delimiters of recalled text: only the same label and key end one. */
const frameEdge =
  /(?<mark>>>>|<<<) (?<edge>\S(?:(?!>>> |<<< )[^\n]){0,400}? (?:[0-9a-f]{24}|[0-9a-f]{12})|\d{6})(?!\w)/gu;
const escaped =
  /(&(?:amp;)*(?:gt|#0*62|#x0*3e);|\\u003e|\\>|＞)|(&(?:amp;)*(?:lt|#0*60|#x0*3c);|\\u003c|\\<|＜)|(&(?:amp;)*(?:apos|#0*39|#x0*27);)|&(?:amp;)*(?:quot|#0*34|#x0*22);/giu;

/** Memory that hosts put into a message, by the names of the tags around it. Hosts begin a line with them. */
const memoryTag =
  /(?<=^|\n)[ \t]*<(relevant-memories|relevant_memories|recalled-memories|memory-context|active_memory_plugin|active-memory)(?: [^<>\n]{0,200})?>/gi;
const thinkingTag = /<(think|thinking)>/gi;

/** What programs put into a user's message: reminders, command output, the environment, what hooks gave, pictures. */
const injectedTags =
  "system[-_]reminder|hook_context|session_context|state_snapshot|(?:task|subagent)[-_]notification|teammate-message|command-(?:name|message|args)|local-command-\\w+|environment_context|user_instructions|permissions|turn_aborted|INSTRUCTIONS|ide_(?:opened_file|selection|diagnostics)|user_shell_command|bash-(?:input|stdout|stderr)|user-prompt-submit-hook|current_datetime|qwen:(?:user-prompt-submit|session-start)-context";
const injectedTag = new RegExp(`<(${injectedTags}|image(?= (?:name|path)=))\\b[^<>\\n]{0,400}>`, "giu");
const injectedStart = new RegExp(`^\\s*(?:<(?:${injectedTags})\\b|# AGENTS\\.md instructions)`, "iu");
const closingTag = new RegExp(`</(?:${injectedTags})>`, "gu");
const emptyElement = /<([\w-]+)(?: [^<>\n]{0,200})?>\s*(?:\]\]>\s*)?<\/\1>|^[ \t]*[>│|][ \t]*$/gmu;

/** Blocks that OpenClaw marks as its own, or as content of strangers. */
const blockStart = /^<<<(?:BEGIN_)?([A-Z]+(?:_[A-Z]+)+)(?:\s[^<>]*)?>>>$/;
/** The header of a block of facts about a message: `Sender (untrusted metadata):`. */
const metadataHeader =
  /^(?:[^\n]{1,160}\((?:untrusted\b|metadata, do not treat)[^()]{0,120}\):|[^\n]{0,160}⟦openclaw:ctx⟧)$/i;
const messageIdLine = /^\[message_id: [^\]]*\]$/i;
const systemEvent = /^System(?: \(untrusted\))?: \[[^\]]+\]/;
const systemLine = /^System(?: \(untrusted\))?:(?: |$)/;
/** `[Wed 2026-03-11 23:51 PDT] `, `[Telegram Ann id:42 +5m 2026-01-02 12:00 UTC] `, `[WhatsApp +491234] `. */
const envelope =
  /^\s*\[(?:[^\]\n]{0,200}\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}[^\]\n]{0,60}|[A-Z][A-Za-z ]{1,20} [^\]\n]{0,100}(?:id:|\+\d)[^\]\n]{0,100})\] */;
const directives = /\[\[ ?(?:reply_to_current|reply_to ?: ?[^\]\n]{0,200}|audio_as_voice) ?\]\]/gi;

/** Returns a message without text added by memslot, a host or a program, such as recalled notes. */
export function stripInjected(text: string, role: "user" | "assistant"): string {
  const said = role === "user" ? userText(text) : assistantText(text);
  return said === text.replaceAll(/\r\n?/gu, "\n").trim() ? text : said;
}

/** The lines around the block that `memslot connect` writes into CLAUDE.md, AGENTS.md and GEMINI.md. */
export const connectMarkers = {
  begin: "<!-- memslot connect: begin -->",
  end: "<!-- memslot connect: end -->",
} as const;
const connectBlock = new RegExp(`^[ \\t]*${connectMarkers.begin}[^]{0,4000}?${connectMarkers.end}`, "gmu");

/** Blanks the lines of that block, which is an instruction to a model. */
function withoutConnectBlock(text: string): string {
  return text.includes(connectMarkers.begin) ? text.replaceAll(connectBlock, blank) : text;
}

/** The start of a note that OpenClaw's hook `session-memory` writes when a conversation ends. */
const excerptStart = /^# Session: [^\n]*\r?\n\r?\n- \*\*Session Key\*\*: /u;
const excerptMessage = /^(user|assistant): ([^]*?)(?=^(?:user|assistant): |(?![^]))/gmu;
/**
 * Blanks lines of a note that are not the user's: the block of `memslot connect`, and in an excerpt of a conversation the
 * texts that `stripInjected` removes from a message. The number of lines stays.
 */
export function withoutInjected(note: string): string {
  const text = withoutConnectBlock(note);
  if (!excerptStart.test(text)) return text;
  // Notes between delimiters can hold lines that look like the start of a message.
  return stripFrames(text, blank).replaceAll(excerptMessage, (message, role: "user" | "assistant", rest: string) => {
    // OpenClaw 2026.9.6 writes a message as one line of JSON.
    const json = jsonOf(rest);
    const said = typeof json === "string" ? json : rest;
    const kept = stripInjected(said, role);
    if (kept === said.trim()) return message;
    if (kept === "") return blank(message);
    return `${role}: ${said === rest ? onlyLines(said, kept.split("\n")) : rest.replace(/^.*$/mu, () => JSON.stringify(kept))}`;
  });
}

/** The lines of `text` that are left of it, where they were if they can be found. */
function onlyLines(text: string, left: readonly string[]): string {
  let next = 0;
  const lines = text.split("\n");
  const placed = lines.map((line) => (line.includes(left[next] ?? "\n") ? (left[next++] ?? "") : ""));
  return (next === left.length ? placed : lines.map((_, index) => left[index] ?? "")).join("\n");
}

function blank(text: string): string {
  return text.replaceAll(/[^\r\n]/gu, "");
}

function userText(text: string): string {
  const said = stripTags(stripSystemLines(ownLines(text, true)).join("\n"));
  return injectedStart.test(said) ? "" : said.trim().replace(envelope, "").trim();
}

function assistantText(text: string): string {
  const said = stripElements(ownLines(text, false).join("\n"), thinkingTag);
  return said
    .replace(directives, "")
    .replace(/<\/?final>/g, "")
    .trim();
}

function ownLines(text: string, withMetadata: boolean): string[] {
  return stripBlocks(stripOwn(stripElements(text, memoryTag)).split(/\r\n?|\n/), withMetadata);
}

/** Drops what memslot wrote, also where a program has escaped it as HTML, and elements that held nothing else. */
function stripOwn(text: string): string {
  const plain = text.replaceAll(escaped, (_, more?: string, less?: string, apostrophe?: string) =>
    more ? ">" : less ? "<" : apostrophe ? "'" : '"',
  );
  const kept = withoutConnectBlock(stripFrames(plain)).replace(ownLine, "").replace(ownNotice, "");
  if (kept === plain) return text;
  const said = kept.replace(emptyElement, "");
  return /[\p{L}\p{N}]/u.test(said) ? said : "";
}

/** Without recalled text. With `replace`, only text whose end is there is replaced. */
function stripFrames(text: string, replace?: (removed: string) => string): string {
  if (!text.includes(">>> ")) return text;
  const edges = [...text.matchAll(frameEdge)].map(({ 0: { length }, index, groups = {} }) => ({
    index,
    end: index + length,
    edge: groups["edge"] ?? "",
    opens: groups["mark"] === ">>>",
    endsLine: /^\r?(?:\n|$)/u.test(text.slice(index + length, index + length + 2)),
  }));
  const ends = Map.groupBy(edges.filter(({ opens }) => !opens).toReversed(), ({ edge }) => edge);
  let kept = "";
  let done = 0;
  for (const { index, end: start, edge, opens, endsLine } of edges) {
    if (!opens || index < done) continue;
    const own = ends.get(edge) ?? [];
    while ((own.at(-1)?.index ?? start) < start) own.pop();
    const end = own.at(-1)?.end;
    if (end === undefined && (!endsLine || edge.length === 6 || replace)) continue;
    kept += text.slice(done, index);
    done = end ?? endOfWrapper(text, start);
    kept += replace?.(text.slice(index, done)) ?? "";
  }
  return kept + text.slice(done);
}

/** Where a delimiter that nothing ends is over: with the element around it, or with the message. */
function endOfWrapper(text: string, from: number): number {
  closingTag.lastIndex = from;
  return closingTag.exec(text)?.index ?? text.length;
}

function stripTags(text: string): string {
  if (!text.includes("<")) return text;
  const unended = new Set<string>();
  let own = "";
  let done = 0;
  for (const { 0: tag, 1: name = "", index } of text.matchAll(injectedTag)) {
    const close = `</${name}>`;
    if (index < done || unended.has(close)) continue;
    const end = text.indexOf(close, index + tag.length);
    if (end < 0) unended.add(close);
    else {
      own += text.slice(done, index);
      done = end + close.length;
    }
  }
  return own + text.slice(done);
}

/** What a recalled text says must not end its element: the last closing tag before the next opening one does. */
function stripElements(text: string, openTag: RegExp): string {
  if (!text.includes("<")) return text;
  let kept = "";
  let done = 0;
  for (const match of text.matchAll(openTag)) {
    if (match.index < done) continue;
    kept += `${text.slice(done, match.index)}\n`;
    done = endOfElement(text, match[1] ?? "", match.index + match[0].length);
  }
  return kept + text.slice(done);
}

function endOfElement(text: string, name: string, start: number): number {
  const marks = new RegExp(`<(/?)${name}(?: [^<>\\n]{0,200})?>`, "gi");
  marks.lastIndex = start;
  let end: number | undefined;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    if (mark[1] === "/") end = marks.lastIndex;
    else if (end !== undefined) break;
  }
  return end ?? text.length;
}

function stripBlocks(lines: readonly string[], withMetadata: boolean): string[] {
  const kept: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = (lines[index] ?? "").trim();
    const block = blockStart.exec(line)?.[1];
    if (block !== undefined && !block.startsWith("END_"))
      index = indexOfLine(lines, index, (other) => other.startsWith(`<<<END_${block}`));
    else if (withMetadata && metadataHeader.test(line)) index = endOfMetadata(lines, index);
    else if (!withMetadata || !messageIdLine.test(line)) kept.push(lines[index] ?? "");
  }
  return kept;
}

function endOfMetadata(lines: readonly string[], header: number): number {
  const fenced = /^```(?:json)?$/.test((lines[header + 1] ?? "").trim());
  if (fenced) return indexOfLine(lines, header + 1, (line) => line === "```");
  return indexOfLine(lines, header, (line) => line === "");
}

function indexOfLine(lines: readonly string[], after: number, fits: (line: string) => boolean): number {
  for (let index = after + 1; index < lines.length; index++) if (fits((lines[index] ?? "").trim())) return index;
  return lines.length;
}

function stripSystemLines(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  if (first < 0 || !systemEvent.test(lines[first] ?? "")) return lines;
  const end = lines.findIndex((line, index) => index > first && line.trim() !== "" && !systemLine.test(line));
  return end < 0 ? [] : lines.slice(end);
}
