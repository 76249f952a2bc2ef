/** Memory that hosts put into a message, by the names of the tags around it. Hosts begin a line with them. */
const memoryTag =
  /(?<=^|\n)[ \t]*<(relevant-memories|relevant_memories|recalled-memories|memory-context|active_memory_plugin|active-memory)(?: [^<>\n]{0,200})?>/gi;
const thinkingTag = /<(think|thinking)>/gi;

/** A note as `sessionStartContext` frames it: only the line with the same path and key ends it. */
const frameStart = /^>>> (.+ (?:[0-9a-f]{24}|[0-9a-f]{12}))$/;
/** Texts of one answer share a short key, which anybody may write: only the same key at the end makes it a frame. */
const shortFrameStart = /^>>> (\d{6})$/;
const notesHeading = "# Notes at the start of this session";
const notesIntro = "What stands between a `>>>` line";
const notesNotice =
  /^\[.+(?:: the (?:first|last) \d+ of \d+ lines are left out or cut here\. Read them with memory_get:.*| is not shown: .*)\]$/;

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

/**
 * A message without what its host has added: recalled notes, which must not become memory again, facts about sender and
 * channel, system events, thinking and delivery marks. A block that nothing ends goes to the end of the message.
 */
export function stripInjected(text: string, role: "user" | "assistant"): string {
  const lines = stripElements(text, memoryTag).split(/\r\n?|\n/);
  if (role === "assistant") {
    const own = stripElements(stripBlocks(lines, false).join("\n"), thinkingTag);
    return own
      .replace(directives, "")
      .replace(/<\/?final>/g, "")
      .trim();
  }
  return stripSystemLines(stripBlocks(lines, true)).join("\n").trim().replace(envelope, "").trim();
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
  let withNotes = false;
  for (let index = 0; index < lines.length; index++) {
    const line = (lines[index] ?? "").trim();
    const frame = frameStart.exec(line)?.[1];
    const short = shortFrameStart.exec(line)?.[1];
    const block = blockStart.exec(line)?.[1];
    if (frame !== undefined) index = indexOfLine(lines, index, (other) => other === `<<< ${frame}`);
    else if (short !== undefined && indexOfLine(lines, index, (other) => other === `<<< ${short}`) < lines.length)
      index = indexOfLine(lines, index, (other) => other === `<<< ${short}`);
    else if (block !== undefined && !block.startsWith("END_"))
      index = indexOfLine(lines, index, (other) => other.startsWith(`<<<END_${block}`));
    else if (line === notesHeading) withNotes = true;
    else if (withNotes && (line.startsWith(notesIntro) || notesNotice.test(line))) continue;
    else if (withMetadata && metadataHeader.test(line)) index = endOfMetadata(lines, index);
    else if (!withMetadata || !messageIdLine.test(line)) kept.push(lines[index] ?? "");
  }
  return kept;
}

/** A fence of JSON, or else lines up to an empty one. */
function endOfMetadata(lines: readonly string[], header: number): number {
  const fenced = /^```(?:json)?$/.test((lines[header + 1] ?? "").trim());
  if (fenced) return indexOfLine(lines, header + 1, (line) => line === "```");
  return indexOfLine(lines, header, (line) => line === "");
}

function indexOfLine(lines: readonly string[], after: number, fits: (line: string) => boolean): number {
  for (let index = after + 1; index < lines.length; index++) if (fits((lines[index] ?? "").trim())) return index;
  return lines.length;
}

/** Events that were queued for the agent stand before what the user wrote. */
function stripSystemLines(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  if (first < 0 || !systemEvent.test(lines[first] ?? "")) return lines;
  const end = lines.findIndex((line, index) => index > first && line.trim() !== "" && !systemLine.test(line));
  return end < 0 ? [] : lines.slice(end);
}
