import { join } from "node:path";
import type { ConfigValues } from "../contract/config-values.ts";
import { type ConfigKey, configKeys } from "./keys.ts";
import type { FoundValues } from "./layer.ts";

/**
 * The effective values as a tree: what was found, else the default of the key. The type of the tree is made from the
 * table of keys, by which this fills it.
 */
export function configValues(values: FoundValues, stateDir: string): ConfigValues {
  const tree: Record<string, unknown> = {};
  for (const key of configKeys) {
    const names = key.key.split(".");
    if (key.same !== undefined || key.key.includes("[]")) continue;
    // Without a prototype, so that a plugin or provider called `constructor` is not found where none was given.
    if (names.includes("*")) put(tree, names.slice(0, names.indexOf("*")), Object.create(null));
    else put(tree, names, values.get(key.key)?.value ?? defaultOf(key, stateDir));
  }
  for (const { key, name, value } of values.values())
    if (name !== undefined)
      put(
        tree,
        key.key.split(".").map((part) => (part === "*" ? name : part)),
        value,
      );
  return tree as unknown as ConfigValues;
}

/** A default with the state folder filled in. */
function defaultOf(key: ConfigKey, stateDir: string): unknown {
  const prefix = "{stateDir}/";
  if (typeof key.default !== "string" || !key.default.startsWith(prefix)) return key.default;
  return join(stateDir, key.default.slice(prefix.length));
}

function put(tree: Record<string, unknown>, names: readonly string[], value: unknown): void {
  let group = tree;
  for (const name of names.slice(0, -1)) group = (group[name] ??= {}) as Record<string, unknown>;
  group[names.at(-1) ?? ""] = value;
}
