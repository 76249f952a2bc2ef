import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { type Readable, pipeline } from "node:stream";
import { MemoryError, messageOf, isAbort } from "@memslot/core";
import { openPromise, type ZipFile } from "yauzl";
import { streamArray } from "stream-json/streamers/stream-array.js";
import { type Conversation, type LeftOut, notOne, type ReadConversation } from "./exported-conversation.ts";

/** A file of an export, to be read once. */
interface ExportPart {
  /** For error messages. */
  name: string;
  open(): Promise<Readable>;
}

/**
 * The files of an export whose names fit: of a zip, a folder, or (`alone`) one named file. Throws `INVALID_ARGUMENT`.
 */
export async function* exportParts(
  file: string,
  named: RegExp,
  { alone = false }: { alone?: boolean } = {},
): AsyncGenerator<ExportPart> {
  const stats = await stat(file).catch((error: unknown) => {
    throw new MemoryError("INVALID_ARGUMENT", `${file} cannot be read: ${messageOf(error)}`, { cause: error });
  });
  if (stats.isDirectory()) yield* partsOfFolder(file, named);
  else if (await isZip(file)) yield* partsOfZip(file, named);
  else if (alone || named.test(path.basename(file))) yield { name: file, open: async () => createReadStream(file) };
}

async function* partsOfFolder(folder: string, named: RegExp): AsyncGenerator<ExportPart> {
  const deep = await readdir(path.join(folder, "projects")).catch(() => []);
  const names = [...(await readdir(folder)), ...deep.map((name) => `projects/${name}`)];
  for (const name of names.filter((each) => named.test(each)).toSorted()) {
    const file = path.join(folder, ...name.split("/"));
    yield { name: file, open: async () => createReadStream(file) };
  }
}

async function* partsOfZip(file: string, named: RegExp): AsyncGenerator<ExportPart> {
  const zip: ZipFile = await openPromise(file, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
    throw new MemoryError("INVALID_ARGUMENT", `${file} is a zip that cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  });
  try {
    const entries = [];
    for await (const entry of zip.eachEntry()) if (named.test(entry.fileName)) entries.push(entry);
    for (const entry of entries.toSorted((left, right) => (left.fileName < right.fileName ? -1 : 1)))
      yield { name: `${entry.fileName} in ${file}`, open: async () => await zip.openReadStreamPromise(entry) };
  } finally {
    zip.close();
  }
}

async function isZip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const start = Buffer.alloc(4);
    await handle.read(start, 0, 4, 0);
    return start.toString("latin1").startsWith("PK\u0003\u0004");
  } finally {
    await handle.close();
  }
}

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
