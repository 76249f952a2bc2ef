import { createHash } from "node:crypto";
import type { FileRecord } from "../chunk-index.ts";
import type { FileReading } from "../indexed-source.ts";
import { createTimeSlices } from "../time-slices.ts";
import { createMessageChunker } from "../sessions/chunk-messages.ts";
import type { Turn } from "../sessions/generated-text.ts";
import { localDay, renderSaid, type TranscriptReading } from "../sessions/read-transcript.ts";
import { readRecord } from "../sessions/transcript-record.ts";
import { loadStemmers } from "../text/languages/stemmers.ts";
import { type ClientFile, recordsOf, unknownSize } from "./client.ts";

/** Of one conversation so many characters are taken. */
const maxCharacters = 32_000_000;

/** What the record of a conversation says of how it was read. */
interface ConversationCursor {
  stamp?: string | undefined;
  folder?: string | undefined;
  passedOver: number;
}

/** Undefined for a record of something else. */
export function conversationCursor({ cursor }: Pick<FileRecord, "cursor">): ConversationCursor | undefined {
  try {
    const value = JSON.parse(cursor ?? "") as ConversationCursor | null;
    return typeof value?.passedOver === "number" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a conversation from its beginning. Of what was said the text is held once, as chunks. */
export async function readConversation(
  file: ClientFile,
  { source, recipe, tokens, onLine, signal, recordOf = readRecord }: Omit<TranscriptReading, "file" | "stored">,
): Promise<FileReading> {
  const chunker = createMessageChunker<number>(tokens, await loadStemmers());
  const slices = createTimeSlices(signal);
  const hash = createHash("sha256");
  let bytes = 0;
  let [turn, day, folder, passedOver]: [Turn, string, string | undefined, number] = ["plain", "", file.folder, 0];
  for await (const [line, record] of recordsOf(file, recordOf, { signal })) {
    if (slices.isOver()) await slices.pause();
    onLine?.(line, record);
    const isFull = chunker.characters() > maxCharacters;
    if (record.kind === "broken" || (record.kind === "message" && (record.cut || isFull))) passedOver++;
    if (record.kind === "broken" || record.kind === "blank") continue;
    if (record.timeMs !== undefined) day = localDay(record.timeMs);
    if ("folder" in record) folder ??= record.folder;
    if (record.kind === "compaction") turn = "plain";
    if (record.kind !== "message" || isFull) continue;
    const { role } = record;
    const said = renderSaid(record, turn, tokens);
    ({ turn } = said);
    const { rendered } = said;
    if (rendered.length === 0) continue;
    hash.update(JSON.stringify([line, day, rendered]));
    bytes += rendered.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
    chunker.add({ line, startByte: 0, role, day, rendered, origin: line }, 0, rendered.length);
  }
  const cursor: ConversationCursor = { stamp: file.stamp, folder, passedOver };
  const record: FileRecord = {
    path: file.path,
    source,
    mtimeMs: file.stamp === undefined ? -1 : file.mtimeMs,
    size: file.size === unknownSize ? bytes : file.size,
    recipe,
    hash: hash.digest("hex"),
    cursor: JSON.stringify(cursor),
  };
  return { record, changed: { ...record, chunks: chunker.chunks() } };
}
