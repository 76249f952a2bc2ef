import { isDeepStrictEqual } from "node:util";
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { indentAt, insertion, lookOf, removal, spliced, written } from "./json-splices.ts";
import { isOwnHook, isOwnServer } from "./detect-memslot-entries.ts";
import { type TextEdit, UnusableFile, formOf, lineAt, plain } from "./text-edit.ts";

export type JsonEntry =
  /** A value at a path. `memslot`: a value of another program is refused; `any`: an existing value stays. */
  | { readonly path: readonly string[]; readonly value: unknown; readonly owner: "memslot" | "any" }
  /** A hook in the list at a path. */
  | { readonly list: readonly string[]; readonly item: unknown };

type JsonValue = Extract<JsonEntry, { path: unknown }>;

/** Whether the value at the place of an entry belongs to another program. */
const isOthers = ({ owner }: JsonValue, value: unknown): boolean => owner === "memslot" && !isOwnServer(value);

const parsing = { allowTrailingComma: true, disallowComments: false, allowEmptyContent: true };

/** An edit of a JSON file. Comments, order, indentation, line ends and the byte order mark stay. */
export function jsonEdit(puts: readonly JsonEntry[]): TextEdit {
  return {
    put: (text) => edited(text, (body, lineEnd) => puts.reduce((now, put) => putOne(now, put, lineEnd), body)),
    remove: (text) => edited(text, (body) => puts.reduce(removeOne, body)),
    isEmpty(text) {
      const value = valueOf(formOf(text).body);
      if (/\/[/*]/u.test(text)) return false;
      return isDeepStrictEqual(value, {}) || isDeepStrictEqual(value, { version: 1 });
    },
  };

  function edited(text: string, change: (body: string, lineEnd: string) => string): string {
    const { form, body } = formOf(text);
    const before = valueOf(body);
    const after = change(body, form.lineEnd);
    if (!isDeepStrictEqual(withoutOwn(before), withoutOwn(valueOf(after))))
      throw new UnusableFile("it cannot be changed without changing something else in it");
    return after === body ? text : form.mark + after;
  }

  /** The values of the file without those of this edit. */
  function withoutOwn(value: unknown): unknown {
    const rest = structuredClone(value);
    for (const put of puts) {
      if ("path" in put) {
        const there = at(rest, put.path);
        if (there === undefined || !isOthers(put, there)) dropPath(rest, put.path);
      } else {
        const list = at(rest, put.list);
        const others = (Array.isArray(list) ? list : [])
          .filter((item) => !isOwnHook(item))
          .map((item: unknown) => {
            const handlers = handlersOf(item);
            const left = handlers.filter((handler) => !isOwnHook(handler));
            return left.length === handlers.length ? item : { ...(item as object), hooks: left };
          });
        if (others.length > 0) (list as unknown[]).splice(0, Infinity, ...others);
        else if (Array.isArray(list) || isNothing(list)) dropPath(rest, put.list);
      }
    }
    return rest;
  }
}

/** The value of a JSON file with comments; `{}` for an empty one. Throws `UnusableFile` with the line of the error. */
export function valueOf(body: string): unknown {
  const root = rootOf(body);
  return root === undefined ? {} : plain(getNodeValue(root));
}

function rootOf(body: string): Node | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, parsing);
  const [error] = errors;
  if (error !== undefined)
    throw new UnusableFile(`it is not JSON: ${printParseErrorCode(error.error)}`, lineAt(body, error.offset));
  if (root !== undefined && root.type !== "object")
    throw new UnusableFile("it does not contain a JSON object", lineAt(body, root.offset));
  return root;
}

function putOne(given: string, put: JsonEntry, lineEnd: string): string {
  const body = withContainers(given, put);
  if ("path" in put) return setValue(body, put, lineEnd);
  const items = itemsOf(body, put.list);
  const [first, ...more] = ownPlaces(items);
  if (first === undefined) return append(body, put.list, put.item, lineEnd);
  // More than one would run twice.
  const text = more.reduceRight((now, place) => removeAt(now, [...put.list, ...place]), body);
  const isInGroup = first.length > 1;
  const wanted = isInGroup ? handlersOf(put.item)[0] : put.item;
  const now = first.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown>)[step], items);
  return isDeepStrictEqual(now, wanted) ? text : replaceAt(text, [...put.list, ...first], wanted, lineEnd);
}

/** Replaces an empty value of another type on the path with an object or a list. */
function withContainers(body: string, put: JsonEntry): string {
  const path = "path" in put ? put.path.slice(0, -1) : put.list;
  for (const end of path.keys()) {
    const { node } = placeOf(body, path.slice(0, end + 1));
    const type = "list" in put && end === path.length - 1 ? "array" : "object";
    if (node === undefined || node.type === type || !isNothing(getNodeValue(node))) continue;
    const inner = node.type === "null" ? "" : body.slice(node.offset + 1, node.offset + node.length - 1);
    const text = type === "array" ? `[${inner}]` : `{${inner}}`;
    return withContainers(spliced(body, [{ offset: node.offset, length: node.length, text }]), put);
  }
  return body;
}

function removeOne(body: string, put: JsonEntry): string {
  if ("path" in put) {
    const { node } = find(body, put.path);
    const stays = put.owner === "any" || (node !== undefined && isOthers(put, plain(getNodeValue(node))));
    return stays ? body : removeUp(body, put.path);
  }
  const items = itemsOf(body, put.list);
  const text = ownPlaces(items).reduceRight((now, place) => removeAt(now, [...put.list, ...place]), body);
  const isOver = items.length > 0 && items.every(isOwnHook);
  // Only comments can remain in it.
  const { node } = find(text, put.list);
  const isBare = node !== undefined && /^[\s,:[\]]*$/u.test(commentsAround(text, node, node.offset + node.length));
  return isOver && isBare ? removeUp(text, put.list) : text;
}

function ownPlaces(items: readonly unknown[]): (string | number)[][] {
  return items.flatMap((item, index) => {
    if (isOwnHook(item)) return [[index]];
    return handlersOf(item).flatMap((handler, at) => (isOwnHook(handler) ? [[index, "hooks", at]] : []));
  });
}

function handlersOf(item: unknown): unknown[] {
  return isObject(item) && Array.isArray(item["hooks"]) ? item["hooks"] : [];
}

function setValue(body: string, put: JsonValue, lineEnd: string): string {
  const { path, value, owner } = put;
  const there = find(body, path);
  if (there.node === undefined) return insert(body, there, path, value, lineEnd);
  const now = plain(getNodeValue(there.node));
  if (owner === "any" || isDeepStrictEqual(now, value)) return body;
  if (isOthers(put, now))
    throw new UnusableFile(
      `${path.join(".")} exists already and was not written by memslot connect: remove it, or leave it as it is`,
      lineAt(body, there.node.offset),
    );
  return replaceAt(body, path, value, lineEnd);
}

interface Found {
  node: Node | undefined;
  parent: Node | undefined;
  depth: number;
}

/** Follows a path through objects. Throws for another value on the path and for a duplicate name. */
function find(body: string, path: readonly string[]): Found {
  let node = rootOf(body);
  for (const [depth, name] of path.entries()) {
    if (node === undefined) return { node: undefined, parent: undefined, depth };
    if (node.type !== "object" && isNothing(getNodeValue(node))) return { node: undefined, parent: undefined, depth };
    if (node.type !== "object")
      throw new UnusableFile(`${path.slice(0, depth).join(".")} is not an object`, lineAt(body, node.offset));
    const members: Node[] = (node.children ?? []).filter((member) => member.children?.[0]?.value === name);
    if (members.length > 1)
      throw new UnusableFile(`"${name}" occurs twice in it`, lineAt(body, members[1]?.offset ?? 0));
    const value: Node | undefined = members[0]?.children?.[1];
    if (value === undefined) return { node: undefined, parent: node, depth };
    node = value;
  }
  return { node, parent: undefined, depth: path.length };
}

function insert(
  body: string,
  { parent, depth }: Found,
  path: readonly string[],
  value: unknown,
  lineEnd: string,
): string {
  const look = lookOf(body, lineEnd);
  const nested = path.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const name = path[depth] ?? "";
  if (parent === undefined) {
    const rest = body.trim() === "" ? "" : `${body.trimEnd()}${lineEnd}`;
    return `${rest}${written({ [name]: nested }, "", look)}${lineEnd}`;
  }
  return spliced(body, insertion(body, parent, { name, value: nested }, look));
}

function itemsOf(body: string, path: readonly string[]): unknown[] {
  const { node } = find(body, path);
  if (node === undefined || isNothing(getNodeValue(node))) return [];
  if (node.type !== "array") throw new UnusableFile(`${path.join(".")} is not a list`, lineAt(body, node.offset));
  return plain(getNodeValue(node)) as unknown[];
}

function append(body: string, path: readonly string[], item: unknown, lineEnd: string): string {
  const there = find(body, path);
  if (there.node === undefined) return insert(body, there, path, [item], lineEnd);
  return spliced(body, insertion(body, there.node, { value: item }, lookOf(body, lineEnd)));
}

function replaceAt(body: string, path: readonly (string | number)[], value: unknown, lineEnd: string): string {
  const { node } = placeOf(body, path);
  if (node === undefined) return body;
  const text = written(value, indentAt(body, node.offset), lookOf(body, lineEnd));
  return spliced(body, [{ offset: node.offset, length: node.length, text }]);
}

function removeAt(body: string, path: readonly (string | number)[]): string {
  const { container, member } = placeOf(body, path);
  return container === undefined || member === undefined ? body : spliced(body, removal(body, container, member));
}

function placeOf(body: string, path: readonly (string | number)[]): { node?: Node; member?: Node; container?: Node } {
  const root = rootOf(body);
  const node = root && findNodeAtLocation(root, [...path]);
  const member = node?.parent?.type === "property" ? node.parent : node;
  return { ...(node && { node }), ...(member && { member }), ...(member?.parent && { container: member.parent }) };
}

/** Removes a value, and the objects around it that contain nothing else, not even a comment. */
function removeUp(body: string, path: readonly string[]): string {
  const { node } = find(body, path);
  if (node === undefined) return body;
  let end = path.length;
  for (; end > 1; end--) {
    const { container, member } = placeOf(body, path.slice(0, end));
    if (container === undefined || member === undefined || !isAlone(body, container, member)) break;
  }
  return removeAt(body, path.slice(0, end));
}

function isAlone(body: string, container: Node, member: Node): boolean {
  const after = body.slice(member.offset + member.length, container.offset + container.length - 1);
  return /^[\s,:{]*$/u.test(commentsAround(body, container, member.offset) + after);
}

/** The text between the name of a value and a position in it: comments or punctuation. */
function commentsAround(body: string, { offset, parent }: Node, to: number): string {
  const name = parent?.type === "property" ? parent.children?.[0] : undefined;
  return body.slice(name === undefined ? offset : name.offset + name.length, to);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}

/** Whether a value is empty, so that it may be replaced: people leave `{}`, `[]` and `null` behind. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

function dropPath(value: unknown, path: readonly string[]): void {
  for (let end = path.length; end > 0; end--) {
    const parent = at(value, path.slice(0, end - 1));
    const name = path[end - 1] ?? "";
    if (isObject(parent) && (end === path.length || isNothing(parent[name]))) delete parent[name];
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
