import type { ToolInputSchema } from "./memory-tool.ts";

/** One field that a tool takes. The same table gives the schema that the model sees and the check at run time. */
interface InputField {
  readonly type: "string" | "strings" | "integer" | "number" | "boolean";
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
    : F["type"] extends "boolean"
      ? boolean
      : number;

/** What came through the check: required fields are there, the others may be undefined. */
export type CheckedInput<F extends InputFields> = {
  readonly [K in keyof F]: F[K] extends { readonly required: true } ? ValueOf<F[K]> : ValueOf<F[K]> | undefined;
};

export type InputCheck<F extends InputFields> =
  | { readonly ok: true; readonly values: CheckedInput<F> }
  | { readonly ok: false; readonly field: string; readonly error: string };

export function inputSchemaOf(fields: InputFields): ToolInputSchema {
  const properties: Record<string, Record<string, unknown>> = {};
  for (const [name, field] of Object.entries(fields)) {
    const { type, description } = field;
    const property: Record<string, unknown> =
      type === "strings" ? { type: "array", items: { type: "string" }, description } : { type, description };
    if (field.values !== undefined) property["enum"] = [...field.values];
    if (field.minimum !== undefined) property["minimum"] = field.minimum;
    if (field.maximum !== undefined) property["maximum"] = field.maximum;
    properties[name] = property;
  }
  const required = Object.keys(fields).filter((name) => fields[name]?.required);
  return { type: "object", properties, required, additionalProperties: false };
}

/**
 * Checks what a model wrote. A number written as a string is taken where it can only mean that number, and `null` stands
 * for a field that was left out; everything else that does not fit is an error that names the field.
 */
export function checkInput<const F extends InputFields>(fields: F, input: unknown): InputCheck<F> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return {
      ok: false,
      field: "arguments",
      error: `arguments must be an object with ${listOf(fields)}, not ${kindOf(input)}`,
    };
  }
  const given = new Map<string, unknown>(Object.entries(input));
  for (const name of given.keys()) {
    if (!Object.hasOwn(fields, name))
      return {
        ok: false,
        field: name,
        error: `unknown field "${name}"; the fields are ${listOf(fields)}`,
      };
  }
  const values: Record<string, Value | undefined> = {};
  for (const [name, field] of Object.entries(fields)) {
    const checked = checkField(name, field, given.get(name));
    if (typeof checked === "object" && "error" in checked) return { ok: false, field: name, error: checked.error };
    values[name] = checked;
  }
  // The loop above has put a value of the right type, or undefined where that is allowed, under each name.
  return { ok: true, values: values as CheckedInput<F> };
}

type Value = string | readonly string[] | number | boolean;

function checkField(name: string, field: InputField, value: unknown): Value | undefined | { error: string } {
  if (value === undefined || value === null) return field.required ? { error: `${name} is missing` } : undefined;
  if (field.type === "string") return checkText(name, field, value);
  if (field.type === "boolean") return checkBoolean(name, value);
  return field.type === "strings" ? checkTexts(name, value) : checkNumber(name, field, value);
}

function checkBoolean(name: string, value: unknown): boolean | { error: string } {
  if (value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  return { error: `${name} must be true or false, not ${kindOf(value)}` };
}

function checkTexts(name: string, value: unknown): readonly string[] | { error: string } {
  if (!Array.isArray(value)) return { error: `${name} must be a list of strings, not ${kindOf(value)}` };
  const other = value.find((item) => typeof item !== "string");
  if (other !== undefined || value.includes(undefined))
    return { error: `${name} must be a list of strings; one of them is ${kindOf(other)}` };
  return value;
}

function checkText(name: string, field: InputField, value: unknown): string | { error: string } {
  if (typeof value !== "string") return { error: `${name} must be a string, not ${kindOf(value)}` };
  if (field.required && !field.mayBeBlank && value.trim() === "") return { error: `${name} is empty` };
  if (field.values !== undefined && !field.values.includes(value)) {
    return { error: `${name} must be one of ${field.values.join(", ")}, not ${shortened(value)}` };
  }
  return value;
}

function checkNumber(name: string, field: InputField, value: unknown): number | { error: string } {
  const kind = field.type === "integer" ? "a whole number" : "a number";
  const number = typeof value === "string" && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  if (
    typeof number !== "number" ||
    !Number.isFinite(number) ||
    (field.type === "integer" && !Number.isSafeInteger(number))
  ) {
    const got = typeof value === "string" || typeof value === "number" ? shortened(String(value)) : kindOf(value);
    return { error: `${name} must be ${kind}, not ${got}` };
  }
  const { minimum = -Infinity, maximum = Infinity } = field;
  if (number < minimum) return { error: `${name} must be at least ${minimum}, not ${number}` };
  if (number > maximum) return { error: `${name} must be at most ${maximum}, not ${number}` };
  return number;
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

/** What a tool answers to input that it cannot use. */
export function badInput(tool: string, field: string, error: string): object {
  return {
    status: "error",
    code: "INVALID_ARGUMENT",
    field,
    error,
    action: `Correct "${field}" and call ${tool} again.`,
  };
}
