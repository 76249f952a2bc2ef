import type { ConversationMessage } from "../conversation.ts";
import { shownLine, timeOf } from "./transcript-place.ts";
import { isObject } from "../session/transcript-entry.ts";

/** What an agent has asked of its memory, and what it got. */
export interface TranscriptRecall {
  /** Where the line with the question begins, in bytes. */
  start: number;
  at?: string | undefined;
  /** `memory_search` or `memory_get`. */
  tool: string;
  /** The query, or the path. */
  question: string;
  /** `path:line` of what came, at most 20; and how many came. Absent while no answer stands in the transcript. */
  results?: readonly string[] | undefined;
  resultCount?: number | undefined;
  /** What the answer says where it is no list: an error, or a text in a form that is not known. */
  said?: string | undefined;
}

/** Names of tools; hosts put the name of a server before them: `mcp__memslot__memory_search`. */
const recallTool = /(?:^|__|[.:/])(memory_search|memory_get)$/u;
const mostHeld = 200;
const mostResults = 20;
const saidCharacters = 300;

/** Questions and their answers, which stand in lines of their own. */
export class Recalls {
  /** The last 200, in their order. */
  readonly latest: TranscriptRecall[] = [];
  /** How many there were. */
  count = 0;
  readonly #open = new Map<string, TranscriptRecall>();

  take(message: ConversationMessage, start: number): void {
    if (message.role === "assistant")
      for (const { id, name, arguments: given } of message.toolCalls ?? []) {
        const tool = recallTool.exec(name)?.[1];
        if (tool === undefined) continue;
        const recall: TranscriptRecall = { start, at: timeOf(message.at), tool, question: questionOf(given) };
        this.count++;
        this.latest.push(recall);
        this.#open.set(id, recall);
        if (this.latest.length > mostHeld) this.latest.shift();
        // A question that was never answered is not waited for without end.
        for (const oldest of this.#open.keys()) if (this.#open.size > mostHeld) this.#open.delete(oldest);
      }
    if (message.role !== "tool") return;
    const asked = this.#open.get(message.toolCallId);
    if (asked === undefined) return;
    this.#open.delete(message.toolCallId);
    Object.assign(asked, answerOf(message.text));
  }
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
    return { results: places.slice(0, mostResults), resultCount: results.length };
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

/** The answer of a tool may stand in a frame: the object in it counts. */
function objectIn(text: string): Record<string, unknown> | undefined {
  const begin = text.indexOf("{");
  const end = text.lastIndexOf("}");
  if (begin < 0 || end < begin) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(begin, end + 1));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
