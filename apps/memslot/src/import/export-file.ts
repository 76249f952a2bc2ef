import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { MemoryError, messageOf } from "@memslot/core";
import { openPromise, type ZipFile } from "yauzl";

/** The files of an export that hold conversations: one, or several with numbers. */
const conversationsName = /^conversations(?:-\d+)?\.json$/u;

/** A file of an export, to be read once. */
interface ExportPart {
  /** As an error names it. */
  name: string;
  open(): Promise<Readable>;
}

/**
 * The files with conversations of an export: a zip as it was sent, a folder that was unpacked, or one file. In their
 * order, one open at a time. Throws `INVALID_ARGUMENT` where there are none.
 */
export async function* exportParts(file: string): AsyncGenerator<ExportPart> {
  const stats = await stat(file).catch((error: unknown) => {
    throw new MemoryError("INVALID_ARGUMENT", `${file} cannot be read: ${messageOf(error)}`, { cause: error });
  });
  if (stats.isDirectory()) yield* partsOfFolder(file);
  else if (await isZip(file)) yield* partsOfZip(file);
  else yield { name: file, open: async () => createReadStream(file) };
}

async function* partsOfFolder(folder: string): AsyncGenerator<ExportPart> {
  const names = (await readdir(folder)).filter((name) => conversationsName.test(name));
  if (names.length === 0) throw none(folder);
  for (const name of names.toSorted()) {
    const file = path.join(folder, name);
    yield { name: file, open: async () => createReadStream(file) };
  }
}

async function* partsOfZip(file: string): AsyncGenerator<ExportPart> {
  const zip: ZipFile = await openPromise(file, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
    throw new MemoryError("INVALID_ARGUMENT", `${file} is a zip that cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  });
  try {
    const entries = [];
    for await (const entry of zip.eachEntry())
      if (conversationsName.test(path.posix.basename(entry.fileName))) entries.push(entry);
    if (entries.length === 0) throw none(file);
    for (const entry of entries.toSorted((left, right) => (left.fileName < right.fileName ? -1 : 1)))
      yield { name: `${entry.fileName} in ${file}`, open: async () => await zip.openReadStreamPromise(entry) };
  } finally {
    zip.close();
  }
}

function none(place: string): MemoryError {
  return new MemoryError(
    "INVALID_ARGUMENT",
    `${place} holds no conversations.json: name the zip that was sent to you, the folder it was unpacked to, or that file`,
  );
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
