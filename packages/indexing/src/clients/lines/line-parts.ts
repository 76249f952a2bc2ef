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
/** With its end. Nothing of what a person wrote stands in between. */
const injectedBlock = new RegExp(`<(${injectedTags})\\b[^<>\\n]{0,200}>[^]*?</\\1>`, "giu");

/** What clients put into the user's mouth: reminders, command output, the environment. */
export function isInjected(text: string): boolean {
  return injectedStart.test(text);
}

/** What a person wrote, without such blocks before it, behind it and in between. */
export function withoutInjected(text: string): string {
  return text.includes("<") ? text.replaceAll(injectedBlock, "").trim() : text;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
