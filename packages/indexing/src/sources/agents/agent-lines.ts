import path from "node:path";
import type { ClientSource } from "@memslot/core";
import { isObject, saidRecord, textOf, timeOf, type TranscriptRecord } from "../record.ts";

/** What a line of a program's transcript says. */
export interface SaidLine {
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly id?: string | undefined;
  /** As it is written there. */
  readonly at?: string | undefined;
}

/** Reads a line that is a JSON object. Undefined for all else that stands in transcripts: tools, settings, summaries. */
type LineReader = (line: Record<string, unknown>) => SaidLine | undefined;

/** Of the programs that write their transcripts line by line. */
export const lineReaders: Readonly<Partial<Record<ClientSource, LineReader>>> = {
  // `{type, uuid, timestamp, isSidechain, message: {role, content}}`; not of a subagent, of the client itself or a summary.
  "claude-code": (line) =>
    line["isSidechain"] === true || line["isMeta"] === true || line["isCompactSummary"] === true
      ? undefined
      : saidBy(line["type"], objectAt(line, "message")?.["content"], line["uuid"], line["timestamp"]),
  // `{timestamp, type: "response_item", payload: {type: "message", role, content}}`. Its `event_msg` say it twice.
  codex(line) {
    const payload = line["type"] === "response_item" ? objectAt(line, "payload") : undefined;
    if (payload?.["type"] !== "message") return undefined;
    return saidBy(payload["role"], payload["content"], payload["id"], line["timestamp"]);
  },
  // `{role, message: {content: […]}}`, without ids and times.
  cursor(line) {
    const said = saidBy(line["role"], objectAt(line, "message")?.["content"]);
    // What stands around the query is Cursor's own.
    return said && { ...said, text: /<user_query>([^]*)<\/user_query>/u.exec(said.text)?.[1] ?? said.text };
  },
  // `{id, timestamp, type: "user" | "gemini", content}`; the same id once more is the same message.
  gemini: ({ type, content, id, timestamp }) => saidBy(type === "gemini" ? "assistant" : type, content, id, timestamp),
};

function saidBy(role: unknown, content: unknown, id?: unknown, at?: unknown): SaidLine | undefined {
  if (role !== "user" && role !== "assistant") return undefined;
  const given = { id, at };
  return { role, text: textOf(content, true), id: textAt(given, "id"), at: textAt(given, "at") };
}

/** A line of a program's transcript as a record, with where the program says it was at work. */
export function clientRecord(line: Record<string, unknown>, source: ClientSource, found?: unknown): TranscriptRecord {
  const folder = absoluteFolder(found);
  const said = lineReaders[source]?.(line);
  if (said === undefined) return { kind: "other", timeMs: timeOf(line["timestamp"]), folder };
  return saidRecord({ role: said.role, text: said.text, timeMs: timeOf(said.at), folder });
}

/** A folder as a program writes it down, of whatever system. All else might be taken for what stands for no single folder. */
export function absoluteFolder(value: unknown): string | undefined {
  const isFolder = typeof value === "string" && (path.posix.isAbsolute(value) || path.win32.isAbsolute(value));
  return isFolder ? value : undefined;
}

export function objectAt(value: unknown, name: string): Record<string, unknown> | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return isObject(inner) ? inner : undefined;
}

export function textAt(value: unknown, name: string): string | undefined {
  const inner = isObject(value) ? value[name] : undefined;
  return typeof inner === "string" ? inner : undefined;
}

/** What a text or its bytes say as JSON; undefined for what is none. */
export function jsonOf(value: unknown): unknown {
  const text = typeof value === "string" ? value : value instanceof Uint8Array ? Buffer.from(value).toString() : "";
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
