import { constants } from "node:fs";
import path from "node:path";
import { isAbort, messageOf, withDeadline } from "@memslot/core";
import { type ConfinedFolder, listConfined, openConfined, syncFolder } from "@memslot/core/files";
import type { ConversationMessage } from "../conversation-messages.ts";
import { localTime } from "../edit/local-day.ts";
import { openWay } from "../edit/note-folder.ts";
import { copiedText, slugOf } from "../edit/validate-note.ts";
import { closing, makeFile, unlessThere } from "../edit/safe-writes.ts";

const describeDeadlineMs = 30_000;
const maxTextLength = 8_000;
const maxNamesTried = 100;

/** Describes the subject of a session in a few words and in a short text. */
export type DescribeSession = (input: {
  summary?: string | undefined;
  messages: readonly ConversationMessage[];
  signal: AbortSignal;
}) => Promise<{ slug: string; text: string }>;

export interface SessionNoteOptions {
  workspaceDir: string;
  session: { readonly key: string; readonly id: string };
  messages: readonly ConversationMessage[];
  /** Of messages that were compacted before. */
  summary?: string | undefined;
  describe?: DescribeSession | undefined;
  at: Date;
  timeZone: string;
  signal?: AbortSignal | undefined;
}

/** The path of the note in the workspace, or why none was written. */
export type SessionNote =
  | { readonly path: string; readonly reason?: undefined }
  | { readonly path?: undefined; readonly reason: string };

/** Writes a note about an ended session, `memory/YYYY-MM-DD-slug.md`, once a day. Rejects only if aborted. */
export async function writeSessionNote(options: SessionNoteOptions): Promise<SessionNote> {
  const { workspaceDir, session, messages, summary, describe, signal, at, timeZone } = options;
  if (!describe) return { reason: "no model to describe the session" };
  if (!messages.some((message) => message.role === "user")) return { reason: "the session has no message of the user" };
  try {
    const { day, time } = localTime(at, timeZone);
    return await closing(
      await openWay({ workspaceDir, relPath: `memory/${day}-${time.replace(":", "")}.md` }),
      async (folder) => {
        const there = await noteOf(session.id, folder.path, day);
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
      },
    );
  } catch (error) {
    if (signal?.aborted) throw error;
    return { reason: isAbort(error) ? "the description of the session was aborted" : messageOf(error) };
  }
}

async function noteOf(sessionId: string, folder: string, day: string): Promise<string | undefined> {
  for (const { name } of listConfined(folder)) {
    if (!name.startsWith(`${day}-`) || !name.endsWith(".md")) continue;
    const head = await headOf(path.join(folder, name)).catch(() => "");
    if (head.includes(`\n${marked("Session", sessionId)}\n`)) return name;
  }
  return undefined;
}

async function headOf(file: string): Promise<string> {
  return await closing(await openConfined(file, constants.O_RDONLY), async (handle) => {
    if (!(await handle.stat()).isFile()) return "";
    const head = Buffer.alloc(2048);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    return head.toString("utf8", 0, bytesRead);
  });
}

async function createNote(folder: ConfinedFolder, name: string, text: string): Promise<string> {
  for (let number = 1; number <= maxNamesTried; number++) {
    const fileName = `${name}${number === 1 ? "" : `-${number}`}.md`;
    const made = await unlessThere(makeFile(folder, fileName, text, async () => fileName));
    if (made === undefined) continue;
    await syncFolder(folder.path);
    return made;
  }
  throw new Error(`${name}.md and ${maxNamesTried - 1} more of that name exist already`);
}

function marked(name: string, value: string): string {
  return `- ${name}: \`${value.replaceAll("`", "'")}\``;
}

function noteText(text: unknown): string {
  return typeof text === "string" ? copiedText(text.slice(0, maxTextLength)) : "";
}
