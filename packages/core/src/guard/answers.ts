import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError } from "../contract/errors.ts";
import type { Reranker } from "../contract/reranker.ts";
import {
  type Kind,
  between,
  callable,
  count,
  fieldProblem,
  filled,
  isObject,
  kindOf,
  line,
  list,
  named,
  oneOf,
  orAbsent,
  show,
  text,
} from "./values.ts";

/** What an answer of a manager must be: an object with these fields, or a list of such objects. */
export interface Shape {
  readonly fields: Readonly<Record<string, Kind<unknown>>>;
  /** What an entry of the list is called; absent where the answer is one object. */
  readonly each?: string;
  /** How a message names the answer. */
  readonly wanted?: string;
}

/** Throws `PLUGIN` for an answer that is not of its shape, naming the plugin, the call and the field. */
export function checkAnswer<Answer>(backend: string, call: string, answer: Answer, shape: Shape): Answer {
  const problem = answerProblem(answer, shape);
  if (problem === undefined) return answer;
  const advice = "report this to the author of the plugin";
  throw new MemoryError("PLUGIN", `memory plugin "${backend}" broke its contract in ${call}: ${problem}; ${advice}`);
}

function answerProblem(answer: unknown, { fields, each, wanted }: Shape): string | undefined {
  if (each === undefined ? !isObject(answer) : !Array.isArray(answer))
    return `gave ${show(answer)} where ${wanted ?? (each === undefined ? "an object" : `a list of ${each}s`)} is wanted`;
  if (each === undefined) return fieldProblem(answer, fields);
  const problems = (answer as readonly unknown[]).map((entry) => fieldProblem(entry, fields, each));
  const index = problems.findIndex((problem) => problem !== undefined);
  return index < 0 ? undefined : `${each} ${index + 1}: ${problems[index]}`;
}

/** Refuses what is no embedding provider, naming the field. `whose` says where it came from. */
export function checkProvider(whose: string, provider: EmbeddingProvider): void {
  const fields = { id: filled, model: filled, embedQuery: callable, embedBatch: callable };
  checkOpened(`${whose} is no embedding provider`, provider, fields);
}

/** Refuses what is no reranker, naming the field. `whose` says where it came from. */
export function checkReranker(whose: string, reranker: Reranker): void {
  checkOpened(`${whose} is no reranker`, reranker, { id: filled, model: filled, rerank: callable });
}

/** Refuses what a plugin opened where it lacks these fields. */
export function checkOpened(what: string, opened: unknown, fields: Shape["fields"]): void {
  const problem = fieldProblem(opened, fields);
  if (problem !== undefined) throw new MemoryError("PLUGIN", `${what}: ${problem}`);
}

// Cosines of 32-bit vectors end up this little outside their range.
const rounding = 1e-6;
const score = between(0, 1, rounding);

export const searchAnswer: Shape = {
  each: "result",
  fields: {
    path: kindOf("a path without NUL characters", (value) => filled.is(value) && !value.includes("\0")),
    startLine: line,
    endLine: kindOf(
      "a line number not before startLine",
      (value, { startLine }) => line.is(value) && value >= Number(startLine),
    ),
    score,
    vectorScore: orAbsent(between(-1, 1, rounding)),
    textScore: orAbsent(score),
    snippet: text,
    lines: orAbsent(kindOf("pairs of lines from startLine to endLine, in their order", areRanges)),
    heading: orAbsent(text),
    source: named("the name of a source", filled),
    citation: orAbsent(text),
    parts: orAbsent(kindOf("numbers for words, names, dates and meaning", areParts)),
  },
};

export const readAnswer: Shape = {
  fields: {
    status: named('"ok" or "not_found"', oneOf(["ok", "not_found"])),
    text,
    path: named("a path", filled),
    from: orAbsent(line),
    lines: orAbsent(count),
    nextFrom: orAbsent(line),
  },
};

export const syncAnswer: Shape = {
  wanted: "a report or nothing",
  fields: { added: count, changed: count, removed: count, unchanged: count, failed: list },
};

/** Whether these are ranges that follow each other, none outside of the lines of the result. */
function areRanges(value: unknown, { startLine, endLine }: Readonly<Record<string, unknown>>): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  let next = Number(startLine);
  for (const range of value) {
    if (!Array.isArray(range) || range.length !== 2) return false;
    const [from, to]: unknown[] = range;
    if (!line.is(from) || !line.is(to) || to < from || from < next || to > Number(endLine)) return false;
    next = to + 1;
  }
  return true;
}

function areParts(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { words, names, dates, meaning } = value as Readonly<Record<string, unknown>>;
  return [words, names, dates, meaning].every((part) => typeof part === "number" && Number.isFinite(part));
}
