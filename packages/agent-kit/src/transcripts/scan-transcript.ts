import type { FileHandle } from "node:fs/promises";
import { isObject, jsonOf, readLines } from "@memslot/indexing/host";
import type { ConversationMessage } from "../conversation-messages.ts";
import { readEntry, type TranscriptEntry } from "../session/transcript-entry.ts";
import type { HandOver } from "./compacted-messages.ts";
import type { TranscriptCompaction, TranscriptFacts, TranscriptRecall } from "./transcript-facts.ts";
import { shownLine, shownText, timeOrNone } from "./transcript-page.ts";

type Fate = (sessionId: string, messageId: string) => HandOver["state"] | "kept" | undefined;

/** Names of tools; hosts put the name of a server before them: `mcp__memslot__memory_search`. */
const recallTool = /(?:^|__|[.:/])(memory_search|memory_get)$/u;
const maxCompactions = 100;
const maxRecalls = 200;
const maxResults = 20;
const titleCharacters = 120;
const summaryCharacters = 4_000;
const saidCharacters = 300;

/**
 * Scans the first `bytes` of a transcript in parts, so that other work can run in between. Holds one line, the ids of the
 * messages since the last compaction, and the result.
 */
export async function scanTranscript(
  { handle, bytes }: { handle: FileHandle; bytes: number },
  { fateOf, signal }: { fateOf: Fate; signal: AbortSignal | undefined },
): Promise<TranscriptFacts> {
  const compactions: TranscriptCompaction[] = [];
  const recalls: TranscriptRecall[] = [];
  const counts = { messages: 0, results: 0, broken: 0, compactionCount: 0, recallCount: 0 };
  const facts: TranscriptFacts = { ...counts, compactions, recalls };
  /** Calls without a result yet, by id. */
  const open = new Map<string, TranscriptRecall>();
  let inContext: string[] = [];

  function seenAt(at: string | undefined): void {
    if (at === undefined) return;
    facts.from ??= at;
    facts.to = at;
  }

  function take(entry: TranscriptEntry, start: number): void {
    if (entry.kind === "broken") facts.broken++;
    else if (entry.kind === "session") {
      facts.sessionId ??= entry.id;
      facts.sessionKey ??= entry.key;
    } else if (entry.kind === "message") said(entry.message, start);
    else if (entry.kind === "compaction") compacted(entry, start);
  }

  function said(message: ConversationMessage, start: number): void {
    seenAt(timeOrNone(message.at));
    inContext.push(message.id);
    if (message.role === "tool") {
      facts.results++;
      const asked = open.get(message.toolCallId);
      open.delete(message.toolCallId);
      if (asked !== undefined) Object.assign(asked, answerOf(message.text));
      return;
    }
    facts.messages++;
    if (message.role === "user") {
      if (message.text.trim() !== "") facts.title ??= shownLine(message.text, titleCharacters);
      return;
    }
    for (const { id, name, arguments: given } of message.toolCalls ?? []) {
      const tool = recallTool.exec(name)?.[1];
      if (tool === undefined) continue;
      const recall: TranscriptRecall = { start, at: timeOrNone(message.at), tool, question: questionOf(given) };
      facts.recallCount++;
      recalls.push(recall);
      open.set(id, recall);
      if (recalls.length > maxRecalls) recalls.shift();
      // A call that never gets a result is forgotten.
      for (const oldest of open.keys()) if (open.size > maxRecalls) open.delete(oldest);
    }
  }

  function compacted(entry: Extract<TranscriptEntry, { kind: "compaction" }>, start: number): void {
    const { firstKeptId, summary, at } = entry;
    seenAt(at);
    const first = firstKeptId === undefined ? -1 : inContext.lastIndexOf(firstKeptId);
    const dropped = first < 0 ? inContext : inContext.slice(0, first);
    inContext = first < 0 ? [] : inContext.slice(first);
    const fates: Partial<Record<HandOver["state"] | "kept", number>> = {};
    for (const id of dropped) {
      const fate = fateOf(facts.sessionId ?? "", id);
      if (fate !== undefined) fates[fate] = (fates[fate] ?? 0) + 1;
    }
    compactions.push({ start, at, dropped: dropped.length, fates, ...shownText(summary, summaryCharacters) });
    if (compactions.length > maxCompactions) compactions.shift();
    facts.compactionCount++;
  }

  let lineNumber = 0;
  for await (const lines of readLines(handle, 0, bytes, signal))
    for (const line of lines) take(readEntry(line.bytes, ++lineNumber), line.start);
  return facts;
}

function questionOf(given: string): string {
  const { query, path, relPath, citation } = objectIn(given) ?? {};
  const asked = [query, path, relPath, citation].find((value) => typeof value === "string");
  return shownLine(typeof asked === "string" ? asked : given, 200);
}

function answerOf(text: string): Pick<TranscriptRecall, "results" | "resultCount" | "said"> {
  const answer = objectIn(text);
  const results = answer?.["results"];
  if (Array.isArray(results)) {
    const places = results.flatMap((result: unknown) => placeOf(result));
    return { results: places.slice(0, maxResults), resultCount: results.length };
  }
  const place = placeOf(answer);
  if (place.length > 0) return { results: place, resultCount: 1 };
  const error = answer?.["error"];
  return { said: shownLine(typeof error === "string" ? error : text, saidCharacters) };
}

function placeOf(value: unknown): string[] {
  if (!isObject(value) || typeof value["path"] !== "string") return [];
  const line = value["startLine"] ?? value["from"];
  return [typeof line === "number" ? `${value["path"]}:${line}` : value["path"]];
}

/** The JSON object in a text, which may have a delimiter around it. */
function objectIn(text: string): Record<string, unknown> | undefined {
  const value = jsonOf(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  return isObject(value) ? value : undefined;
}
