import type { MemorySearchSettings } from "../contract/config.ts";
import type { EmbeddingChoice, EmbeddingProvider } from "../contract/embedding.ts";
import { MemoryError, isAbort, sentenceOf } from "../contract/errors.ts";
import type { RerankPlugin } from "../contract/plugin.ts";
import type { RerankChoice, Reranker } from "../contract/reranker.ts";
import { asSentence, joined, type Sentence, sentence } from "../contract/sentences.ts";
import { checkProvider, checkReranker } from "../guard/runtime-type-checks.ts";
import {
  type FoundPlugin,
  type FoundPlugins,
  forbiddenBy,
  howToAdd,
  idsOf,
  pluginNamed,
} from "../plugins/known-plugins.ts";
import {
  type EmbeddingUse,
  type OpenersInput,
  EmbeddingOpeners,
  addition,
  findPlugin,
  loadPlugin,
  pluginContext,
  quoted,
  tryToOpen,
} from "./open-plugin.ts";

const providerKey = "agents.defaults.memorySearch.provider";
const fallbackKey = "agents.defaults.memorySearch.fallback";
const rerankKey = "agents.defaults.memorySearch.query.rerank.provider";

export const wellKnownProviders: readonly string[] = ["local", "openai", "gemini"];

export interface Chosen<Choice> {
  choice: Choice;
  close(): Promise<void>;
}

export interface ChooseOptions extends OpenersInput {
  plugins: FoundPlugins;
  signal?: AbortSignal | undefined;
}

interface Outcome extends Sentence {
  opened?: { provider: EmbeddingProvider; found: FoundPlugin; role: EmbeddingUse["role"] };
  degraded?: boolean;
}

/** Chooses and opens the embedding provider; none means keyword search. Throws `CONFIG` and `PLUGIN`. */
export async function chooseEmbeddings(
  options: ChooseOptions & { embeddings?: EmbeddingProvider | undefined },
): Promise<Chosen<EmbeddingChoice>> {
  const { config, settings, plugins, embeddings, signal } = options;
  const requested = settings.provider.trim() || "auto";
  const openers = new EmbeddingOpeners(options);
  const passedOver: { id: string; reason: string }[] = [];
  try {
    const choice = await choose();
    return { choice, close: () => openers.close() };
  } catch (error) {
    await openers.close().catch(() => undefined);
    throw error;
  }

  async function choose(): Promise<EmbeddingChoice> {
    if (embeddings !== undefined) {
      checkProvider('the "embeddings" option', embeddings);
      const why = sentence("embedding.given", { id: embeddings.id });
      return { provider: embeddings, requested, ...why, degraded: false };
    }
    if (requested.toLowerCase() === "none") {
      const why = sentence("embedding.none", { key: providerKey });
      return { provider: undefined, requested, ...why, degraded: false };
    }
    if (requested.toLowerCase() !== "auto") return addFallback(await chooseNamed());
    return { ...(await addFallback(await chooseAuto())), passedOver };
  }

  /** Enabled plugins first, then the well-known ones that report that they are usable. */
  async function chooseAuto(): Promise<Outcome> {
    const failures: Sentence[] = [];
    const take = async (
      found: FoundPlugin,
      role: EmbeddingUse["role"],
      why: Sentence,
    ): Promise<Outcome | undefined> => {
      const answer = await openers.tryToOpen(found, { role, signal });
      if ("opened" in answer) return { opened: { provider: answer.opened, found, role }, ...why };
      failures.push(answer.failure);
      passedOver.push({ id: found.id, reason: answer.failure.reason });
      return undefined;
    };
    const { entries } = config.plugins;
    for (const id of Object.keys(entries).filter((name) => entries[name]?.enabled === true)) {
      const found = plugins.known.find((known) => known.id === id);
      // Well-known providers report themselves whether they are usable.
      if (found?.kind !== "embedding" || wellKnownProviders.includes(id)) continue;
      if (forbiddenBy(found, config.plugins) !== undefined) continue;
      const outcome = await take(found, "named", sentence("embedding.enabled", { id }));
      if (outcome) return outcome;
    }
    for (const id of wellKnownProviders) {
      const { found, reason } = await whetherAvailable(id);
      const outcome = found && (await take(found, "auto", sentence("embedding.auto", { key: providerKey, reason })));
      if (outcome) return outcome;
      if (!found) passedOver.push({ id, reason: reason.reason });
    }
    if (failures.length > 0)
      return { ...sentence("embedding.failed", { failure: joined("list.more", failures) }), degraded: true };
    const missing = missingPlugin();
    if (missing !== undefined) return missing;
    const usable = plugins.known.filter((found) => forbiddenBy(found, config.plugins) === undefined);
    const others = idsOf("embedding", usable).filter((id) => !wellKnownProviders.includes(id));
    const found = others.length === 0 ? "" : sentence("embedding.found", { ids: quoted(others) });
    return sentence("embedding.unset", { failure: sentence("embedding.noProvider"), key: providerKey, found });
  }

  function missingPlugin(): Sentence | undefined {
    for (const id of new Set([...wellKnownProviders, ...idsOf("embedding", plugins.missing)])) {
      if ([...plugins.known, ...plugins.broken].some((other) => other.id === id)) continue;
      const plugin = pluginNamed(id, plugins.missing) ?? { id };
      if (forbiddenBy(plugin, config.plugins) !== undefined) continue;
      const variable = `${id.toUpperCase().replaceAll("-", "_")}_API_KEY`;
      const isLocal = id === "local";
      const places = Object.entries({
        "memorySearch.local.modelPath": isLocal ? settings.local.modelPath : undefined,
        [variable]: isLocal ? undefined : config.environment(variable),
        [`models.providers.${id}.apiKey`]: isLocal ? undefined : config.providers[id]?.apiKey,
        "memorySearch.remote.apiKey": id === "openai" ? settings.remote.apiKey : undefined,
      }).flatMap(([place, value]) => (value === undefined ? [] : [place]));
      if (places.length === 0) continue;
      const names = places.join(" and ");
      const failure = sentence("embedding.keyOnly", {
        id,
        names,
        places: `${names} ${places.length === 1 ? "is" : "are"}`,
      });
      return sentence("embedding.installToo", { failure, add: howToAdd(plugin) });
    }
    return undefined;
  }

  async function whetherAvailable(id: string): Promise<{ found?: FoundPlugin; reason: Sentence }> {
    const found = plugins.known.find((known) => known.id === id && known.kind === "embedding");
    const broken = plugins.broken.find((each) => each.id === id);
    const obstacle = found ? forbiddenBy(found, config.plugins) : (broken?.error.message ?? "not installed");
    if (found === undefined || obstacle !== undefined) return { reason: asSentence(obstacle ?? "") };
    try {
      const { ok, ...reason } = await openers.available(found, signal);
      return ok ? { found, reason } : { reason };
    } catch (error) {
      if (isAbort(error) && signal?.aborted === true) throw error;
      return { reason: sentenceOf(error) };
    }
  }

  async function chooseNamed(): Promise<Outcome> {
    const found = findProvider(requested, providerKey);
    if (!found) {
      const failure = sentence("embedding.notInstalled", { id: requested });
      const add = addition(requested, plugins);
      return { ...sentence("embedding.install", { failure, add, key: providerKey }), degraded: true };
    }
    const answer = await openers.tryToOpen(found, { role: "named", signal });
    if ("failure" in answer) return { ...sentence("embedding.failed", { failure: answer.failure }), degraded: true };
    const why = sentence("embedding.named", { key: providerKey, id: requested });
    return { opened: { provider: answer.opened, found, role: "named" }, ...why };
  }

  /** Adds the fallback provider: at once if the first could not be opened, later if it fails permanently. */
  async function addFallback({ opened, degraded = false, ...whole }: Outcome): Promise<EmbeddingChoice> {
    const fallback = settings.fallback.trim();
    const wanted = fallback !== "" && fallback.toLowerCase() !== "none";
    const fallbackPlugin = wanted ? findProvider(fallback, fallbackKey) : undefined;
    const openFallback = async (signal: AbortSignal | undefined): Promise<EmbeddingProvider> => {
      const answer = fallbackPlugin && (await openers.tryToOpen(fallbackPlugin, { role: "fallback", signal }));
      if (answer && "opened" in answer) return answer.opened;
      const failed = { ...answer, id: fallback, key: fallbackKey, add: addition(fallback, plugins) };
      const code = answer ? "embedding.fallbackFailed" : "embedding.fallbackMissing";
      throw new MemoryError("UNAVAILABLE", sentence(code, failed));
    };
    if (opened) {
      const { found, provider, role } = opened;
      return {
        provider,
        requested,
        ...whole,
        degraded,
        spare: wanted && fallbackPlugin !== found ? { id: fallback, open: openFallback } : undefined,
        openModel: (model, signal) => openers.open(found, { role, model, signal }),
      };
    }
    if (!wanted || fallback === requested) return { provider: undefined, requested, ...whole, degraded };
    const failure = whole.params?.["failure"] as string | Sentence;
    try {
      const provider = await openFallback(signal);
      const why = asSentence(failure);
      return { provider, requested, ...why, degraded, fallback: { from: requested, to: fallback, ...why } };
    } catch (error) {
      if (!MemoryError.is(error, "UNAVAILABLE")) throw error;
      const left = whole.code === "embedding.failed" ? failure : whole;
      const why = sentence("embedding.failed", { failure: sentence("list.more", { left, right: sentenceOf(error) }) });
      return { provider: undefined, requested, ...why, degraded: true };
    }
  }

  function findProvider(value: string, key: string): FoundPlugin | undefined {
    const ids = new Set([...idsOf("embedding", plugins.known), ...wellKnownProviders]);
    const names = [...ids, ...(key === providerKey ? ["auto", "none"] : ["none"])];
    const remark = plugins.broken.map(({ error }) => ` Not usable: ${error.message}.`).join("");
    const wanted = { key, value, kind: "embedding", names, wellKnown: wellKnownProviders, remark } as const;
    return findPlugin(wanted, plugins, config.plugins);
  }
}

export function requestedReranker({ query }: Pick<MemorySearchSettings, "query">): string {
  const written = query.rerank.provider.trim();
  return written === "" || written.toLowerCase() === "none" ? "none" : written;
}

/** Chooses and opens the reranker; none keeps the order. Throws `CONFIG` and `PLUGIN`. */
export async function chooseReranker(
  options: ChooseOptions & { reranker?: Reranker | undefined },
): Promise<Chosen<RerankChoice>> {
  const { settings, reranker, plugins, config, deadlineMs, signal } = options;
  const value = requestedReranker(settings);
  const none = (why: string | Sentence, degraded: boolean): Chosen<RerankChoice> => ({
    choice: { reranker: undefined, requested: value, ...asSentence(why), degraded },
    close: async () => undefined,
  });
  if (reranker !== undefined) {
    checkReranker('the "reranker" option', reranker);
    const reason = `"${reranker.id}" was given by the application`;
    return { ...none("", false), choice: { reranker, requested: "given", reason, degraded: false } };
  }
  if (value === "none") return none(`${rerankKey} is "none"`, false);
  const names = [...idsOf("rerank", [...plugins.known, ...plugins.missing]), "none"];
  const found = findPlugin({ key: rerankKey, value, kind: "rerank", names }, plugins, config.plugins);
  if (found === undefined)
    return none(sentence("rerank.missing", { id: value, add: addition(value, plugins), key: rerankKey }), true);
  const plugin = await loadPlugin<RerankPlugin>(found, deadlineMs, signal);
  const context = await pluginContext(found, options);
  const answer = await tryToOpen(found, deadlineMs, signal, (inner) => plugin.open({ ...context, signal: inner }));
  if ("failure" in answer) return none(sentence("rerank.failed", answer), true);
  const { opened } = answer;
  checkReranker(`what rerank plugin "${found.id}" opened`, opened);
  const choice = { reranker: opened, requested: value, reason: `${rerankKey} is "${value}"`, degraded: false };
  return { choice, close: async () => opened.close?.() };
}
