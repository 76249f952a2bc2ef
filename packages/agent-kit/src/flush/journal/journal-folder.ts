import { createHash, randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { messageOf } from "@memslot/core";
import { codeOf, replaceFile, syncFolder } from "@memslot/core/files";

/** The leftovers of a process that is still at work are younger. */
const leftoverMinutes = 10;

/** Records of one folder: read whole or set aside, written whole, and what is found wrong with them. */
export class JournalFolder {
  readonly path: string;
  readonly #notices = new Set<string>();

  constructor(folder: string) {
    this.path = folder;
  }

  get notices(): readonly string[] {
    return [...this.#notices];
  }

  note(line: string): void {
    this.#notices.add(line);
  }

  /** Undefined where there is no folder. */
  async names(): Promise<string[] | undefined> {
    try {
      return await readdir(this.path);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Undefined where it is gone, cannot be read, or was damaged and set aside; `lost` says what that means then. */
  async read<R>(name: string, fits: (value: unknown) => value is R, lost: string): Promise<R | undefined> {
    const file = path.join(this.path, name);
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      this.note(`${file} cannot be read (${messageOf(error)}): what is in it waits until it can`);
      return undefined;
    }
    try {
      const value: unknown = JSON.parse(text);
      if (fits(value)) return value;
    } catch {
      // Not JSON: set aside like a record of another shape.
    }
    await this.#setAside(file, lost);
    return undefined;
  }

  /** Somebody may still get the messages out of it by hand. */
  async #setAside(file: string, lost: string): Promise<void> {
    const aside = `${file}.${randomUUID().slice(0, 8)}.broken`;
    try {
      await rename(file, aside);
      this.note(`${file} is damaged and was set aside as ${path.basename(aside)}: ${lost}`);
    } catch (error) {
      this.note(`${file} is damaged and cannot be renamed (${messageOf(error)}): ${lost}`);
    }
  }

  async write(name: string, record: object): Promise<void> {
    await replaceFile(path.join(this.path, name), `${JSON.stringify(record)}\n`);
  }

  async remove(name: string): Promise<void> {
    await rm(path.join(this.path, name), { force: true });
  }

  /** Takes away what nobody needs. A disk that cannot be written keeps it. */
  async tidy(name: string): Promise<void> {
    await this.remove(name).catch(() => undefined);
  }

  async tidyLeftover(name: string): Promise<void> {
    const { mtimeMs } = await stat(path.join(this.path, name)).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > leftoverMinutes * 60_000) await this.tidy(name);
  }
}

/** For the owner alone, whatever the umask is and whoever made it, and there after a power cut. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32" && ((await stat(folder)).mode & 0o077) !== 0) await chmod(folder, 0o700);
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = path.dirname(made)) await syncFolder(path.dirname(made));
}

/** A session id names the file where it can; otherwise its hash does. */
export function nameOf(sessionId: string): string {
  return /^[\w-]{1,80}$/.test(sessionId) ? sessionId : hashOf([sessionId]);
}

export function hashOf(ids: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(ids)).digest("hex").slice(0, 16);
}
