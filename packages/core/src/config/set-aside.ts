import { isAbsolute } from "node:path";
import type { ConfigKey } from "./config-key.ts";
import { isObject, someText } from "./deep.ts";
import type { ConfigLayer } from "./layer.ts";
import { type Environment, absolutePath, isInside } from "./paths.ts";
import { hasReference } from "./settle.ts";

/**
 * Takes out of a file that nobody has trusted yet what could run code, send notes or keys elsewhere, or reach outside
 * its own folder, and tells so in one notice.
 */
export function setAside(layer: ConfigLayer, env: Environment): void {
  const removed: string[] = [];
  for (const values of [layer.values, ...layer.agents.values()]) {
    for (const [at, { key, value, written }] of values) {
      if (!someText(value, hasReference) && isHarmless(key, value, layer.baseDir, env)) continue;
      values.delete(at);
      removed.push(written);
    }
  }
  if (removed.length === 0) return;
  const more = removed.length > 20 ? ` and ${removed.length - 20} more` : "";
  layer.notices.push(
    `${layer.label} is not trusted, so these keys are set aside: ${removed.slice(0, 20).join(", ")}${more}; if the file is yours, run \`memslot trust\` in its folder`,
  );
}

function isHarmless(key: ConfigKey, value: unknown, folder: string, env: Environment): boolean {
  if (key.guarded === undefined) return true;
  if (key.guarded === "path") return pathsIn(value).every((path) => isInside(absolutePath(path, folder, env), folder));
  if (typeof value !== "string" || key.harmless === undefined) return false;
  return key.harmless === "none" ? /^\s*none\s*$/i.test(value) : /^[\w-]*$/.test(value.trim());
}

/** Every path in a value; a pattern that leads upwards stands for the root of the file system. */
function pathsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(pathsIn);
  if (!isObject(value)) return [];
  const { path, pattern } = value;
  const leadsUpwards = typeof pattern === "string" && (pattern.includes("..") || isAbsolute(pattern));
  return [...pathsIn(path), ...(leadsUpwards ? ["/"] : [])];
}
