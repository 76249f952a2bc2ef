import { MemoryError } from "../contract/errors.ts";

/** One kind of value, for arguments and for answers: messages say that a field must be `wanted`. */
export interface Kind<Value> {
  readonly wanted: string;
  /** `owner`: the object that has the value, where a field depends on another one. */
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

/** The same values by another name. */
export function named<Value>(wanted: string, { is }: Kind<Value>): Kind<Value> {
  return { wanted, is };
}

/** Also `undefined`. */
export function orAbsent<Value>({ wanted, is }: Kind<Value>): Kind<Value | undefined> {
  return kindOf(wanted, (value, owner) => value === undefined || is(value, owner));
}

export function whole(least: number, most: number, wanted = `a whole number from ${least} to ${most}`): Kind<number> {
  return kindOf(wanted, (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most);
}

/** A number in a range. `rounding` is how far outside of it a computed number may be. */
export function between(least: number, most: number, rounding = 0): Kind<number> {
  return kindOf(
    `a number from ${least} to ${most}`,
    (value) => typeof value === "number" && value >= least - rounding && value <= most + rounding,
  );
}

export function oneOf<Value extends string>(values: readonly Value[]): Kind<Value> {
  return kindOf(`one of ${values.join(", ")}`, (value) => values.some((known) => known === value));
}

/** What is wrong with the fields of a plugin's object, which `name` stands for; undefined where nothing is. */
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

/** Takes an option: gives its value, or throws `INVALID_ARGUMENT` naming it, what it has to be and what was given. */
export type Field<Value> = (name: string, value: unknown) => Value;

export function required<Value>({ wanted, is }: Kind<Value>): Field<Value> {
  return (name, value) => {
    if (!is(value)) throw invalid(name, wanted, value);
    return value;
  };
}

/** An option that is `usual` where it is left out. */
export function optional<Value, Usual = Value>(kind: Kind<Value>, usual: Usual): Field<Value | Usual> {
  return (name, value) => (value === undefined ? usual : required(kind)(name, value));
}

/** The path of a memory file. */
export const filePath: Field<string> = (name, value) => {
  const path = required(named("the path of a memory file", filled))(name, value);
  if (path.includes("\0")) throw invalid(name, "a path without NUL characters", path);
  return path;
};

/** What fields make of the options of a call. */
export type Read<Fields extends Readonly<Record<string, Field<unknown>>>> = {
  [Name in keyof Fields]: ReturnType<Fields[Name]>;
};

/** Takes the options that these fields name. */
export function readFields<Fields extends Readonly<Record<string, Field<unknown>>>>(
  fields: Fields,
  options: object,
): Read<Fields> {
  const read = Object.entries(fields).map(([name, field]) => [name, field(name, Reflect.get(options, name))]);
  return Object.fromEntries(read) as Read<Fields>;
}

/** Names the argument, what it has to be, and what was given. */
export function invalid(name: string, wanted: string, given: unknown): MemoryError {
  return new MemoryError("INVALID_ARGUMENT", `${name} must be ${wanted}, not ${show(given)}`);
}

/** A value as it may stand in a message: short, on one line. */
export function show(value: unknown): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > 80 ? `${value.slice(0, 80).toWellFormed()}…` : value);
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol" || typeof value === "bigint") return `a ${typeof value}`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}
