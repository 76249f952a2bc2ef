import { MemoryError } from "../contract/errors.ts";
import { globProblem } from "../text/glob.ts";
import { isObject, mapTexts } from "./plain-data.ts";
import { agentIdProblem, quoteName, quoteText } from "./agent-ids.ts";
import { type Environment, absolutePath } from "./paths.ts";
import { type ConfigKey, configKeys, nearestKey, shownValue, valueTypeOf } from "./keys.ts";

const maxUnknownKeys = 20;

/** `${NAME}`, or `$${` for the two characters themselves. */
const reference = /\$\$\{|\$\{([A-Za-z_]\w*)\}/g;

export interface ConfigContent {
  readonly content: unknown;
  readonly label: string;
  readonly baseDir: string;
}

/** Reads a parsed configuration against the table of keys. Throws `CONFIG` with the file and the key. */
export function readLayer(
  source: ConfigContent,
  env: Environment,
  select: (layer: ConfigLayer) => void = () => {},
): ConfigLayer {
  const layer = collectValues(source);
  select(layer);
  changeValues(layer, (found) => {
    const value = finalValue(found, layer, env);
    return value === undefined ? undefined : { ...found, value };
  });
  return layer;
}

/** Whether a text names an environment variable. */
export function hasReference(text: string): boolean {
  return [...text.matchAll(reference)].some(([, name]) => name !== undefined);
}

function finalValue(found: FoundValue, { label, baseDir }: ConfigLayer, env: Environment): unknown {
  const { key, value: raw, written } = found;
  const type = valueTypeOf(key);
  const value = expand(found, label, env);
  const isBlank = typeof value === "string" && value.trim() === "";
  if (isBlank && !["boolean", "integer", "number"].includes(key.type)) return undefined;
  if (!type.accepts(value, key))
    throw new MemoryError("CONFIG", `${label}: ${written} must be ${type.wanted(key)}, but is ${shownValue(key, raw)}`);
  for (const pattern of type.globsIn?.(value) ?? []) {
    const problem = globProblem(pattern);
    if (problem !== undefined)
      throw new MemoryError("CONFIG", `${label}: ${written}: the pattern ${quoteText(pattern)} ${problem.reason}`);
  }
  return type.withAbsolutePaths?.(value, (path) => absolutePath(path, baseDir, env), key) ?? value;
}

function expand({ value, written }: FoundValue, label: string, env: Environment): unknown {
  try {
    return mapTexts(value, (text) =>
      text.replaceAll(reference, (whole: string, name: string | undefined) => {
        if (name === undefined) return "${";
        const replacement = env[name];
        if (replacement !== undefined) return replacement;
        throw new MemoryError(
          "CONFIG",
          `${label}: ${written} names the environment variable ${name}, which is not set; set it, or write $${whole} if you mean these characters`,
        );
      }),
    );
  } catch (error) {
    if (error instanceof RangeError)
      throw new MemoryError("CONFIG", `${label}: ${written} is nested too deeply`, { cause: error });
    throw error;
  }
}

interface WrittenAt {
  readonly written: string;
  /** The same with `*` and `[]`, so that an unknown key of ten agents is reported once. */
  readonly pattern: string;
  readonly name?: string | undefined;
  readonly values: FoundValues;
}

/** Walks a configuration along the table of keys. Throws for a wrong group or a duplicate agent id. */
function collectValues({ content, label, baseDir }: ConfigContent): ConfigLayer {
  const layer: ConfigLayer = { label, baseDir, values: new Map(), agents: new Map(), notices: [] };
  const unknown = new Set<string>();
  const listed = new Set<FoundValues>();
  const lowered = new Map<string, string>();
  walk(keyTree(), content, { written: "", pattern: "", values: layer.values });
  if (unknown.size > maxUnknownKeys)
    layer.notices.push(`${label}: ${unknown.size - maxUnknownKeys} more unknown keys are ignored`);
  return layer;

  function walk(node: KeyNode, value: unknown, place: WrittenAt): void {
    if (value === undefined) return;
    if (node.key !== undefined) return record(node.key, value, place);
    if (node.items !== undefined) return walkList(node.items, value, place);
    for (const [name, inner] of Object.entries(groupAt(value, place.written))) {
      const written = join(place.written, quoteName(name));
      if (name === "__proto__") throw refusal(written, " cannot be a key; remove it");
      const named = node.children.get("*");
      const known = node.children.get(name);
      if (known !== undefined) walk(known, inner, { ...place, written, pattern: join(place.pattern, name) });
      else if (named === undefined) noteUnknown(node, name, place);
      else if (place.pattern === "agents.entries")
        walk(named, groupAt(inner, written), {
          written,
          pattern: "agents.entries.*",
          values: agentNamed(name, written),
        });
      else walk(named, inner, { ...place, written, pattern: join(place.pattern, "*"), name });
    }
  }

  function walkList(node: KeyNode, value: unknown, { written, pattern }: WrittenAt): void {
    if (!Array.isArray(value)) throw refusal(written, " must be a list");
    for (const [index, item] of value.entries()) {
      const numbered = `${written}[${index}]`;
      const id: unknown = groupAt(item, numbered)["id"];
      const values = agentNamed(id, `${numbered}.id`);
      if (listed.has(values)) throw sameId(`${numbered}.id`, [String(id)]);
      listed.add(values);
      walk(node, item, { written: `${written}[${String(id)}]`, pattern: `${pattern}[]`, values });
    }
  }

  function agentNamed(id: unknown, written: string): FoundValues {
    const problem = id === undefined ? "every agent must have an id" : agentIdProblem(id);
    if (problem !== undefined) throw refusal(written, `: ${problem}`);
    const name = String(id);
    const known = layer.agents.get(name);
    if (known !== undefined) return known;
    // Ids become file names, and some systems keep only one of `Work` and `work`.
    const twin = lowered.get(name.toLowerCase());
    if (twin !== undefined) throw sameId(written, [twin, name]);
    lowered.set(name.toLowerCase(), name);
    const fresh: FoundValues = new Map();
    layer.agents.set(name, fresh);
    return fresh;
  }

  function record(key: ConfigKey, value: unknown, { written, name, values }: WrittenAt): void {
    const at = lookupKey(key, name);
    const present = values.get(at);
    const found: FoundValue = { key, name, written, value, origin: label };
    // `memory.search` and `agents.entries` are other spellings: the usual one wins.
    const isOther = /^(?:memory\.search|agents\.entries)\./.test(written);
    const [kept, dropped] = present !== undefined && isOther ? [present, found] : [found, present];
    values.set(at, kept);
    if (dropped !== undefined)
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

  function groupAt(value: unknown, written: string): Record<string, unknown> {
    if (isObject(value)) return value;
    throw refusal(written === "" ? "the configuration" : written, " must be an object, written { … }");
  }

  function sameId(written: string, ids: readonly string[]): MemoryError {
    return refusal(written, `: two agents have the same id, ${ids.map(quoteText).join(" and ")}; give each its own`);
  }

  function refusal(written: string, problem: string): MemoryError {
    return new MemoryError("CONFIG", `${label}: ${written}${problem}`);
  }
}

function join(group: string, name: string): string {
  return group === "" ? name : `${group}.${name}`;
}

interface KeyNode {
  key?: ConfigKey;
  readonly children: Map<string, KeyNode>;
  items?: KeyNode;
}

function keyTree(): KeyNode {
  const root: KeyNode = { children: new Map() };
  for (const key of configKeys) if (key.same === undefined) place(root, key.key.split(".")).key = key;
  for (const { key, same } of configKeys) {
    if (same === undefined) continue;
    const names = key.split(".");
    place(root, names.slice(0, -1)).children.set(names.at(-1) ?? "", place(root, same.split(".")));
  }
  return root;
}

function place(root: KeyNode, names: readonly string[]): KeyNode {
  let node = root;
  for (const name of names) {
    const isList = name.endsWith("[]");
    const own = isList ? name.slice(0, -2) : name;
    const next: KeyNode = node.children.get(own) ?? { children: new Map() };
    node.children.set(own, next);
    node = isList ? (next.items ??= { children: new Map() }) : next;
  }
  return node;
}

export interface FoundValue {
  readonly key: ConfigKey;
  readonly name: string | undefined;
  readonly written: string;
  readonly value: unknown;
  /** `env NAME`, `option --NAME`, or a file. */
  readonly origin: string;
}

/** Values by their key, with the name that stands for `*`. An agent's own ones have the keys of the defaults. */
export type FoundValues = Map<string, FoundValue>;

export interface ConfigLayer {
  readonly label: string;
  readonly baseDir: string;
  readonly values: FoundValues;
  readonly agents: Map<string, FoundValues>;
  readonly notices: string[];
}

export function changeValues(layer: ConfigLayer, change: (found: FoundValue) => FoundValue | undefined): void {
  for (const values of [layer.values, ...layer.agents.values()])
    for (const [at, found] of values) {
      const changed = change(found);
      if (changed === undefined) values.delete(at);
      else values.set(at, changed);
    }
}

export function allValues({ values, agents }: ConfigLayer): FoundValue[] {
  return [values, ...agents.values()].flatMap((found) => [...found.values()]);
}

export function textsAt(values: FoundValues, key: string): readonly string[] {
  const value = values.get(key)?.value;
  return Array.isArray(value) ? value.map(String) : [];
}

function lookupKey(key: ConfigKey, name: string | undefined): string {
  return name === undefined ? key.key : key.key.replace("*", () => JSON.stringify(name));
}

export function shownKey(key: ConfigKey, name: string | undefined): string {
  return name === undefined ? key.key : key.key.replace("*", () => quoteName(name));
}
