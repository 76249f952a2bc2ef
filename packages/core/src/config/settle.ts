import { join } from "node:path";
import { MemoryError } from "../contract/errors.ts";
import { globProblem } from "../text/glob.ts";
import { isWanted, shownValue, wantedValue } from "./keys/check-value.ts";
import type { ConfigKey } from "./keys/config-key.ts";
import { isObject, mapTexts } from "./deep.ts";
import { type ConfigLayer, type FoundValue, quoteText } from "./layer.ts";
import { type Environment, absolutePath, isAddress } from "./paths.ts";

/** `${NAME}`, or `$${` for the two characters themselves. */
const reference = /\$\$\{|\$\{([A-Za-z_]\w*)\}/g;

/** Whether a text names an environment variable. */
export function hasReference(text: string): boolean {
  return [...text.matchAll(reference)].some(([, name]) => name !== undefined);
}

/**
 * Makes every value of a layer final: variables replaced, type and range checked, paths absolute, blank texts taken
 * out. Throws `CONFIG` naming the file and the key.
 */
export function settleLayer(layer: ConfigLayer, env: Environment): void {
  for (const values of [layer.values, ...layer.agents.values()]) {
    for (const [at, found] of values) {
      const value = settled(found, layer, env);
      if (value === undefined) values.delete(at);
      else values.set(at, { ...found, value });
    }
  }
}

function settled(found: FoundValue, layer: ConfigLayer, env: Environment): unknown {
  const { key, value: raw, written } = found;
  const value = expand(found, layer.label, env);
  const isBlank = typeof value === "string" && value.trim() === "";
  if (isBlank && key.type !== "boolean" && key.type !== "integer" && key.type !== "number") return undefined;
  if (!isWanted(key, value)) {
    throw new MemoryError(
      "CONFIG",
      `${layer.label}: ${written} must be ${wantedValue(key)}, but is ${shownValue(key, raw)}`,
    );
  }
  refuseBadPatterns(found, value, layer.label);
  return withAbsolutePaths(key, value, layer.baseDir, env);
}

/** A pattern that would take for ever, or that is not understood, is told before any file is looked at. */
function refuseBadPatterns({ key, written }: FoundValue, value: unknown, label: string): void {
  if ((key.type !== "extraPaths" && key.type !== "globs") || !Array.isArray(value)) return;
  for (const item of value) {
    const pattern: unknown = isObject(item) ? item["pattern"] : key.type === "globs" ? item : undefined;
    const problem = typeof pattern === "string" ? globProblem(pattern) : undefined;
    if (problem !== undefined)
      throw new MemoryError("CONFIG", `${label}: ${written}: the pattern ${quoteText(String(pattern))} ${problem}`);
  }
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

function withAbsolutePaths(key: ConfigKey, value: unknown, baseDir: string, env: Environment): unknown {
  const absolute = (path: string): string => absolutePath(path, baseDir, env);
  if (key.type === "path" && typeof value === "string")
    return key.address === true && isAddress(value) ? value : absolute(value);
  if (key.type === "paths" && Array.isArray(value)) return value.map((path) => absolute(String(path)));
  if (key.type !== "extraPaths" || !Array.isArray(value)) return value;
  return value.map((item: unknown) =>
    isObject(item) ? { ...item, path: absolute(String(item["path"])) } : absolute(String(item)),
  );
}

/** A default with the state folder filled in. */
export function defaultOf(key: ConfigKey, stateDir: string): unknown {
  const prefix = "{stateDir}/";
  if (typeof key.default !== "string" || !key.default.startsWith(prefix)) return key.default;
  return join(stateDir, key.default.slice(prefix.length));
}
