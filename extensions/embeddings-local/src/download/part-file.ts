import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

interface PartNotes {
  url: string;
  size?: number | undefined;
  sha256?: string | undefined;
  validator?: string | undefined;
}

export class PartFile {
  readonly path: string;
  readonly #notesPath: string;

  constructor(target: string) {
    this.path = `${target}.part`;
    this.#notesPath = `${this.path}.json`;
  }

  async size(): Promise<number> {
    return (await stat(this.path).catch(() => undefined))?.size ?? 0;
  }

  async notes(): Promise<PartNotes | undefined> {
    const text = await readFile(this.#notesPath, "utf8").catch(() => "");
    try {
      return JSON.parse(text) as PartNotes;
    } catch {
      return undefined;
    }
  }

  async open(from: number, notes: PartNotes): Promise<FileHandle> {
    await writeFile(this.#notesPath, JSON.stringify(notes), { mode: 0o600 });
    // Not for appending: a second writer writes the same bytes to the same places.
    const file = await open(this.path, from === 0 ? "w" : "r+", 0o600);
    if (from > 0) await file.truncate(from);
    return file;
  }

  async sha256(signal: AbortSignal): Promise<string> {
    const hash = createHash("sha256");
    await pipeline(createReadStream(this.path, { highWaterMark: 1024 * 1024 }), hash, { signal });
    return hash.digest("hex");
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    await this.removeNotes();
  }

  async removeNotes(): Promise<void> {
    await rm(this.#notesPath, { force: true });
  }
}

export interface Disk {
  freeBytes(folder: string): Promise<number>;
  write(file: FileHandle, bytes: Uint8Array, position: number): Promise<void>;
}

export const realDisk: Disk = {
  async freeBytes(folder) {
    const { blocks, bavail, bsize } = await statfs(folder);
    return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
  },
  async write(file, bytes, position) {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  },
};
