import type { ConfigKey } from "./config-key.ts";
import { configKeys } from "./keys.ts";

/** A place in a configuration file: a value, or a group of named places. */
export interface KeyNode {
  key?: ConfigKey;
  /** `*` stands for any name. */
  readonly children: Map<string, KeyNode>;
  /** The items of a list, each with these places. */
  items?: KeyNode;
}

/** The table as a tree, with every other spelling leading to the same places as the key that it stands for. */
export function buildKeyTree(): KeyNode {
  const root: KeyNode = { children: new Map() };
  for (const key of configKeys) if (key.same === undefined) place(root, key.key).key = key;
  for (const key of configKeys) {
    if (key.same === undefined) continue;
    const names = key.key.split(".");
    const last = names.pop() ?? "";
    const parent = names.length === 0 ? root : place(root, names.join("."));
    parent.children.set(last, place(root, key.same));
  }
  return root;
}

function place(root: KeyNode, path: string): KeyNode {
  let node = root;
  for (const name of path.split(".")) {
    const isList = name.endsWith("[]");
    node = child(node, isList ? name.slice(0, -2) : name);
    if (isList) node = node.items ??= { children: new Map() };
  }
  return node;
}

function child(node: KeyNode, name: string): KeyNode {
  const known = node.children.get(name);
  if (known !== undefined) return known;
  const fresh: KeyNode = { children: new Map() };
  node.children.set(name, fresh);
  return fresh;
}
