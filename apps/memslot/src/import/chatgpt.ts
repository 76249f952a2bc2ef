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
} from "./exported-conversation.ts";

/**
 * A conversation of ChatGPT's export, by the branch that was shown last. https://help.openai.com/en/articles/7260999
 */
export function readChatGpt(entry: unknown, leftOut: LeftOut): Conversation | undefined {
  const fields = fieldsOf(entry);
  const mapping = fieldsOf(fields?.["mapping"]);
  const id = textOf(fields?.["conversation_id"]) || textOf(fields?.["id"]);
  if (fields === undefined || mapping === undefined || id === "") {
    leaveOut(leftOut, notOne);
    return undefined;
  }
  const branch = branchOf(mapping, textOf(fields["current_node"]));
  const said = Object.values(mapping).filter(isSaid).length;
  leaveOut(leftOut, "messages of branches that were given up", said - branch.filter(isSaid).length);
  const messages = branch.flatMap((node) => messageOf(node, leftOut));
  const begun = momentOf(fields["create_time"]);
  return ifSaid(
    { id, title: textOf(fields["title"]), begun, url: `https://chatgpt.com/c/${encodeURIComponent(id)}`, messages },
    leftOut,
  );
}

/** From the first message to the last one shown; if unknown, to the last one in the file. */
function branchOf(mapping: Record<string, unknown>, current: string): unknown[] {
  const branch: unknown[] = [];
  const seen = new Set<string>();
  let at = Object.hasOwn(mapping, current) ? current : (Object.keys(mapping).at(-1) ?? "");
  while (Object.hasOwn(mapping, at) && !seen.has(at)) {
    seen.add(at);
    branch.push(mapping[at]);
    at = textOf(fieldsOf(mapping[at])?.["parent"]);
  }
  return branch.toReversed();
}

function roleOf(node: unknown): string {
  return textOf(fieldsOf(fieldsOf(fieldsOf(node)?.["message"])?.["author"])?.["role"]);
}

function isSaid(node: unknown): boolean {
  return ["user", "assistant"].includes(roleOf(node));
}

function messageOf(node: unknown, leftOut: LeftOut): Message[] {
  const message = fieldsOf(fieldsOf(node)?.["message"]);
  const role = roleOf(node);
  if (message === undefined || role === "") return [];
  if (role === "tool") leaveOut(leftOut, "answers of tools");
  if (role !== "user" && role !== "assistant") return [];
  const content = fieldsOf(message["content"]);
  const kind = textOf(content?.["content_type"]);
  if (kind !== "text" && kind !== "multimodal_text") {
    leaveOut(leftOut, reasonFor(kind));
    return [];
  }
  const parts = Array.isArray(content?.["parts"]) ? content["parts"] : [];
  const text = parts
    .map((part) => partOf(part, leftOut))
    .filter(Boolean)
    .join("\n\n");
  return text.trim() === "" ? [] : [{ from: role, at: momentOf(message["create_time"]), text }];
}

function partOf(part: unknown, leftOut: LeftOut): string {
  if (typeof part === "string") return part;
  const fields = fieldsOf(part);
  if (fields?.["content_type"] === "audio_transcription") return textOf(fields["text"]);
  leaveOut(leftOut, "pictures, sounds and files");
  return "";
}

function reasonFor(kind: string): string {
  if (kind === "thoughts" || kind === "reasoning_recap") return "thoughts of the model";
  if (kind === "user_editable_context" || kind === "model_editable_context") return "settings of the account";
  return kind === "code" ? "calls of tools" : `messages of the kind ${JSON.stringify(kind)}`;
}
