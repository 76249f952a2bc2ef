import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

/** What was said of a file when its download began, kept beside the part that is there. */
interface PartNotes {
  url: string;
  size?: number | undefined;
  sha256?: string | undefined;
  validator?: string | undefined;
}

/** What is there of a file that is being downloaded: `<file>.part`, with its notes in `<file>.part.json`. */
export interface PartFile {
  path: string;
  /** Bytes that are there. */
  size(): Promise<number>;
  /** Undefined where there are none, or none that can be read. */
  notes(): Promise<PartNotes | undefined>;
  /** Begins to write at this byte and drops what is behind it. */
  open(from: number, notes: PartNotes): Promise<FileHandle>;
  /** SHA-256 of what is there, in hexadecimal. */
  sha256(signal: AbortSignal): Promise<string>;
  remove(): Promise<void>;
  removeNotes(): Promise<void>;
}

export function partFileOf(target: string): PartFile {
  const path = `${target}.part`;
  const notesPath = `${path}.json`;

  async function removeNotes(): Promise<void> {
    await rm(notesPath, { force: true });
  }

  return {
    path,
    size: async () => (await stat(path).catch(() => undefined))?.size ?? 0,
    async notes() {
      const text = await readFile(notesPath, "utf8").catch(() => "");
      try {
        return JSON.parse(text) as PartNotes;
      } catch {
        return undefined;
      }
    },
    async open(from, notes) {
      await writeFile(notesPath, JSON.stringify(notes), { mode: 0o600 });
      // Not for appending: whoever else writes the same file by mistake writes the same bytes to the same places.
      const file = await open(path, from === 0 ? "w" : "r+", 0o600);
      if (from > 0) await file.truncate(from);
      return file;
    },
    async sha256(signal) {
      const hash = createHash("sha256");
      await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash, { signal });
      return hash.digest("hex");
    },
    async remove() {
      await rm(path, { force: true });
      await removeNotes();
    },
    removeNotes,
  };
}

/** The disk, as far as a test puts another one in its place. */
export interface Disk {
  freeBytes(folder: string): Promise<number>;
  write(file: FileHandle, bytes: Uint8Array, position: number): Promise<void>;
}

export const realDisk: Disk = {
  async freeBytes(folder) {
    const { blocks, bavail, bsize } = await statfs(folder);
    // Some file systems of networks do not say.
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  },
  async write(file, bytes, position) {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  },
};
