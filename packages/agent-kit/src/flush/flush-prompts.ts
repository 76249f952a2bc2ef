import type { CompactionSettings } from "@memslot/core";
import texts from "../model-texts.json" with { type: "json" };
import type { FlushNote } from "./flush-journal.ts";

export const noReply = "NO_REPLY";

/** The begin of the request of every flush turn: readers of transcripts recognise flush turns by it. */
const opening = "Pre-compaction memory flush";

export interface FlushMoment {
  readonly day: string;
  readonly time: string;
  readonly timeZone: string;
}

interface FlushBefore {
  readonly written: readonly Pick<FlushNote, "text">[];
  readonly problem?: string | undefined;
}

/** The two texts of a flush turn, configured or built-in, with the opening and the sentinel added if missing. */
export function flushPrompts(
  settings: CompactionSettings,
  { day, time, timeZone }: FlushMoment,
  before: FlushBefore = { written: [] },
): { systemPrompt: string; prompt: string } {
  const { flush } = texts;
  const usual = flush.prompt.join("\n").replace("{day}", day).replace("{time}", time).replace("{timeZone}", timeZone);
  const withHint = (text: string): string => (text.includes(noReply) ? text : `${text}\n\n${flush.sentinelHint}`);
  const prompt = given(settings.memoryFlush.prompt) ?? usual;
  const begun = new RegExp(`^${opening}\\b`, "iu").test(prompt) ? prompt : `${opening}. ${prompt}`;
  return {
    systemPrompt: withHint(given(settings.memoryFlush.systemPrompt) ?? flush.system.join("\n")),
    prompt: [withHint(begun), ...beforeText(before)].join("\n\n"),
  };
}

const maxWritten = 4_000;

function beforeText({ written, problem }: FlushBefore): string[] {
  const lines: string[] = [];
  let budget = maxWritten;
  for (const { text } of written.toReversed()) {
    const line = `- ${text.replaceAll(/\s+/g, " ")}`;
    budget -= line.length;
    if (budget < 0) break;
    lines.unshift(line);
  }
  const more = written.length - lines.length;
  const parts =
    problem === undefined ? [] : [`This is another try: the one before came to nothing, because ${problem}.`];
  if (written.length === 0) return parts;
  return [...parts, [texts.flush.before, ...lines, ...(more > 0 ? [`- … and ${more} more`] : [])].join("\n")];
}

/** Whether an answer is the sentinel, also with punctuation, quotes or braces around it. */
export function isNoReply(text: string): boolean {
  if (text.length > 200) return false;
  return /^(?:[^\p{L}\p{N}]*NO_REPLY[^\p{L}\p{N}]*|\s*(?:```\w*\s*)?\{\s*"\w+"\s*:\s*"NO_REPLY"\s*\}\s*(?:```)?\s*)$/iu.test(
    text,
  );
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === "" ? undefined : text;
}
