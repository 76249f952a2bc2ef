import { type EmbeddingPluginContext, MemoryError } from "@memslot/core";
import {
  type FailureRow,
  type FoundKey,
  type HttpApi,
  checkKey,
  firstSet,
  isThisMachine,
  readBaseUrl,
  readHeaders,
} from "@memslot/core/providers";
import table from "./gemini.json" with { type: "json" };

type Context = Pick<EmbeddingPluginContext, "settings" | "providers" | "environment">;

/** Host of Google's own API. */
export const googleHost = "generativelanguage.googleapis.com";
const keyHeader = "x-goog-api-key";

function isAuto({ settings }: Context): boolean {
  return ["auto", ""].includes(settings.provider.trim().toLowerCase());
}

/** The first key that is set, valid or not. `GOOGLE_API_KEY` counts only if the configuration names this provider. */
export function findKey(context: Context): FoundKey | undefined {
  const { settings, environment } = context;
  return firstSet({
    "remote.apiKey": isAuto(context) ? undefined : settings.remote.apiKey,
    ...providerSettings(context, "apiKey"),
    GEMINI_API_KEY: environment("GEMINI_API_KEY"),
    GOOGLE_API_KEY: isAuto(context) ? undefined : environment("GOOGLE_API_KEY"),
  });
}

function providerSettings({ providers }: Context, key: "apiKey" | "baseUrl"): Record<string, string | undefined> {
  return Object.fromEntries(
    ["google", "gemini"].map((name) => [`models.providers.${name}.${key}`, providers[name]?.[key]]),
  );
}

/** Reads base URL (a version at its end replaces `v1beta`, `/openai` is dropped), key and headers. Throws `CONFIG`. */
export function resolveApi(context: Context, model: string): HttpApi {
  const { value = `https://${googleHost}`, source: urlSource = "remote.baseUrl" } =
    firstSet({
      "remote.baseUrl": isAuto(context) ? undefined : context.settings.remote.baseUrl,
      ...providerSettings(context, "baseUrl"),
    }) ?? {};
  const baseUrl = readBaseUrl(value, urlSource, { [googleHost]: "Google" });
  if (baseUrl.search !== "")
    throw new MemoryError("CONFIG", `${urlSource} contains a query (?): remove it, and write keys into remote.apiKey`);
  const path = baseUrl.pathname.replace(/\/(?:openai)?$/, "");
  baseUrl.pathname = /\/v\d+(?:alpha|beta)?\d*$/.test(path) ? path : `${path}/v1beta`;
  const written = isAuto(context) ? {} : readHeaders(context.settings.remote.headers);
  const key = chooseKey(context, { baseUrl, urlSource, written });
  return {
    name: baseUrl.hostname === googleHost ? "Gemini" : baseUrl.host,
    baseUrl,
    urlSource,
    headers: { [keyHeader]: key.value ?? "", ...written },
    keySource: key.source,
    modelAdvice: () => `The model is "${model}" (agents.defaults.memorySearch.model)`,
    failures: table.failures as FailureRow[],
  };
}

/** Credentials among the headers replace a key. A key goes unencrypted only to this machine or the URL it belongs to. */
function chooseKey(
  context: Context,
  { baseUrl, urlSource, written }: { baseUrl: URL; urlSource: string; written: Record<string, string> },
): { value?: string; source: string } {
  if (written[keyHeader] || written["authorization"]) return { source: "remote.headers" };
  const key = findKey(context);
  if (key === undefined) {
    const remote = isAuto(context) ? "" : " or agents.defaults.memorySearch.remote.apiKey";
    const places = `the environment variable GEMINI_API_KEY, or models.providers.google.apiKey${remote}`;
    throw new MemoryError("CONFIG", `no Gemini key: set ${places}`);
  }
  checkKey(key);
  const belongs = key.source === "remote.apiKey" || urlSource === key.source.replace(/apiKey$/, "baseUrl");
  if (baseUrl.protocol === "https:" || belongs || isThisMachine(baseUrl)) return key;
  throw new MemoryError(
    "CONFIG",
    `${urlSource} begins with http://, and the key from ${key.source} does not belong to ${baseUrl.host}: write https://, or set remote.apiKey`,
  );
}
