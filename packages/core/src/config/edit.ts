import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { MemslotConfig } from "../contract/config.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { replaceFile } from "../files/replace-file.ts";
import { isObject, valueAt } from "./plain-data.ts";
import { sha256Of } from "./agent-ids.ts";
import { readConfigBytes } from "./config-file.ts";
import { trustConfig, trustOf } from "./trust.ts";

const newConfigText = `// The configuration of memslot, in JSON5: comments and commas at the end are fine.
// \`memslot config\` shows every key, its value and where it comes from.
{
}
`;

/** The file that a user's change goes to: the active one, or the user's own if the active file is not trusted. */
export function fileToEdit({ file, trusted, stateDir }: Pick<MemslotConfig, "file" | "trusted" | "stateDir">): string {
  const own = join(stateDir, "memslot.json5");
  return trusted ? (file ?? own) : own;
}

type Group = readonly [string, ...string[]];

const usualGroup: Group = ["agents", "defaults", "memorySearch"];
const otherGroup: Group = ["memory", "search"];

export async function searchGroupIn(file: string): Promise<Group> {
  if (!existsSync(file)) return usualGroup;
  const { parse } = await import("./json5.ts");
  const content: unknown = parse(readFileSync(file, "utf8").replace(/^\uFEFF/u, ""));
  const has = (group: Group): boolean => valueAt(content, group) !== undefined;
  return !has(usualGroup) && has(otherGroup) ? otherGroup : usualGroup;
}

/** Edits a configuration file, keeping every other byte; creates a missing file. Throws `CONFIG`. */
export async function editConfigFile(
  file: string,
  edits: readonly ConfigEdit[],
  { stateDir }: { stateDir: string },
): Promise<void> {
  await changeConfigFile(file, (text = newConfigText) => editConfigText(text, edits), { stateDir });
}

/** Replaces the text of a configuration file atomically; creates a missing file. Throws `CONFIG`. */
export async function changeConfigFile(
  file: string,
  change: (text: string | undefined) => Promise<string>,
  { stateDir }: { stateDir: string },
): Promise<void> {
  const isThere = existsSync(file);
  // Follow links so that they stay links.
  const path = isThere ? realpathSync.native(file) : file;
  const bytes = isThere ? readConfigBytes(path) : undefined;
  const trust = bytes === undefined ? undefined : trustOf(path, sha256Of(bytes), stateDir);
  let changed: string;
  try {
    changed = await change(bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} was not changed: ${messageOf(error)}; change it with an editor`, {
      cause: error,
    });
  }
  try {
    await replaceFile(path, changed, isThere ? { mode: statSync(path).mode & 0o777 } : {});
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} cannot be written: ${messageOf(error)}; check its folder`, {
      cause: error,
    });
  }
  if (trust !== undefined) await trustConfig(path, { stateDir, earlier: trust.code });
}

/** One change of a configuration: a new value for a key, or a text to add to or remove from its list. */
export type ConfigEdit =
  | { readonly key: readonly [string, ...string[]]; readonly value: string | boolean }
  | { readonly key: readonly [string, ...string[]]; readonly with: string }
  | { readonly key: readonly [string, ...string[]]; readonly without: string };

type Written = string | boolean | readonly string[];

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Edits configuration text, keeping its format. Throws if the result would not parse to the expected value. */
export async function editConfigText(text: string, edits: readonly ConfigEdit[]): Promise<string> {
  const { parse } = await import("./json5.ts");
  let edited = text;
  for (const edit of edits) {
    const wanted = withEdit(parse(edited), edit);
    edited = spliced(edited, splicesFor(edited, edit, placesIn(edited, parse)));
    if (!isDeepStrictEqual(parse(edited), wanted))
      throw new Error(`${edit.key.map(quoteName).join(".")} cannot be changed without changing something else`);
  }
  return edited;
}

function splicesFor(text: string, edit: ConfigEdit, root: PlacedValue): Splice[] {
  let place = root;
  for (const [depth, name] of edit.key.entries()) {
    if (place.members === undefined) throw new Error(`${edit.key.slice(0, depth).join(".") || "it"} is not a group`);
    const member = place.members.findLast((each) => each.name === name);
    if (member === undefined) {
      if ("without" in edit) return [];
      const value = "with" in edit ? [edit.with] : edit.value;
      return additions(text, place, { names: edit.key.slice(depth), value, unit: indentUnit(text, root) });
    }
    place = member.value;
  }
  if ("without" in edit) return removals(text, place, edit.without);
  if ("with" in edit) return newItem(text, place, edit);
  const isSingle = text[place.start] === "'" && typeof edit.value === "string" && /^[\w@/.-]*$/.test(edit.value);
  return [
    { start: place.start, end: place.end, text: isSingle ? `'${String(edit.value)}'` : JSON.stringify(edit.value) },
  ];
}

function additions(
  text: string,
  object: PlacedValue,
  added: { names: readonly string[]; value: Written; unit: string },
): Splice[] {
  const closing = object.end - 1;
  const members = object.members ?? [];
  const last = members.at(-1);
  const comma = last && last.comma === undefined ? [{ start: last.value.end, end: last.value.end, text: "," }] : [];
  const content = text.slice(0, closing).trimEnd().length;
  const breakBefore = /(?:\r\n|[\n\r\u2028\u2029])[^\S\n\r\u2028\u2029]*$/.exec(text.slice(content, closing));
  if (breakBefore === null) {
    const space = content === closing && last === undefined ? " " : "";
    return [...comma, { start: content, end: content, text: ` ${inline(added.names, added.value)}${space}` }];
  }
  const at = content + breakBefore.index;
  const outer = breakBefore[0].replace(/^[\n\r\u2028\u2029]+/, "");
  const indent = members.map(({ value }) => indentOf(text, value.start)).find((own) => own !== undefined);
  const eol = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
  const lines = block(added.names, added.value, indent ?? outer + added.unit, added.unit);
  return [...comma, { start: at, end: at, text: lines.map((line) => `${eol}${line}`).join("") }];
}

function newItem(text: string, { items, start }: PlacedValue, edit: ConfigEdit & { with: string }): Splice[] {
  if (items === undefined) throw new Error(`${edit.key.map(quoteName).join(".")} is not a list`);
  if (items.some(({ value }) => value.parsed === edit.with)) return [];
  const written = JSON.stringify(edit.with);
  const last = items.at(-1);
  if (last === undefined) return [insert(start + 1, written)];
  const breakBefore = /(?:\r\n|[\n\r\u2028\u2029])[^\S\n\r\u2028\u2029]*$/.exec(text.slice(0, last.value.start))?.[0];
  const comma = last.comma === undefined ? [insert(last.value.end, ",")] : [];
  const end = last.comma === undefined ? last.value.end : last.comma + 1;
  // Keep a trailing comment on its line.
  const remark =
    /^[^\S\n\r\u2028\u2029]*(?:\/\/[^\n\r\u2028\u2029]*)?(?=[\n\r\u2028\u2029])/.exec(text.slice(end))?.[0] ?? "";
  const at = breakBefore === undefined ? end : end + remark.trimEnd().length;
  return [...comma, insert(at, `${breakBefore ?? " "}${written}${last.comma === undefined ? "" : ","}`)];
}

function inline([name = "", ...rest]: readonly string[], value: Written): string {
  return `${quoteName(name)}: ${rest.length === 0 ? JSON.stringify(value) : `{ ${inline(rest, value)} }`}`;
}

function block([name = "", ...rest]: readonly string[], value: Written, indent: string, unit: string): string[] {
  if (rest.length === 0) return [`${indent}${quoteName(name)}: ${JSON.stringify(value)},`];
  return [`${indent}${quoteName(name)}: {`, ...block(rest, value, indent + unit, unit), `${indent}},`];
}

function indentOf(text: string, start: number): string | undefined {
  const line =
    text
      .slice(0, start)
      .split(/[\n\r\u2028\u2029]/)
      .at(-1) ?? "";
  return /^(\s*)(?:"[^"]*"|'[^']*'|[^\s:'"{[,/]+)\s*:\s*$/.exec(line)?.[1];
}

function indentUnit(text: string, { members = [] }: PlacedValue): string {
  const indent = members.map(({ value }) => indentOf(text, value.start)).find((own) => own !== undefined && own !== "");
  return indent ?? "  ";
}

/** Removes every item with this text from a list, with its comma and, if it is alone there, its line. */
function removals(text: string, { items = [] }: PlacedValue, unwanted: string): Splice[] {
  const isUnwanted = ({ value }: PlacedItem): boolean => value.parsed === unwanted;
  return items.flatMap((item, index) => {
    if (!isUnwanted(item)) return [];
    const { value, comma } = item;
    const earlier = items[index - 1];
    if (comma === undefined && earlier?.comma !== undefined && !isUnwanted(earlier)) {
      const start = isBlank(text.slice(earlier.comma + 1, value.start)) ? earlier.comma : value.start;
      return [cut(start, value.end), ...(start === value.start ? [cut(earlier.comma, earlier.comma + 1)] : [])];
    }
    if (comma === undefined || !isBlank(text.slice(value.end, comma)))
      return [cut(value.start, value.end), ...(comma === undefined ? [] : [cut(comma, comma + 1)])];
    const before = /(?:^|[\n\r\u2028\u2029])([^\S\n\r\u2028\u2029]*)$/.exec(text.slice(0, value.start))?.[1];
    const after = /^[^\S\n\r\u2028\u2029]*(\r\n|[\n\r])?/.exec(text.slice(comma + 1));
    const end = comma + 1 + (after?.[0].length ?? 0);
    if (after?.[1] === undefined) return [cut(value.start, end)];
    return [before === undefined ? cut(value.start, comma + 1) : cut(value.start - before.length, end)];
  });
}

function isBlank(text: string): boolean {
  return /^[^\S\n\r\u2028\u2029]*$/.test(text);
}

function insert(at: number, text: string): Splice {
  return { start: at, end: at, text };
}

function cut(start: number, end: number): Splice {
  return { start, end, text: "" };
}

function spliced(text: string, splices: readonly Splice[]): string {
  let edited = "";
  let at = 0;
  for (const splice of splices.toSorted((left, right) => left.start - right.start)) {
    edited += text.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return edited + text.slice(at);
}

function withEdit(config: unknown, edit: ConfigEdit): unknown {
  const wanted = structuredClone(config);
  let group = wanted;
  for (const name of edit.key.slice(0, -1)) {
    if (!isObject(group)) return wanted;
    if (!Object.hasOwn(group, name)) {
      if ("without" in edit) return wanted;
      Object.defineProperty(group, name, { value: {}, writable: true, enumerable: true, configurable: true });
    }
    group = group[name];
  }
  const name = edit.key.at(-1) ?? "";
  if (!isObject(group)) return wanted;
  if ("with" in edit) {
    const list: unknown = Object.hasOwn(group, name) ? group[name] : [];
    if (Array.isArray(list) && !list.includes(edit.with)) group[name] = [...list, edit.with];
  } else if (!("without" in edit)) group[name] = edit.value;
  else if (Array.isArray(group[name])) group[name] = group[name].filter((item) => item !== edit.without);
  return wanted;
}

/** A name in JSON5 or a dotted key, quoted if it has characters other than letters, digits, `_`, `$` and `-`. */
function quoteName(name: string): string {
  return /^[\w$-]+$/.test(name) ? name : JSON.stringify(name);
}

interface PlacedValue {
  readonly start: number;
  readonly end: number;
  readonly members?: readonly PlacedMember[] | undefined;
  readonly items?: readonly PlacedItem[] | undefined;
  readonly parsed?: unknown;
}

interface PlacedItem {
  readonly value: PlacedValue;
  readonly comma: number | undefined;
}

interface PlacedMember extends PlacedItem {
  readonly name: string | undefined;
}

const lineBreak = /[\n\r\u2028\u2029]/;

/** Finds the position of every value in JSON5 text that is known to be valid. `parse` reads JSON5. */
function placesIn(text: string, parse: (text: string) => unknown): PlacedValue {
  let at = 0;
  skip();
  return value();

  function value(): PlacedValue {
    const start = at;
    const opening = text[at];
    if (opening === "{") {
      const members = listed("}", () => {
        const name = key();
        skip();
        at += 1; // The colon.
        skip();
        return { name, value: value() };
      });
      return { start, end: at, members };
    }
    if (opening === "[") {
      const items = listed("]", () => ({ value: value() }));
      return { start, end: at, items };
    }
    if (opening === '"' || opening === "'") quoted();
    else while (at < text.length && !/[\s,\]}/]/.test(text[at] ?? "")) at += 1;
    return { start, end: at, parsed: parse(text.slice(start, at)) };
  }

  function listed<Part>(closing: string, part: () => Part): (Part & { comma: number | undefined })[] {
    const parts: (Part & { comma: number | undefined })[] = [];
    at += 1;
    for (skip(); text[at] !== closing; skip()) {
      if (at >= text.length) throw new SyntaxError(`JSON5 ends before its ${closing}`);
      const found = part();
      skip();
      const comma = text[at] === "," ? at : undefined;
      if (comma !== undefined) at += 1;
      parts.push({ ...found, comma });
    }
    at += 1;
    return parts;
  }

  function key(): string | undefined {
    const start = at;
    if (text[at] === '"' || text[at] === "'") quoted();
    else while (at < text.length && !/[\s:/]/.test(text[at] ?? "")) at += 1;
    return Object.keys(parse(`{${text.slice(start, at)}:0}`) as object)[0];
  }

  function quoted(): void {
    const quote = text[at];
    for (at += 1; at < text.length && text[at] !== quote; at += 1) if (text[at] === "\\") at += 1;
    at += 1;
  }

  function skip(): void {
    for (; at < text.length; at += 1) {
      if (text.startsWith("//", at)) while (at < text.length && !lineBreak.test(text[at] ?? "")) at += 1;
      else if (text.startsWith("/*", at)) at = text.indexOf("*/", at + 2) + 1;
      else if (!/\s/.test(text[at] ?? "")) return;
    }
  }
}
