import { constants } from "node:fs";
import { type FileHandle, lstat, realpath } from "node:fs/promises";
import path from "node:path";
import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import {
  type FolderInPlace,
  listInPlace,
  MovedError,
  openFolderInPlace,
  openInPlace,
  syncFolder,
} from "@memslot/core/files";
import type { ConversationMessage } from "../conversation.ts";
import { keepNotesLayout } from "../edit/note-folder.ts";
import { copiedText, slugOf } from "../edit/note-text.ts";
import { closing, unlessThere } from "../edit/safe-writes.ts";
import { localTime } from "../edit/local-day.ts";

const describeDeadlineMs = 30_000;
const maxTextLength = 8_000;
const maxNamesTried = 100;

/** Says in a few words and in a short text what a session was about. */
export type DescribeSession = (input: {
  summary?: string | undefined;
  messages: readonly ConversationMessage[];
  signal: AbortSignal;
}) => Promise<{ slug: string; text: string }>;

export interface SessionNoteOptions {
  workspaceDir: string;
  /** The session that ended, see `Session`. Its messages can be read after it was closed. */
  session: { readonly key: string; readonly id: string };
  messages: readonly ConversationMessage[];
  /** Of what was compacted before. */
  summary?: string | undefined;
  /** A model. Without one no note is written. */
  describe?: DescribeSession | undefined;
  at: Date;
  timeZone: string;
  signal?: AbortSignal | undefined;
}

/** The note that was written, by its path in the workspace; or why none was. */
export type SessionNote =
  | { readonly path: string; readonly reason?: undefined }
  | { readonly path?: undefined; readonly reason: string };

/**
 * Writes a short note about a session that was ended with /new or /reset: `memory/YYYY-MM-DD-slug.md`. An existing file
 * is never changed; a session that has a note of this day already gets no second one. What looks like a secret is left
 * out of it, as of every copy. Rejects with `AbortError` when aborted; every other failure is the `reason`.
 */
export async function writeSessionNote(options: SessionNoteOptions): Promise<SessionNote> {
  const { workspaceDir, session, messages, summary, describe, signal, at, timeZone } = options;
  if (!describe) return { reason: "no model to describe the session" };
  if (!messages.some((message) => message.role === "user")) return { reason: "nobody said anything in the session" };
  try {
    const { day, time } = localTime(at, timeZone);
    const folder = await memoryFolder(workspaceDir);
    const there = await noteOf(session.id, folder, day);
    if (there !== undefined) return { path: `memory/${there}` };
    const described = await withDeadline(
      { what: "the description of the session", deadlineMs: describeDeadlineMs, signals: [signal] },
      async (inner) => await describe({ summary, messages, signal: inner }),
    );
    const text = noteText(described?.text);
    if (text === "") return { reason: "the model did not describe the session" };
    const slug = slugOf(described.slug) || time.replace(":", "");
    const head = `# Session of ${day} ${time}\n\n${marked("Session", session.id)}\n${marked("Key", session.key)}\n\n`;
    return { path: `memory/${await createNote(folder, `${day}-${slug}`, `${head}${text}\n`)}` };
  } catch (error) {
    if (signal?.aborted) throw error;
    return { reason: isAbort(error) ? "the description of the session was aborted" : messageOf(error) };
  }
}

/** `memory/` of the workspace, made where it is missing. A link in its place is refused: notes must stay inside. */
async function memoryFolder(workspaceDir: string): Promise<string> {
  await keepNotesLayout(workspaceDir);
  const folder = await closing(await openFolderInPlace(await realpath(workspaceDir)), async (workspace) => {
    await unlessThere(workspace.mkdir("memory"));
    return path.join(workspace.path, "memory");
  });
  const stats = await lstat(folder);
  if (stats.isDirectory()) return folder;
  const what = stats.isSymbolicLink() ? "a symbolic link, which is not followed" : "no folder";
  throw new MemoryError("PATH_NOT_ALLOWED", `${folder} is ${what}: put a real folder there`);
}

/** The note of this day that is about the session, for a host that ended before it began the next one. */
async function noteOf(sessionId: string, folder: string, day: string): Promise<string | undefined> {
  const names = listInPlace(folder)
    .map(({ name }) => name)
    .filter((name) => name.startsWith(`${day}-`) && name.endsWith(".md"));
  for (const name of names) {
    const head = await headOf(path.join(folder, name));
    if (head.includes(`\n${marked("Session", sessionId)}\n`)) return name;
  }
  return undefined;
}

async function headOf(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await openInPlace(file, constants.O_RDONLY);
    if (!(await handle.stat()).isFile()) return "";
    const head = Buffer.alloc(2048);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    return head.toString("utf8", 0, bytesRead);
  } catch {
    // A file that cannot be read is no note that was written here.
    return "";
  } finally {
    await handle?.close();
  }
}

async function createNote(folderPath: string, name: string, text: string): Promise<string> {
  return await closing(await openFolderInPlace(folderPath), async (folder) => {
    for (let number = 1; number <= maxNamesTried; number++) {
      const fileName = `${name}${number === 1 ? "" : `-${number}`}.md`;
      if (await createFile(folder, fileName, text)) return fileName;
    }
    throw new Error(`${name}.md and ${maxNamesTried - 1} more of that name are there already`);
  });
}

/** False where there is a file of this name already. What could not be written whole is not left behind. */
async function createFile(folder: FolderInPlace, fileName: string, text: string): Promise<boolean> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const opened = await unlessThere(folder.open(fileName, flags, 0o666));
  if (opened === undefined) return false;
  await closing(opened, async (handle) => {
    try {
      // The folder may have turned into a link since it was looked at.
      if (!folder.holds(handle, fileName)) throw new MovedError(folder.path);
      await handle.writeFile(text);
      await handle.sync();
    } catch (error) {
      // It is ours and nobody was told of it.
      await folder.remove(fileName);
      throw error;
    }
  });
  await syncFolder(folder.path);
  return true;
}

function marked(name: string, value: string): string {
  return `- ${name}: \`${value.replaceAll("`", "'")}\``;
}

function noteText(text: unknown): string {
  return typeof text === "string" ? copiedText(text.slice(0, maxTextLength)) : "";
}
