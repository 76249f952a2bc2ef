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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
