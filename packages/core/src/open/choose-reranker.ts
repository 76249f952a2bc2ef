import type { MemslotConfig } from "../contract/config.ts";
import type { RerankPlugin } from "../contract/plugin.ts";
import type { RerankChoice, Reranker } from "../contract/reranker.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import { checkReranker } from "../guard/answers.ts";
import { type FoundPlugins, idsOf } from "../plugins/known-plugins.ts";
import { type OpenLimits, addition, findPlugin, loadPlugin, pluginContext, tryToOpen } from "./open-plugin.ts";

const key = "agents.defaults.memorySearch.query.rerank.provider";

/** With limits for importing a plugin, and again for opening its reranker. */
export interface ChooseRerankerOptions extends OpenLimits {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "environment">;
  settings: MemorySearchSettings;
  plugins: FoundPlugins;
  /** A reranker that the application made. It is used whatever the settings say, and closed by the application. */
  reranker?: Reranker | undefined;
}

export interface ChosenReranker {
  choice: RerankChoice;
  close(): Promise<void>;
}

/** The name in `query.rerank.provider`; `none` where it is blank. */
export function requestedReranker({ query }: Pick<MemorySearchSettings, "query">): string {
  const written = query.rerank.provider.trim();
  return written === "" || written.toLowerCase() === "none" ? "none" : written;
}

/**
 * Chooses and opens the reranker. None is no error: results keep their order. Throws `CONFIG` for an id that nobody
 * knows or that is forbidden, and `PLUGIN` for a plugin that cannot be loaded. What a plugin itself cannot help (no key,
 * no model) makes a choice that is `degraded`.
 */
export async function chooseReranker(options: ChooseRerankerOptions): Promise<ChosenReranker> {
  const { settings, reranker, plugins, config } = options;
  const chosen = (choice: RerankChoice, close = async (): Promise<void> => {}): ChosenReranker => ({ choice, close });
  if (reranker !== undefined) {
    checkReranker('the "reranker" option', reranker);
    const reason = `"${reranker.id}" was given by the application`;
    return chosen({ reranker, requested: "given", reason, degraded: false });
  }
  const value = requestedReranker(settings);
  const none = (reason: string, degraded: boolean): ChosenReranker =>
    chosen({ reranker: undefined, requested: value, reason, degraded });
  if (value === "none") return none(`${key} is "none"`, false);
  const names = [...idsOf("rerank", [...plugins.known, ...plugins.missing]), "none"];
  const found = findPlugin({ key, value, kind: "rerank", names }, plugins, config.plugins);
  if (found === undefined)
    return none(
      `the reranker "${value}" is not installed, so results keep their order. To add it, ${addition(value, plugins)}; or set ${key} to "none"`,
      true,
    );
  const plugin = await loadPlugin<RerankPlugin>(found, options);
  const context = { settings, ...(await pluginContext(found, config)) };
  const answer = await tryToOpen(found, options, (signal) => plugin.open({ ...context, signal }));
  if ("failure" in answer) return none(`${answer.failure}; results keep their order`, true);
  const { opened } = answer;
  checkReranker(`what rerank plugin "${found.id}" opened`, opened);
  const reason = `${key} is "${value}"`;
  return chosen({ reranker: opened, requested: value, reason, degraded: false }, async () => opened.close?.());
}
