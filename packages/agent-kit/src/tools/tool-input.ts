import type { MemoryToolResult, ToolInputSchema } from "./memory-tool.ts";

/** One field that a tool takes. The same table gives the schema that the model sees and the check at run time. */
interface InputField {
  readonly type: "string" | "strings" | "integer" | "integers" | "number" | "boolean";
  readonly description: string;
  readonly required?: true;
  /** A required text that may be empty. */
  readonly mayBeBlank?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  /** The only values allowed. */
  readonly values?: readonly string[];
}

export type InputFields = Readonly<Record<string, InputField>>;

type ValueOf<F extends InputField> = F["type"] extends "string"
  ? F extends { readonly values: readonly (infer Value)[] }
    ? Value
    : string
  : F["type"] extends "strings"
    ? readonly string[]
    : F["type"] extends "integers"
      ? readonly number[]
      : F["type"] extends "boolean"
        ? boolean
        : number;

/** What came through the check: required fields are there, the others may be undefined. */
export type CheckedInput<F extends InputFields> = {
  readonly [K in keyof F]: F[K] extends { readonly required: true } ? ValueOf<F[K]> : ValueOf<F[K]> | undefined;
};

type InputCheck<F extends InputFields> =
  | { readonly ok: true; readonly values: CheckedInput<F> }
  | { readonly ok: false; readonly field: string; readonly error: string };

export function inputSchemaOf(fields: InputFields): ToolInputSchema {
  const properties: ToolInputSchema["properties"] = {};
  for (const [name, { type, description, values, minimum, maximum }] of Object.entries(fields))
    properties[name] = {
      ...(type === "strings" || type === "integers"
        ? { type: "array", items: { type: type === "strings" ? "string" : "integer" } }
        : { type }),
      description,
      ...(values !== undefined && { enum: [...values] }),
      ...(minimum !== undefined && { minimum }),
      ...(maximum !== undefined && { maximum }),
    };
  const required = Object.keys(fields).filter((name) => fields[name]?.required);
  return { type: "object", properties, required, additionalProperties: false };
}

/**
 * Checks what a model or a client wrote, by the table that its schema is made of. Values that mean one thing only are taken
 * for it: arguments and lists as JSON text, a number for a text and the other way round, `"true"` for `true`, and `null` or
 * `""` for an option that was left out. Everything else that does not fit is an error that names the field.
 */
export function checkInput<const F extends InputFields>(fields: F, input: unknown): InputCheck<F> {
  const given = typeof input === "string" ? (parsed(input) ?? input) : input;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return {
      ok: false,
      field: "arguments",
      error: `arguments must be an object with ${listOf(fields)}, not ${kindOf(input)}`,
    };
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined)
    return { ok: false, field: unknown, error: `unknown field "${unknown}"; the fields are ${listOf(fields)}` };
  const values: Record<string, Value | undefined> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value: unknown = Object.hasOwn(given, name) ? given[name as keyof typeof given] : undefined;
    const isBlank = typeof value === "string" && value.trim() === "";
    if (value === undefined || value === null || (isBlank && !field.required)) {
      if (field.required) return { ok: false, field: name, error: `${name} is missing` };
      continue;
    }
    const checked = checks[field.type](value, field);
    if (typeof checked === "object" && "must" in checked)
      return { ok: false, field: name, error: `${name} ${checked.must}` };
    values[name] = checked;
  }
  // The loop above has put a value of the right type, or undefined where that is allowed, under each name.
  return { ok: true, values: values as CheckedInput<F> };
}

type Value = string | number | boolean | readonly Value[];

const checks: Readonly<
  Record<InputField["type"], (value: unknown, field: InputField) => Value | { readonly must: string }>
> = {
  string: checkText,
  strings: (value) => checkList(value, "string"),
  integer: checkNumber,
  integers: (value) => checkList(value, "integer"),
  number: checkNumber,
  boolean: (value) =>
    /^(?:true|false|[01])$/i.test(String(value).trim()) && typeof value !== "object"
      ? /^(?:true|1)$/i.test(String(value).trim())
      : { must: `must be true or false, not ${kindOf(value)}` },
};

function checkList(given: unknown, type: "string" | "integer"): readonly Value[] | { must: string } {
  // As JSON, as Python prints a list, or the words alone.
  const value =
    typeof given === "string"
      ? (parsed(given) ?? parsed(given.replaceAll("'", '"')) ?? given.split(/[,\n]/).map((word) => word.trim()))
      : given;
  if (!Array.isArray(value)) return { must: `must be a list of ${type}s, not ${kindOf(value)}` };
  const items = value.filter((item) => item !== "").map((item) => checks[type](item, { type, description: "" }));
  const wrong = items.find((item) => typeof item === "object" && "must" in item);
  return wrong === undefined ? (items as Value[]) : { must: `must be a list of ${type}s; one of them ${wrong.must}` };
}

function checkText(value: unknown, field: InputField): string | { must: string } {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return { must: `must be a string, not ${kindOf(value)}` };
  if (field.required && !field.mayBeBlank && text.trim() === "") return { must: "is empty" };
  if (field.values === undefined) return text;
  const meant = field.values.find((each) => each === text.trim().toLowerCase());
  return meant ?? { must: `must be one of ${field.values.join(", ")}, not ${shortened(text)}` };
}

function checkNumber(value: unknown, field: InputField): number | { must: string } {
  const kind = field.type === "integer" ? "a whole number" : "a number";
  const number = typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  if (
    typeof number !== "number" ||
    !Number.isFinite(number) ||
    (field.type === "integer" && !Number.isSafeInteger(number))
  ) {
    const got = typeof value === "string" || typeof value === "number" ? shortened(String(value)) : kindOf(value);
    return { must: `must be ${kind}, not ${got}` };
  }
  const { minimum = -Infinity, maximum = Infinity } = field;
  if (number < minimum) return { must: `must be at least ${minimum}, not ${number}` };
  if (number > maximum) return { must: `must be at most ${maximum}, not ${number}` };
  return number;
}

/** An object or a list that was written as JSON text; undefined for any other text. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = /^\s*[[{]/.test(text) ? JSON.parse(text) : undefined;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function listOf(fields: InputFields): string {
  return Object.keys(fields).join(", ");
}

function shortened(text: string): string {
  return JSON.stringify(text.length > 40 ? `${[...text].slice(0, 40).join("")}…` : text);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** What a tool answers that could not write in time, and does not know whether it has. */
export function lateAnswer(what: string, timeoutMs: number, action: string): MemoryToolResult {
  const error = `${what} was not on disk within ${timeoutMs / 1000} s`;
  return { status: "error", code: "UNAVAILABLE", error, timedOut: true, timeoutMs, action };
}

/** What a tool answers to input that it cannot use. */
export function badInput(tool: string, field: string, error: string): MemoryToolResult {
  return {
    status: "error",
    code: "INVALID_ARGUMENT",
    field,
    error,
    action: `Correct "${field}" and call ${tool} again.`,
  };
}
