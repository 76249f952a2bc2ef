import { appendFileSync, mkdirSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError, messageOf } from "@memslot/core";
import { copiedText, slugOf } from "../edit/validate-note.ts";
import { hashOf } from "../edit/safe-writes.ts";

/** A note from another program. */
export interface ImportedNote {
  id: string;
  title: string;
  /** Of its begin, `YYYY-MM-DD`. */
  day?: string | undefined;
  url?: string | undefined;
  text: string;
}

const idLength = 12;
const nameShape = /(?:^|-)([0-9a-f]{12})\.md$/u;
const headShape = /^---\n(?:.*\n)*?state: ([0-9a-f]{64})\n---\n/u;

export function namedFor({ day, title, id }: Pick<ImportedNote, "day" | "title" | "id">): string {
  return `${[day, slugOf(title), keyOf(id)].filter(Boolean).join("-")}.md`;
}

export function keyOf(id: string): string {
  return hashOf(id).slice(0, idLength);
}

export function keyOfName(name: string): string | undefined {
  return nameShape.exec(name)?.[1];
}

/** The whole file. The hash of the text in its head shows later whether a user has changed it. */
export function fileTextOf(source: string, note: ImportedNote): string {
  const title = copiedText(note.title).replaceAll(/\s+/gu, " ") || "Untitled";
  const body = `# ${title}\n\n${copiedText(note.text)}\n`;
  const head = [`imported: ${source}`, `id: ${JSON.stringify(copiedText(note.id))}`];
  if (note.day !== undefined) head.push(`date: ${note.day}`);
  if (note.url !== undefined) head.push(`url: ${JSON.stringify(copiedText(note.url))}`);
  return `---\n${head.join("\n")}\nstate: ${hashOf(body)}\n---\n${body}`;
}

export function isAsImported(text: string): boolean {
  const found = headShape.exec(text);
  return found !== null && hashOf(text.slice(found[0].length)) === found[1];
}

export interface ImportedKeys {
  has(key: string): boolean;
  add(key: string): void;
}

/** Reads the list, one key a line. Without it the next import restores deleted notes. Throws `UNAVAILABLE`. */
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
        throw new MemoryError("UNAVAILABLE", `${why}; check the state folder and the space on its disk`, {
          cause: error,
        });
      }
      keys.add(key);
    },
  };
}
