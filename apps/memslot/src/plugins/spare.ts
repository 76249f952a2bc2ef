import type { FoundPlugin, MemslotConfig } from "@memslot/core";

/** What answers while a memory plugin is unavailable. */
export interface Spare {
  id: string;
  /** True where it makes no embedding request. */
  isKeywordOnly: boolean;
}

/** The spare that the configuration names, else the one that the plugin has by itself; undefined where there is none. */
export function spareOf({ id, configSchema }: FoundPlugin, { plugins }: MemslotConfig): Spare | undefined {
  const entry = Object.hasOwn(plugins.entries, id) ? plugins.entries[id] : undefined;
  const properties = configSchema?.["properties"] as Record<string, { default?: unknown } | undefined> | undefined;
  const wanted = entry?.fallback ?? entry?.config["fallback"] ?? properties?.["fallback"]?.default;
  if (typeof wanted !== "string") return undefined;
  const word = wanted.trim().toLowerCase();
  if (word === "" || word === "none" || wanted.trim() === id) return undefined;
  const isWord = word === "builtin" || word === "keyword";
  return { id: isWord ? "memory-core" : wanted.trim(), isKeywordOnly: word === "keyword" };
}
