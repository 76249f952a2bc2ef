import { MemoryError, type MemorySearchSettings } from "@memslot/core";
import type { GeminiModel } from "./models.ts";

/** How a model is told what a text is for. */
export interface Task {
  /** Sent beside the text; undefined: nothing is. */
  type: string | undefined;
  /** Stands before the text; often empty. */
  prefix: string;
}

// The task types of the interface, each with the words that stand for it with a model that reads prefixes.
const prefixes: Readonly<Record<string, string>> = {
  RETRIEVAL_QUERY: "task: search result | query: ",
  RETRIEVAL_DOCUMENT: "title: none | text: ",
  QUESTION_ANSWERING: "task: question answering | query: ",
  FACT_VERIFICATION: "task: fact checking | query: ",
  CODE_RETRIEVAL_QUERY: "task: code retrieval | query: ",
  SEMANTIC_SIMILARITY: "task: sentence similarity | query: ",
  CLASSIFICATION: "task: classification | query: ",
  CLUSTERING: "task: clustering | query: ",
};
const unspecified = "TASK_TYPE_UNSPECIFIED";
// What these ask is looked for in texts that are marked as documents.
const onlyForQueries: readonly string[] = [
  "RETRIEVAL_QUERY",
  "QUESTION_ANSWERING",
  "FACT_VERIFICATION",
  "CODE_RETRIEVAL_QUERY",
];

/** Throws `CONFIG` for a task type that does not exist: Google would refuse every single text. */
export function queryTask(settings: MemorySearchSettings, model: GeminiModel): Task {
  const type = writtenType(settings, "queryInputType") ?? "RETRIEVAL_QUERY";
  return taskOf(type, type, model);
}

/** The same for notes. */
export function documentTask(settings: MemorySearchSettings, model: GeminiModel): Task {
  const type = writtenType(settings, "documentInputType") ?? "RETRIEVAL_DOCUMENT";
  return taskOf(type, onlyForQueries.includes(type) ? "RETRIEVAL_DOCUMENT" : type, model);
}

/** Names what the vectors of notes were made for. */
export function taskKey({ type, prefix }: Task): string {
  return type ?? prefix;
}

function taskOf(type: string, prefixType: string, { readsPrefixes }: GeminiModel): Task {
  if (type === unspecified) return { type: undefined, prefix: "" };
  return readsPrefixes ? { type: undefined, prefix: prefixes[prefixType] ?? "" } : { type, prefix: "" };
}

function writtenType(
  settings: MemorySearchSettings,
  ownKey: "queryInputType" | "documentInputType",
): string | undefined {
  const key = settings[ownKey] === undefined ? "inputType" : ownKey;
  const written = settings[key];
  if (written === undefined) return undefined;
  const type = written.trim().toUpperCase();
  if (type === unspecified || Object.hasOwn(prefixes, type)) return type;
  const known = [...Object.keys(prefixes), unspecified].join(", ");
  throw new MemoryError("CONFIG", `${key} is "${written}", which is no task type of Gemini; there are ${known}`);
}
