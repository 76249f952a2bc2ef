export function objectAt(value: unknown, name: string): Record<string, unknown> | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return isObject(inner) ? inner : undefined;
}

export function textAt(value: unknown, name: string): string | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return typeof inner === "string" ? inner : undefined;
}

/** The text of a content that is a text, or a list of parts of which some are texts. */
export function textOf(content: unknown, types: readonly string[] = ["text"]): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .flatMap((part: unknown) => {
      if (typeof part === "string") return [part];
      const type = textAt(part, "type");
      return type === undefined || types.includes(type) ? (textAt(part, "text") ?? []) : [];
    })
    .join("\n");
}

const injectedTags =
  "system-reminder|command-(?:name|message|args)|local-command-\\w+|environment_context|user_instructions|permissions|turn_aborted|INSTRUCTIONS|session_context|ide_opened_file|ide_selection|bash-(?:input|stdout|stderr)|task-notification|user-prompt-submit-hook";
const injectedStart = new RegExp(`^\\s*<(?:${injectedTags})\\b`, "iu");
const injectedTag = new RegExp(`<(${injectedTags})\\b[^<>\\n]{0,200}>`, "giu");

/**
 * What was said, without what clients put into the user's mouth before it, behind it and in between: reminders, command output,
 * the environment. Empty where nothing else is there.
 */
export function ownText(role: "user" | "assistant", text: string): string {
  if (role === "assistant" || !text.includes("<")) return text;
  const own = withoutBlocks(text);
  return injectedStart.test(own) ? "" : own;
}

/** A tag that nothing ends is somebody's word: it is looked for once. */
function withoutBlocks(text: string): string {
  const unended = new Set<string>();
  let own = "";
  let done = 0;
  for (const { 0: tag, 1: name = "", index } of text.matchAll(injectedTag)) {
    const close = `</${name}>`;
    if (index < done || unended.has(close)) continue;
    const end = text.indexOf(close, index + tag.length);
    if (end < 0) unended.add(close);
    else {
      own += text.slice(done, index);
      done = end + close.length;
    }
  }
  return (own + text.slice(done)).trim();
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
