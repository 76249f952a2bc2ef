import { isObject } from "../config/deep.ts";

/** Of the host. A plugin with a tool of the same name would answer in its place. */
const hostTools = ["memory_search", "memory_get", "memory_append", "memory_edit", "memory_forget"];

/** What other hosts let a plugin bring and this contract does not. */
const reservedFields = ["tools", "commands", "hooks"];

/**
 * Says that a manifest or a plugin brings something that nobody would call: it is refused, so that its author hears of
 * it. Undefined where there is no such field. Other fields that are not known here are left alone.
 */
export function reservedProblem(fields: Readonly<Record<string, unknown>>): string | undefined {
  const field = reservedFields.find((name) => fields[name] !== undefined);
  if (field === undefined) return undefined;
  const clash = field === "tools" ? namesOf(fields[field]).find((name) => hostTools.includes(name)) : undefined;
  const why = clash === undefined ? "" : `, and "${clash}" is a tool of the host`;
  return `"${field}" must not be there: a plugin brings no ${field} in this contract${why}; remove the field`;
}

function namesOf(tools: unknown): string[] {
  if (!Array.isArray(tools)) return isObject(tools) ? Object.keys(tools) : [];
  return tools.flatMap((tool: unknown) => (isObject(tool) ? [String(tool["name"])] : [String(tool)]));
}
