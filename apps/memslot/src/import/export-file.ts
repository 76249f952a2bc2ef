import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import path from "node:path";
import type { Readable } from "node:stream";
import { MemoryError, messageOf } from "@memslot/core";
import { openPromise, type ZipFile } from "yauzl";

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
