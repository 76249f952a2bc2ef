import { nearestWord } from "../text/nearest-word.ts";
import type { MemslotConfig } from "../contract/config.ts";
import { MemoryError, isAbort, messageOf } from "../contract/errors.ts";
import type { RerankPlugin } from "../contract/plugin.ts";
import type { RerankChoice, Reranker } from "../contract/reranker.ts";
import type { MemorySearchSettings } from "../contract/settings.ts";
import { openWithDeadline, withDeadline } from "../guard/deadline.ts";
import type { FoundPlugin, FoundPlugins } from "../plugins/found-plugin.ts";
import { howToAdd, offeredAs } from "../plugins/offered.ts";
import { checkReranker } from "../guard/opened.ts";
import { pluginOptions } from "../plugins/plugin-options.ts";
import { forbiddenBy } from "./slot.ts";

const providerKey = "agents.defaults.memorySearch.query.rerank.provider";

export interface ChooseRerankerOptions {
  config: Pick<MemslotConfig, "plugins" | "stateDir" | "environment">;
  settings: MemorySearchSettings;
  plugins: FoundPlugins;
  /** A reranker that the application made. It is used whatever the settings say, and closed by the application. */
  reranker?: Reranker | undefined;
  /** For importing a plugin, and again for opening its reranker. */
  deadlineMs: number;
  signal?: AbortSignal | undefined;
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
  const { settings, reranker, plugins } = options;
  if (reranker !== undefined) {
    checkReranker('the "reranker" option', reranker);
    const reason = `"${reranker.id}" was given by the application`;
    return { choice: { reranker, requested: "given", reason, degraded: false }, close: async () => {} };
  }
  const requested = requestedReranker(settings);
  if (requested === "none") return none(requested, `${providerKey} is "none"`, false);
  const found = findPlugin(options, requested);
  if (found === undefined) {
    const step = howToAdd(offeredAs(requested, plugins.missing) ?? { id: requested });
    const reason = `the reranker "${requested}" is not installed, so results keep their order. To add it, ${step}; or set ${providerKey} to "none"`;
    return none(requested, reason, true);
  }
  const opened = await open(found, options);
  if ("failure" in opened) return none(requested, `${opened.failure}; results keep their order`, true);
  const reason = `${providerKey} is "${requested}"`;
  return {
    choice: { reranker: opened, requested, reason, degraded: false },
    close: async () => opened.close?.(),
  };
}

function none(requested: string, reason: string, degraded: boolean): ChosenReranker {
  return { choice: { reranker: undefined, requested, reason, degraded }, close: async () => {} };
}

/** The plugin of an id, or of a package name; undefined for one that is offered and not installed. */
function findPlugin({ plugins, config }: ChooseRerankerOptions, wanted: string): FoundPlugin | undefined {
  const isWanted = ({ id, packageName }: { id?: string | undefined; packageName?: string | undefined }): boolean =>
    id === wanted || packageName === wanted;
  const found = plugins.known.find(isWanted);
  if (found === undefined) {
    const broken = plugins.broken.find(isWanted);
    if (broken !== undefined) throw broken.error;
    if (offeredAs(wanted, plugins.missing)?.kind === "rerank") return undefined;
  }
  if (found?.kind !== "rerank") throw new MemoryError("CONFIG", unknownMessage(wanted, plugins));
  const forbidden = forbiddenBy(found, config.plugins);
  if (forbidden !== undefined)
    throw new MemoryError("CONFIG", `${providerKey} is "${wanted}", but ${forbidden}; change one of the two`);
  return found;
}

function unknownMessage(wanted: string, { known, missing }: FoundPlugins): string {
  const ids = [...known, ...missing].filter(({ kind }) => kind === "rerank").map(({ id }) => id);
  const nearest = nearestWord(wanted, [...ids, "none"]);
  const question = nearest === undefined ? "" : ` Did you mean "${nearest}"?`;
  const list = [...ids, "none"].map((id) => `"${id}"`).join(", ");
  return `${providerKey} is "${wanted}", which is no reranker.${question} Known: ${list}.`;
}

async function open(
  found: FoundPlugin,
  { config, settings, deadlineMs, signal }: ChooseRerankerOptions,
): Promise<Reranker | { failure: string }> {
  const whose = `rerank plugin "${found.id}"`;
  const limits = { deadlineMs, signals: [signal] };
  const plugin = (await withDeadline({ ...limits, what: `loading ${whose}` }, () => found.load())) as RerankPlugin;
  const { environment, stateDir } = config;
  const options = await pluginOptions(found, config.plugins);
  let reranker: Reranker;
  try {
    reranker = await openWithDeadline({ ...limits, what: `opening ${whose}` }, (inner) =>
      plugin.open({ settings, environment, stateDir, options, signal: inner }),
    );
  } catch (error) {
    if (isAbort(error) && signal?.aborted === true) throw error;
    return { failure: `the reranker "${found.id}" cannot be used: ${messageOf(error)}` };
  }
  checkReranker(`what ${whose} opened`, reranker);
  return reranker;
}
