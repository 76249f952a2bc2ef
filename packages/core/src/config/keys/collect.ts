import { MemoryError } from "../../contract/errors.ts";
import { agentIdProblem } from "../agent-id.ts";
import { type ConfigLayer, type FoundValues, lookupKey, quoteName, quoteText } from "../layer.ts";
import { nearestKey } from "./nearest.ts";
import type { ConfigKey } from "./config-key.ts";
import { configKeys } from "./keys.ts";

/** Unknown keys that are named one by one; a file of another program may have any number. */
const maxUnknownKeys = 20;

/** Where in the file the walk stands. */
interface WrittenAt {
  /** As a message names it. */
  readonly written: string;
  /** The same with `*` and `[]` for names and items, so that an unknown key of ten agents is told once. */
  readonly pattern: string;
  readonly name: string | undefined;
  /** The values of the agent that this place belongs to. */
  readonly agent: FoundValues | undefined;
}

/**
 * Walks a parsed configuration along the table of keys and lists what it says, other spellings under their own key.
 * Values are not checked here. Throws `CONFIG` where a group is no object, or an agent has no id of its own.
 */
export function collectValues(raw: unknown, label: string, baseDir: string): ConfigLayer {
  const layer: ConfigLayer = { label, baseDir, values: new Map(), agents: new Map(), notices: [] };
  const unknown = new Set<string>();
  const listed = new Set<FoundValues>();
  const lowered = new Map<string, string>();
  walk(buildKeyTree(), raw, { written: "", pattern: "", name: undefined, agent: undefined });
  if (unknown.size > maxUnknownKeys) {
    layer.notices.push(`${label}: ${unknown.size - maxUnknownKeys} more unknown keys are ignored`);
  }
  return layer;

  function walk(node: KeyNode, value: unknown, place: WrittenAt): void {
    if (value === undefined) return;
    if (node.key !== undefined) return record(node, value, place);
    if (node.items !== undefined) return walkList(node.items, value, place);
    for (const [name, inner] of Object.entries(groupAt(value, place.written, label))) {
      const next = node.children.get(name) ?? node.children.get("*");
      const written = join(place.written, quoteName(name));
      if (name === "__proto__") throw new MemoryError("CONFIG", `${label}: ${written} cannot be a key; remove it`);
      if (next === undefined) noteUnknown(node, name, place);
      else if (node.children.has(name)) walk(next, inner, { ...place, written, pattern: join(place.pattern, name) });
      else walkNamed(next, inner, name, { ...place, written, pattern: join(place.pattern, "*"), name });
    }
  }

  function walkNamed(node: KeyNode, value: unknown, name: string, place: WrittenAt): void {
    if (place.pattern !== "agents.entries.*") return walk(node, value, place);
    walk(node, groupAt(value, place.written, label), {
      ...place,
      name: undefined,
      agent: agentNamed(name, place.written),
    });
  }

  function walkList(node: KeyNode, value: unknown, place: WrittenAt): void {
    if (!Array.isArray(value)) throw new MemoryError("CONFIG", `${label}: ${place.written} must be a list`);
    for (const [index, item] of value.entries()) {
      const numbered = `${place.written}[${index}]`;
      const id: unknown = groupAt(item, numbered, label)["id"];
      const agent = agentNamed(id, `${numbered}.id`);
      if (listed.has(agent)) throw sameId(`${label}: ${numbered}.id`, [String(id)]);
      listed.add(agent);
      walk(node, item, {
        written: `${place.written}[${String(id)}]`,
        pattern: `${place.pattern}[]`,
        name: undefined,
        agent,
      });
    }
  }

  function agentNamed(id: unknown, written: string): FoundValues {
    const problem = id === undefined ? "every agent must have an id" : agentIdProblem(id);
    if (problem !== undefined) throw new MemoryError("CONFIG", `${label}: ${written}: ${problem}`);
    const known = layer.agents.get(String(id));
    if (known !== undefined) return known;
    // Ids become file names, and some systems keep only one of `Work` and `work`.
    const twin = lowered.get(String(id).toLowerCase());
    if (twin !== undefined) throw sameId(`${label}: ${written}`, [twin, String(id)]);
    lowered.set(String(id).toLowerCase(), String(id));
    const fresh: FoundValues = new Map();
    layer.agents.set(String(id), fresh);
    return fresh;
  }

  function record({ key }: KeyNode, value: unknown, place: WrittenAt): void {
    if (key === undefined) return;
    const values = place.agent ?? layer.values;
    const at = lookupKey(key, place.name, place.agent !== undefined);
    const present = values.get(at);
    const found = { key, name: place.name, written: place.written, value, origin: label };
    if (present === undefined) {
      values.set(at, found);
      return;
    }
    const [kept, dropped] = isOtherSpelling(place.written) ? [present, found] : [found, present];
    values.set(at, kept);
    layer.notices.push(`${label}: ${dropped.written} is ignored, because ${kept.written} is given too`);
  }

  function noteUnknown(node: KeyNode, name: string, place: WrittenAt): void {
    const pattern = join(place.pattern, quoteName(name));
    if (unknown.has(pattern)) return;
    unknown.add(pattern);
    if (unknown.size > maxUnknownKeys) return;
    const siblings = [...node.children.keys()].filter((sibling) => sibling !== "*");
    let nearest = nearestKey(name, place.written, siblings);
    const agent = /^agents\.list\[[^\]]*\]/.exec(place.written);
    if (agent !== null) nearest = nearest?.replace(/^agents\.defaults\b/, agent[0]);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    layer.notices.push(`${label}: unknown key ${join(place.written, quoteName(name))} is ignored${hint}`);
  }
}

function groupAt(value: unknown, written: string, label: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const group = written === "" ? "the configuration" : written;
  throw new MemoryError("CONFIG", `${label}: ${group} must be an object, written { … }`);
}

function sameId(place: string, ids: readonly string[]): MemoryError {
  const quoted = ids.map(quoteText).join(" and ");
  return new MemoryError("CONFIG", `${place}: two agents have the same id, ${quoted}; give each its own`);
}

/** `memory.search` and `agents.entries` stand for keys of their own. */
function isOtherSpelling(written: string): boolean {
  return written.startsWith("memory.search.") || written.startsWith("agents.entries.");
}

function join(group: string, name: string): string {
  return group === "" ? name : `${group}.${name}`;
}

/** A place in a configuration file: a value, or a group of named places. */
interface KeyNode {
  key?: ConfigKey;
  /** `*` stands for any name. */
  readonly children: Map<string, KeyNode>;
  /** The items of a list, each with these places. */
  items?: KeyNode;
}

/** The table as a tree, with every other spelling leading to the same places as the key that it stands for. */
function buildKeyTree(): KeyNode {
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
