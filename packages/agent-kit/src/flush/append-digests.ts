import { appendNote } from "../append-note.ts";
import type { ConversationMessage } from "../conversation.ts";
import { type DigestOptions, flushDigest } from "./flush-digest.ts";
import { flushGroups } from "./flush-groups.ts";

/**
 * Writes the digest of each local day into that day's log. Gives the citations. Throws as `appendNote` does; what was
 * written before that is recognised the next time.
 */
export async function appendDigests(
  messages: readonly ConversationMessage[],
  options: DigestOptions & { workspaceDir: string; signal: AbortSignal },
): Promise<string[]> {
  const { workspaceDir, timeZone, signal } = options;
  const citations: string[] = [];
  for (const { messages: ofDay, at } of flushGroups(messages, { ...options, maxTokens: Number.POSITIVE_INFINITY })) {
    const text = flushDigest(ofDay, options);
    if (text === undefined) continue;
    const { citation } = await appendNote({ workspaceDir, text, kind: "daily", at, timeZone, signal });
    citations.push(citation);
  }
  return citations;
}
