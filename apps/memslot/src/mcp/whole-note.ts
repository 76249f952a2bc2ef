import { type Memory, MemoryError } from "@memslot/core";

/** A resource is read as a whole, so it must be a size that a client can take. */
const MAX_RESOURCE_BYTES = 1_000_000;

/** Lines of one window; a read is cut to its budget of characters before that. */
const WINDOW_LINES = 5000;
const cutLine = /\n\[Line \d+ is \d+ characters long and is cut here;[^\n]*\]$/u;

/**
 * All lines of a memory file, as they stand in it, or undefined where there is no such file. Throws `PATH_NOT_ALLOWED`
 * as a read does, and `INVALID_ARGUMENT` for a file that cannot be given whole, which `memory_get` reads in parts.
 */
export async function readWholeNote(memory: Memory, relPath: string, signal: AbortSignal): Promise<string | undefined> {
  const parts: string[] = [];
  let bytes = 0;
  let from: number | undefined = 1;
  while (from !== undefined) {
    const { status, text, nextFrom } = await memory.readFile({ relPath, from, lines: WINDOW_LINES, signal });
    if (status === "not_found") return undefined;
    if (cutLine.test(text)) throw tooLarge(relPath, "has a line that is too long to be given whole");
    const window = withoutNotice(text, nextFrom);
    parts.push(window);
    bytes += Buffer.byteLength(window) + 1;
    if (bytes > MAX_RESOURCE_BYTES) throw tooLarge(relPath, `is larger than ${MAX_RESOURCE_BYTES / 1_000_000} MB`);
    // A backend that does not get on would be asked for ever.
    if (nextFrom !== undefined && nextFrom <= from)
      throw new MemoryError("PLUGIN", `reading ${relPath} does not get beyond line ${from}`);
    from = nextFrom;
  }
  const text = parts.join("\n");
  return text === "" ? "" : `${text}\n`;
}

/** Agents need to be told in the text that more follows; in the text of a file it has no place. */
function withoutNotice(text: string, nextFrom: number | undefined): string {
  if (nextFrom === undefined) return text;
  const notice = `\n[More content available. Use from=${nextFrom} to continue.]`;
  return text.endsWith(notice) ? text.slice(0, -notice.length) : text;
}

function tooLarge(relPath: string, why: string): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `${relPath} ${why}: read it in parts with the tool memory_get`);
}
