export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, name: string): JsonObject | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return isObject(inner) ? inner : undefined;
}

export function textAt(value: unknown, name: string): string | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return typeof inner === "string" ? inner : undefined;
}

/** The value of JSON text or bytes; undefined if it is not valid. */
export function jsonOf(value: unknown): unknown {
  const text = typeof value === "string" ? value : value instanceof Uint8Array ? Buffer.from(value).toString() : "";
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
