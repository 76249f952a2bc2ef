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
} from "./conversation.ts";

/** A conversation of Claude's export. */
export function readClaude(entry: unknown, leftOut: LeftOut): Conversation | undefined {
  const fields = fieldsOf(entry);
  const said = fields?.["chat_messages"];
  const id = textOf(fields?.["uuid"]);
  if (fields === undefined || !Array.isArray(said) || id === "") {
    leaveOut(leftOut, notOne);
    return undefined;
  }
  const messages = said.flatMap((message) => messageOf(message, leftOut));
  const begun = momentOf(fields["created_at"]);
  return ifSaid(
    { id, title: textOf(fields["name"]), begun, url: `https://claude.ai/chat/${encodeURIComponent(id)}`, messages },
    leftOut,
  );
}

function messageOf(given: unknown, leftOut: LeftOut): Message[] {
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
