import { appendNote } from "../../notes/append-note.ts";
import type { ConversationMessage } from "../../conversation.ts";
import { localTime } from "../../notes/local-day.ts";
import { type DigestOptions, flushDigests } from "./flush-digest.ts";
import { flushGroups } from "./flush-groups.ts";
import type { FlushNote } from "../journal/flush-record.ts";

/** What came of digests: their citations, and each line as a note of the flush. */
export interface WrittenDigest {
  readonly citations: readonly string[];
  readonly notes: readonly FlushNote[];
}

/**
 * Writes the digest of each local day into that day's log. Throws as `appendNote` does; what was written before that is
 * recognised the next time.
 */
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
