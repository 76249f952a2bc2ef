import type { PluginKind } from "@memslot/core";

const keys: Readonly<Record<Exclude<PluginKind, "memory">, string>> = {
  embedding: "agents.defaults.memorySearch.provider",
  rerank: "agents.defaults.memorySearch.query.rerank.provider",
};

/** The key of the configuration that names a plugin of this kind. */
export function keyOfKind(kind: Exclude<PluginKind, "memory">): string {
  return keys[kind];
}

/** What chooses a plugin: a command, or a key and its value. */
export function howToChoose(kind: PluginKind, id: string): string {
  return kind === "memory" ? `memslot plugins use ${id}` : `${keys[kind]}: "${id}"`;
}
