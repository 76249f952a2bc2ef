import { pipeline } from "node:stream";
import { isAbort, MemoryError, messageOf } from "@memslot/core";
import { streamArray } from "stream-json/streamers/stream-array.js";
import { type Conversation, type LeftOut, notOne, type ReadConversation } from "./conversation.ts";
import { exportParts } from "./export-file.ts";

/** One file, or several with numbers. */
const conversationsName = /(?:^|\/)conversations(?:-\d+)?\.json$/u;

/** The conversations of an export, one at a time. Throws `INVALID_ARGUMENT` for an unreadable file or none inside. */
export async function* readConversations(input: {
  file: string;
  /** The product name in errors. */
  product: string;
  read: ReadConversation;
  leftOut: LeftOut;
  signal: AbortSignal;
}): AsyncGenerator<Conversation> {
  const { file, product, read, leftOut, signal } = input;
  let entries = 0;
  let parts = 0;
  for await (const part of exportParts(file, conversationsName, { alone: true })) {
    parts++;
    try {
      // Errors of the file are errors of its items.
      const items = pipeline(await part.open(), streamArray.withParserAsStream(), () => undefined);
      for await (const { value } of items as AsyncIterable<{ value: unknown }>) {
        signal.throwIfAborted();
        entries++;
        const conversation = read(value, leftOut);
        if (conversation !== undefined) yield conversation;
      }
    } catch (error) {
      if (isAbort(error) || MemoryError.is(error)) throw error;
      throw new MemoryError(
        "INVALID_ARGUMENT",
        `${part.name} is no list of conversations in JSON: after ${entries} of them: ${messageOf(error)}`,
        { cause: error },
      );
    }
  }
  if (parts === 0)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `${file} holds no conversations.json: name the zip that was sent to you, the folder it was unpacked to, or that file`,
    );
  if (entries > 0 && leftOut.get(notOne) === entries)
    throw new MemoryError(
      "INVALID_ARGUMENT",
      `${file} holds ${entries} entries, and none is a conversation of ${product}`,
    );
}
