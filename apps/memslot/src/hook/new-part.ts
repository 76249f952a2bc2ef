import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { ConversationMessage } from "@memslot/agent-kit";
import { isClientSource } from "@memslot/core";
import { noSurprises } from "@memslot/core/files";
import { knownAgents, type SaidLine, stripInjected } from "@memslot/indexing/host";
import type { ClientId } from "../connect/client.ts";

/** How far a transcript was read. */
export interface TranscriptPlace {
  readonly file: string;
  /** Bytes, up to the end of a line. */
  readonly offset: number;
}

export interface NewPart {
  readonly messages: readonly ConversationMessage[];
  readonly place: TranscriptPlace;
  /** Whether more stands behind it. */
  readonly hasRest: boolean;
}

/** Of one part. What is longer is read part by part. */
const maxBytes = 4 * 1024 * 1024;

/**
 * What was said in a transcript since it was read last. A file that is another one or shorter than it was is read from its
 * beginning: a message has the id that it had. The last line counts once it has its end. Throws what the file system throws.
 */
export async function readNewPart(
  file: string,
  client: ClientId,
  { sessionId, now, since }: { sessionId: string; now: Date; since: TranscriptPlace | undefined },
): Promise<NewPart> {
  const handle = await open(file, constants.O_RDONLY | noSurprises);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error(`${file} is no file`);
    const from = since?.file !== file || since.offset > stats.size ? 0 : since.offset;
    const bytes = Buffer.alloc(Math.min(maxBytes, stats.size - from));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, from);
    const end = bytes.subarray(0, bytesRead).lastIndexOf(0x0a) + 1;
    // One line that is longer than all that is read at once is passed over.
    const length = end === 0 && bytesRead === maxBytes ? bytesRead : end;
    const messages = messagesOf(bytes.subarray(0, length), from, { client, sessionId, now });
    const hasRest = bytesRead === maxBytes && from + length < stats.size;
    return { messages, place: { file, offset: from + length }, hasRest };
  } finally {
    await handle.close();
  }
}

function messagesOf(
  bytes: Buffer,
  from: number,
  { client, sessionId, now }: { client: ClientId; sessionId: string; now: Date },
): ConversationMessage[] {
  const messages = new Map<string, ConversationMessage>();
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    const said = readLine(client, bytes.toString("utf8", start, end));
    if (said !== undefined) {
      const id = said.id ?? idAt(sessionId, from + start, said.text);
      const at = said.at !== undefined && !Number.isNaN(Date.parse(said.at)) ? said.at : now.toISOString();
      messages.set(id, { role: said.role, text: said.text, id: id.slice(0, 200), at });
    }
    start = end + 1;
  }
  return [...messages.values()];
}

/** Whether the transcripts of a client can be read. */
export function readsTranscripts(client: ClientId): boolean {
  return isClientSource(client) && knownAgents[client].said !== undefined;
}

/** The message in one line of a client transcript. Undefined for other records and for invalid lines. */
function readLine(client: ClientId, line: string): SaidLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (!isClientSource(client) || typeof value !== "object" || value === null || Array.isArray(value))
      return undefined;
    const said = knownAgents[client].said?.(value as Record<string, unknown>);
    const text = said === undefined ? "" : stripInjected(said.text, said.role);
    return said === undefined || text.trim() === "" ? undefined : { ...said, text };
  } catch {
    return undefined;
  }
}

/** Of a message without one: by its place and text, so that reading it again gives the same. */
function idAt(sessionId: string, offset: number, text: string): string {
  return createHash("sha256")
    .update(JSON.stringify([sessionId, offset, text]))
    .digest("hex")
    .slice(0, 32);
}
