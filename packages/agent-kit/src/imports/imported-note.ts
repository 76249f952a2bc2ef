import { appendFileSync, mkdirSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { copiedText, slugOf } from "../edit/note-text.ts";
import { hashOf } from "../edit/safe-writes.ts";

/** A note that comes from elsewhere. */
export interface ImportedNote {
  /** Names it where it comes from, for ever. */
  id: string;
  title: string;
  /** When it was begun, as `YYYY-MM-DD`. */
  day?: string | undefined;
  /** Where it is to be seen. */
  url?: string | undefined;
  /** Its Markdown, without the title. */
  text: string;
}

const idLength = 12;
const nameShape = /(?:^|-)([0-9a-f]{12})\.md$/u;
const headShape = /^---\n(?:.*\n)*?state: ([0-9a-f]{64})\n---\n/u;

/** The file's name for a note that has none yet: `2024-03-12-heat-pump-0a1b2c3d4e5f.md`. */
export function namedFor({ day, title, id }: Pick<ImportedNote, "day" | "title" | "id">): string {
  return `${[day, slugOf(title), keyOf(id)].filter(Boolean).join("-")}.md`;
}

/** What tells notes of one source from each other in the names of their files. */
export function keyOf(id: string): string {
  return hashOf(id).slice(0, idLength);
}

/** The same of a file by its name; undefined for one that was not imported. */
export function keyOfName(name: string): string | undefined {
  return nameShape.exec(name)?.[1];
}

/** All of the file, with a hash of the text on top, by which a change that somebody makes is known later. */
export function fileTextOf(source: string, note: ImportedNote): string {
  const title = copiedText(note.title).replaceAll(/\s+/gu, " ") || "Untitled";
  const body = `# ${title}\n\n${copiedText(note.text)}\n`;
  const head = [`imported: ${source}`, `id: ${JSON.stringify(copiedText(note.id))}`];
  if (note.day !== undefined) head.push(`date: ${note.day}`);
  if (note.url !== undefined) head.push(`url: ${JSON.stringify(copiedText(note.url))}`);
  return `---\n${head.join("\n")}\nstate: ${hashOf(body)}\n---\n${body}`;
}

/** Whether a file still says what was written to it. */
export function isAsImported(text: string): boolean {
  const found = headShape.exec(text);
  return found !== null && hashOf(text.slice(found[0].length)) === found[1];
}

/** What was ever imported into a workspace from one source, so that what somebody deletes is not taken for new. */
export interface ImportedKeys {
  has(key: string): boolean;
  add(key: string): void;
}

/**
 * Reads the list, one key in each line, below the state folder. Where it is lost, deleted notes come again with the next import,
 * and nothing else. Throws `UNAVAILABLE` where it cannot be read or written.
 */
export async function openImportedKeys(place: {
  workspaceDir: string;
  stateDir: string;
  source: string;
}): Promise<ImportedKeys> {
  const workspace = await realpath(place.workspaceDir).catch(() => path.resolve(place.workspaceDir));
  const hash = hashOf(workspace).slice(0, 32);
  const file = path.join(place.stateDir, "imports", `${hash}-${place.source}.txt`);
  const text = await readFile(file, "utf8").catch(() => "");
  const keys = new Set(text.split("\n").filter((line) => /^[0-9a-f]{12}$/u.test(line)));
  // Half a line that a killed process has left is a line of its own.
  let begin = text === "" || text.endsWith("\n") ? "" : "\n";
  let isMade = false;
  return {
    has: (key) => keys.has(key),
    add(key) {
      if (keys.has(key)) return;
      try {
        if (!isMade) mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
        isMade = true;
        appendFileSync(file, `${begin}${key}\n`, { mode: 0o600 });
        begin = "";
      } catch (error) {
        const why = `the list of what was imported, ${file}, cannot be written: ${messageOf(error)}`;
        throw new MemoryError("UNAVAILABLE", `${why}; check the state folder and the room on its disk`, {
          cause: error,
        });
      }
      keys.add(key);
    },
  };
}
