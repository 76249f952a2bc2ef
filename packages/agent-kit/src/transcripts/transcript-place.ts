import { constants, lstatSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import path from "node:path";
import { MemoryError } from "@memslot/core";
import { codeOf, noSurprises, unlessMissing } from "@memslot/core/files";
import { journalFolder, sessionsFolder, redactSecrets } from "@memslot/indexing/host";
import { closing } from "../edit/safe-writes.ts";
import type { ShownText, TranscriptLabel, TranscriptPlace } from "./transcript.ts";

const fileName = /^(?!\.)[^/\\\0]{1,250}\.jsonl$/u;

/** The folder behind a name; undefined where it is not there, or a link stands in its way, which is not followed. */
export function transcriptFolder(place: TranscriptPlace, label: TranscriptLabel): string | undefined {
  const folder = label === "sessions" ? sessionsFolder(place) : journalFolder(place);
  const parts = [path.dirname(path.dirname(folder)), path.dirname(folder), folder];
  const areFolders = parts.every((part) => lstatSync(part, { throwIfNoEntry: false })?.isDirectory() === true);
  return areFolders ? folder : undefined;
}

/**
 * Reads a transcript by its path, `sessions/<name>.jsonl` or `journal/<name>.jsonl`. Undefined where there is none.
 * Throws `PATH_NOT_ALLOWED` for what is no such path, and for a link.
 */
export async function inTranscript<T>(
  place: TranscriptPlace,
  relPath: string,
  read: (handle: FileHandle, bytes: number) => Promise<T>,
): Promise<T | undefined> {
  const [label, name = "", ...more] = relPath.split("/");
  if ((label !== "sessions" && label !== "journal") || more.length > 0 || !fileName.test(name))
    throw notAllowed(relPath);
  const folder = transcriptFolder(place, label);
  if (folder === undefined) return undefined;
  const opened = await open(path.join(folder, name), constants.O_RDONLY | noSurprises).catch((error: unknown) => {
    if (codeOf(error) === "ELOOP") throw notAllowed(relPath);
    return unlessMissing(error);
  });
  if (opened === undefined) return undefined;
  return await closing(opened, async (handle) => {
    const stats = await handle.stat();
    if (!stats.isFile()) throw notAllowed(relPath);
    return await read(handle, stats.size);
  });
}

function notAllowed(relPath: string): MemoryError {
  return new MemoryError(
    "PATH_NOT_ALLOWED",
    `${JSON.stringify(relPath)} is no transcript: a path is like sessions/<id>.jsonl, and links are not followed`,
  );
}

/** More of one text is not looked at: nobody reads on. */
const mostCharacters = 256 * 1024;

/** The beginning of a text, without what looks like a secret, as in every copy that leaves the user's files. */
export function shownText(text: string, limit: number): ShownText {
  const looked = text.slice(0, Math.min(mostCharacters, Math.max(limit * 2, limit + 4_000)));
  const redacted = redactSecrets(looked);
  if (text.length === looked.length && redacted.length <= limit) return { text: redacted };
  return { text: redacted.slice(0, limit).toWellFormed(), characters: text.length };
}

/** The first line with something on it, shortened. */
export function shownLine(text: string, limit: number): string {
  const line = /\S[^\n\r]*/u.exec(text)?.[0] ?? "";
  const shown = shownText(line, limit);
  return shown.characters === undefined ? shown.text : `${shown.text.trimEnd()} …`;
}

/** A line without a time reads as the beginning of all times. */
export function timeOf(at: string): string | undefined {
  return Date.parse(at) > 0 ? at : undefined;
}
