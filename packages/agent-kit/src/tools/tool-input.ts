import { isObject, jsonOf } from "@memslot/indexing/host";
import type { MemoryTool, MemoryToolResult, ToolInputSchema } from "./tool-types.ts";
import table from "./tools.json" with { type: "json" };

/** One argument of a tool. The table in `tools.json` gives the schema that the model sees and the check at run time. */
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

type InputFields = Readonly<Record<string, InputField>>;

const tools = table.tools as unknown as Record<string, { description: string; fields: InputFields }>;

export const memoryCommandFields = table.memoryCommands as unknown as Readonly<Record<string, InputFields>>;

/**
 * A tool of `tools.json`. `run` gets arguments that have passed the check; `Input` is the type of its fields there.
 * `refuse` answers other arguments.
 */
export function toolOf<Input>(
  name: string,
  run: (input: Input, signal: AbortSignal | undefined) => Promise<MemoryToolResult>,
  refuse = (field: string, error: string, _input: unknown): MemoryToolResult => badInput(name, field, error),
): MemoryTool {
  const { description = "", fields = {} } = tools[name] ?? {};
  return {
    name,
    description,
    inputSchema: inputSchemaOf(fields),
    execute: async (input, { signal } = {}) => {
      const checked = checkInput<Input>(fields, input);
      return checked.ok ? await run(checked.values, signal) : refuse(checked.field, checked.error, input);
    },
  };
}

function inputSchemaOf(fields: InputFields): ToolInputSchema {
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

type InputCheck<Input> =
  | { readonly ok: true; readonly values: Input }
  | { readonly ok: false; readonly field: string; readonly error: string };

export function inputOf<Input>(name: string, input: unknown): InputCheck<Input> {
  return checkInput(tools[name]?.fields ?? {}, input);
}

/**
 * Checks arguments that a model or a client wrote. Accepts values with one possible meaning: arguments and lists as JSON text,
 * a number for a text and the reverse, `"true"` for `true`, and `null` or `""` for an option that was left out. Anything
 * else is an error that names the field.
 */
export function checkInput<Input>(fields: InputFields, input: unknown): InputCheck<Input> {
  const given = typeof input === "string" ? (parsed(input) ?? input) : input;
  const names = Object.keys(fields).join(", ");
  if (!isObject(given)) {
    const error = `arguments must be an object with ${names}, not ${kindOf(input)}`;
    return { ok: false, field: "arguments", error };
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined)
    return { ok: false, field: unknown, error: `unknown field "${unknown}"; the fields are ${names}` };
  const values: Record<string, Value | undefined> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value: unknown = Object.hasOwn(given, name) ? given[name] : undefined;
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
  // Each name has a value of its type, or undefined if that is allowed.
  return { ok: true, values: values as Input };
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
  const isWhole = field.type === "integer";
  const number = typeof value === "string" && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number) || (isWhole && !Number.isSafeInteger(number))) {
    const got = typeof value === "string" || typeof value === "number" ? shortened(String(value)) : kindOf(value);
    return { must: `must be ${isWhole ? "a whole number" : "a number"}, not ${got}` };
  }
  const { minimum = -Infinity, maximum = Infinity } = field;
  if (number < minimum) return { must: `must be at least ${minimum}, not ${number}` };
  if (number > maximum) return { must: `must be at most ${maximum}, not ${number}` };
  return number;
}

/** An object or a list that was written as JSON text; undefined for any other text. */
function parsed(text: string): object | undefined {
  const value = /^\s*[[{]/.test(text) ? jsonOf(text) : undefined;
  return typeof value === "object" && value !== null ? value : undefined;
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

/** The answer to arguments that a tool cannot use. */
export function badInput(tool: string, field: string, error: string): MemoryToolResult {
  return {
    status: "error",
    code: "INVALID_ARGUMENT",
    field,
    error,
    action: `Correct "${field}" and call ${tool} again.`,
  };
}
