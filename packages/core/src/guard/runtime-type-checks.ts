import { quoteText } from "../config/agent-ids.ts";
import type { EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError } from "../contract/errors.ts";
import type { Reranker } from "../contract/reranker.ts";

export interface Kind<Value> {
  readonly wanted: string;
  readonly is: (value: unknown, owner?: Readonly<Record<string, unknown>>) => value is Value;
}

export function kindOf<Value>(
  wanted: string,
  is: (value: unknown, owner: Readonly<Record<string, unknown>>) => boolean,
): Kind<Value> {
  return { wanted, is: (value, owner = {}): value is Value => is(value, owner) };
}

export const flag: Kind<boolean> = kindOf("true or false", (value) => typeof value === "boolean");
export const text: Kind<string> = kindOf("a string", (value) => typeof value === "string");
export const filled: Kind<string> = kindOf("a non-empty string", (value) => text.is(value) && value.trim() !== "");
export const list: Kind<readonly unknown[]> = kindOf("a list", Array.isArray);
export const object: Kind<object> = kindOf("an object", (value) => isObject(value) && !Array.isArray(value));
export const callable: Kind<(...given: never[]) => void> = kindOf("a function", (value) => typeof value === "function");
export const abortSignal: Kind<AbortSignal> = kindOf("an AbortSignal", (value) => value instanceof AbortSignal);
export const count: Kind<number> = whole(0, Number.MAX_SAFE_INTEGER, "a whole number, 0 or more");
export const line: Kind<number> = whole(1, Number.MAX_SAFE_INTEGER, "a line number, 1 or more");

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export function named<Value>(wanted: string, { is }: Kind<Value>): Kind<Value> {
  return { wanted, is };
}

export function orAbsent<Value>({ wanted, is }: Kind<Value>): Kind<Value | undefined> {
  return kindOf(wanted, (value, owner) => value === undefined || is(value, owner));
}

export function whole(least: number, most: number, wanted = `a whole number from ${least} to ${most}`): Kind<number> {
  return kindOf(wanted, (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most);
}

/** A number in a range, or outside of it by at most `rounding`. */
export function between(least: number, most: number, rounding = 0): Kind<number> {
  return kindOf(
    `a number from ${least} to ${most}`,
    (value) => typeof value === "number" && value >= least - rounding && value <= most + rounding,
  );
}

export function oneOf<Value extends string>(values: readonly Value[]): Kind<Value> {
  return kindOf(`one of ${values.join(", ")}`, (value) => values.some((known) => known === value));
}

export function fieldProblem(
  value: unknown,
  fields: Readonly<Record<string, Kind<unknown>>>,
  name = "it",
): string | undefined {
  if (!isObject(value)) return `"${name}" must be an object, not ${show(value)}`;
  const owner = value as Readonly<Record<string, unknown>>;
  const wrong = Object.entries(fields).find(([field, { is }]) => !is(owner[field], owner));
  return wrong && `"${wrong[0]}" must be ${wrong[1].wanted}, not ${show(owner[wrong[0]])}`;
}

/** Reads an option: returns its value, or throws `INVALID_ARGUMENT` with its name, the wanted kind and the value. */
export type Field<Value> = (name: string, value: unknown, options?: object) => Value;

export function required<Value>({ wanted, is }: Kind<Value>): Field<Value> {
  return (name, value) => {
    if (!is(value)) throw invalid(name, wanted, value);
    return value;
  };
}

export function optional<Value, Usual = Value>(kind: Kind<Value>, usual: Usual): Field<Value | Usual> {
  return (name, value) => (value === undefined ? usual : required(kind)(name, value));
}

/** The `path` of a note, or `relPath`, its older name. */
export const notePath: Field<string> = (older, value, options = {}) => {
  const given: unknown = Reflect.get(options, "path");
  if (value !== undefined && given !== undefined && value !== given)
    throw invalid("path", `the same as ${older}, its older name`, given);
  const name = value === undefined ? "path" : older;
  const path = required(named("the path of a memory file", filled))(name, value ?? given);
  if (path.includes("\0")) throw invalid(name, "a path without NUL characters", path);
  return path;
};

export type Read<Fields extends Readonly<Record<string, Field<unknown>>>> = {
  [Name in keyof Fields]: ReturnType<Fields[Name]>;
};

export function readFields<Fields extends Readonly<Record<string, Field<unknown>>>>(
  fields: Fields,
  options: object,
): Read<Fields> {
  const read = Object.entries(fields).map(([name, field]) => [name, field(name, Reflect.get(options, name), options)]);
  return Object.fromEntries(read) as Read<Fields>;
}

/** The error of a wrong argument: its name, the wanted kind and the given value. */
export function invalid(name: string, wanted: string, given: unknown): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `${name} must be ${wanted}, not ${show(given)}`);
}

/** A short one-line form of a value for messages. */
export function show(value: unknown): string {
  if (typeof value === "string") return quoteText(value);
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol" || typeof value === "bigint") return `a ${typeof value}`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

export interface Shape {
  readonly fields: Readonly<Record<string, Kind<unknown>>>;
  readonly each?: string;
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

/** Throws `PLUGIN` with the field if a value is not an embedding provider. `whose`: its origin, for the message. */
export function checkProvider(whose: string, provider: EmbeddingProvider): void {
  const fields = { id: filled, model: filled, embedQuery: callable, embedBatch: callable };
  checkOpened(`${whose} is not an embedding provider`, provider, fields);
}

/** Throws `PLUGIN` with the field if a value is not a reranker. `whose`: its origin, for the message. */
export function checkReranker(whose: string, reranker: Reranker): void {
  checkOpened(`${whose} is not a reranker`, reranker, { id: filled, model: filled, rerank: callable });
}

export function checkOpened(what: string, opened: unknown, fields: Shape["fields"]): void {
  const problem = fieldProblem(opened, fields);
  if (problem !== undefined) throw new MemoryError("PLUGIN", `${what}: ${problem}`);
}

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
    sections: orAbsent(kindOf("texts", (value) => list.is(value) && value.every((each) => text.is(each)))),
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
