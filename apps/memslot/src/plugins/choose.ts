import { MemoryError, type PluginKind } from "@memslot/core";
import { didYouMean } from "@memslot/core/host";
import type { SurveyedPlugin } from "./survey.ts";

/** The plugin with this id or package name. Throws `CONFIG` with the nearest id and all known ids. */
export function findOne(plugins: readonly SurveyedPlugin[], wanted: string): SurveyedPlugin {
  const found = plugins.find(({ id }) => id === wanted) ?? plugins.find(({ packageName }) => packageName === wanted);
  if (found !== undefined) return found;
  const ids = plugins.map(({ id }) => id);
  const others = "Add another one with `memslot plugins add NAME` or plugins.load.paths.";
  throw new MemoryError(
    "CONFIG",
    `unknown plugin "${wanted}".${didYouMean(wanted, ids)} Known: ${ids.join(", ")}. ${others}`,
  );
}

/** The configuration key that selects a plugin, by kind. */
export const keyOfKind: Readonly<Record<Exclude<PluginKind, "memory">, string>> = {
  embedding: "agents.defaults.memorySearch.provider",
  rerank: "agents.defaults.memorySearch.query.rerank.provider",
};

export function howToChoose(kind: PluginKind, id: string): string {
  return kind === "memory" ? `memslot plugins use ${id}` : `${keyOfKind[kind]}: "${id}"`;
}
