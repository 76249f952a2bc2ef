import type { Readable } from "node:stream";
import { text as textOfStream } from "node:stream/consumers";
import type { ImportedNote } from "@memslot/agent-kit";
import { MemoryError, messageOf } from "@memslot/core";
import {
  type Conversation,
  fieldsOf,
  ifSaid,
  leaveOut,
  type LeftOut,
  type Message,
  momentOf,
  notOne,
  textOf,
  below,
} from "./exported-conversation.ts";
import { exportParts } from "./export-file.ts";

/** A conversation of Claude's export. */
export function readClaude(entry: unknown, leftOut: LeftOut): Conversation | undefined {
  const fields = fieldsOf(entry);
  const said = fields?.["chat_messages"];
  const id = textOf(fields?.["uuid"]);
  if (fields === undefined || !Array.isArray(said) || id === "") {
    leaveOut(leftOut, notOne);
    return undefined;
  }
  const messages = said.flatMap((message) => messagesIn(message, leftOut));
  const begun = momentOf(fields["created_at"]);
  return ifSaid(
    { id, title: textOf(fields["name"]), begun, url: `https://claude.ai/chat/${encodeURIComponent(id)}`, messages },
    leftOut,
  );
}

function messagesIn(given: unknown, leftOut: LeftOut): Message[] {
  const message = fieldsOf(given);
  const from = { human: "user", assistant: "assistant" }[textOf(message?.["sender"])] as Message["from"] | undefined;
  if (message === undefined || from === undefined) return [];
  for (const field of ["attachments", "files"]) {
    const there = message[field];
    leaveOut(leftOut, "pictures, sounds and files", Array.isArray(there) ? there.length : 0);
  }
  const blocks = Array.isArray(message["content"]) ? message["content"].map(fieldsOf) : [];
  const texts = blocks.filter((block) => block?.["type"] === "text").map((block) => textOf(block?.["text"]));
  for (const block of blocks) {
    const kind = textOf(block?.["type"]);
    if (kind === "thinking") leaveOut(leftOut, "thoughts of the model");
    else if (kind === "tool_use") leaveOut(leftOut, "calls of tools");
    else if (kind === "tool_result") leaveOut(leftOut, "answers of tools");
    else if (kind !== "text") leaveOut(leftOut, `messages of the kind ${JSON.stringify(kind)}`);
  }
  // Older exports have no blocks.
  const text = texts.filter(Boolean).join("\n\n") || (blocks.length === 0 ? textOf(message["text"]) : "");
  return text.trim() === "" ? [] : [{ from, at: momentOf(message["created_at"]), text }];
}

/** Files with Claude's own memories, and projects with their documents. */
const keptName = /(?:^|\/)(?:memories|projects)\.json$|(?:^|\/)projects\/[^/]+\.json$/u;
/** These files have some pages, not years of messages. */
const maxBytes = 64 * 1024 * 1024;

/** The notes in an export of Claude beside its conversations, if any. */
export async function* claudeKept(input: {
  file: string;
  dayOf: (at: Date) => string;
  leftOut: LeftOut;
}): AsyncGenerator<ImportedNote> {
  const { file, dayOf, leftOut } = input;
  const names = new Map<string, string>();
  const memories: unknown[] = [];
  for await (const part of exportParts(file, keptName)) {
    const value = await jsonOf(part.name, await part.open());
    for (const entry of Array.isArray(value) ? value : [value]) {
      const fields = fieldsOf(entry);
      if (fields !== undefined && ("conversations_memory" in fields || "project_memories" in fields))
        memories.push(fields);
      else if (fields !== undefined && textOf(fields["uuid"]) !== "") {
        names.set(textOf(fields["uuid"]), textOf(fields["name"]));
        const note = projectNote(fields, dayOf);
        if (note === undefined) leaveOut(leftOut, "projects with nothing in them");
        else yield note;
      } else leaveOut(leftOut, "entries beside the conversations that are not known");
    }
  }
  for (const each of memories) yield* memoryNotes(fieldsOf(each) ?? {}, names);
}

async function jsonOf(name: string, stream: Readable): Promise<unknown> {
  let bytes = 0;
  stream.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxBytes) stream.destroy(new Error(`it is larger than ${maxBytes / 1024 / 1024} MB`));
  });
  try {
    return JSON.parse(await textOfStream(stream));
  } catch (error) {
    throw new MemoryError("INVALID_ARGUMENT", `${name} is no JSON that can be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function projectNote(fields: Record<string, unknown>, dayOf: (at: Date) => string): ImportedNote | undefined {
  const id = textOf(fields["uuid"]);
  const begun = momentOf(fields["created_at"]);
  const documents = (Array.isArray(fields["docs"]) ? fields["docs"] : []).map(fieldsOf);
  const parts = [
    textOf(fields["description"]),
    section("Instructions", textOf(fields["prompt_template"])),
    ...documents.map((each) => section(textOf(each?.["filename"]) || "Document", textOf(each?.["content"]))),
  ].filter((part) => part.trim() !== "");
  if (parts.length === 0) return undefined;
  return {
    id: `project-${id}`,
    title: `Project ${textOf(fields["name"]) || id}`,
    day: begun && dayOf(begun),
    url: `https://claude.ai/project/${encodeURIComponent(id)}`,
    text: parts.join("\n\n"),
  };
}

/** Of all conversations together, and of each project. */
function* memoryNotes(fields: Record<string, unknown>, names: ReadonlyMap<string, string>): Generator<ImportedNote> {
  const account = textOf(fields["account_uuid"]);
  const general = textOf(fields["conversations_memory"]);
  if (general.trim() !== "")
    yield { id: `memory-${account}`, title: "What Claude has noted of all conversations", text: below(general.trim()) };
  const own = fields["project_memories"];
  const entries = Array.isArray(own)
    ? own.map(fieldsOf).map((each) => [textOf(each?.["project_uuid"]) || textOf(each?.["uuid"]), each?.["memory"]])
    : Object.entries(fieldsOf(own) ?? {});
  for (const [id, value] of entries) {
    const text = textOf(value);
    if (text.trim() === "") continue;
    const project = names.get(String(id)) || String(id);
    yield {
      id: `memory-${String(id)}`,
      title: `What Claude has noted of the project ${project}`,
      text: below(text.trim()),
    };
  }
}

function section(title: string, text: string): string {
  return text.trim() === "" ? "" : `## ${title.replaceAll(/\s+/gu, " ").trim()}\n\n${below(text.trim())}`;
}
