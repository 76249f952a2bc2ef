import { BlockList, isIP } from "node:net";
import { type EmbeddingPluginContext, MemoryError } from "@memslot/core";
import {
  type FailureRow,
  type HttpApi,
  checkKey,
  displayedUrl,
  firstSet,
  readBaseUrl,
  readHeaders,
} from "@memslot/core/providers";
import table from "./openai.json" with { type: "json" };

type Context = Pick<EmbeddingPluginContext, "settings" | "providers" | "environment">;

export const providerId = "openai";

const baseUrlVariable = "OPENAI_BASE_URL";
const openAiHost = "api.openai.com";
const modelKey = "agents.defaults.memorySearch.model";
const howToSetKey =
  "set the environment variable OPENAI_API_KEY, or agents.defaults.memorySearch.remote.apiKey; for another server set agents.defaults.memorySearch.remote.baseUrl";

/** The setting that makes this provider usable; undefined if none is set. */
export function usableSetting({ settings: { remote }, providers, environment }: Context): string | undefined {
  return firstSet({
    "remote.apiKey": remote.apiKey,
    "remote.baseUrl": remote.baseUrl,
    "remote.headers": Object.keys(remote.headers).find((name) => name.toLowerCase() === "authorization"),
    [`models.providers.${providerId}.apiKey`]: providers[providerId]?.apiKey,
    OPENAI_API_KEY: environment("OPENAI_API_KEY"),
  })?.source;
}

/** Reads base URL, key and headers. Throws `CONFIG` for settings that cannot work. */
export function resolveApi(context: Context, model: string): HttpApi & { isOpenAi: boolean } {
  const { baseUrl, urlSource } = chooseBaseUrl(context);
  const { hostname, host, protocol } = baseUrl;
  const isOpenAi = hostname === openAiHost || hostname.endsWith(`.${openAiHost}`);
  const isTrusted = protocol === "https:" && !isPrivateHost(hostname);
  const written = readHeaders(context.settings.remote.headers);
  const key =
    written["authorization"] === "" ? undefined : chooseKey(context, { baseUrl, urlSource, isTrusted, written });
  if (isOpenAi && key === undefined) throw new MemoryError("CONFIG", `no OpenAI key: ${howToSetKey}`);
  const { value, source } = key ?? {};
  if (value !== undefined && source !== undefined) checkKey({ value, source });
  const why = isTrusted ? "" : ": OPENAI_API_KEY is sent over https:// to hosts of the internet only";
  return {
    name: isOpenAi ? "OpenAI" : host,
    isOpenAi,
    baseUrl,
    urlSource,
    urlAdvice: urlAdvice(baseUrl, urlSource),
    headers: {
      ...(value === undefined ? {} : { authorization: `Bearer ${value}` }),
      ...(isOpenAi ? account(context) : {}),
      ...written,
    },
    keySource: source,
    keyAdvice: `No key was sent${why}; set agents.defaults.memorySearch.remote.apiKey`,
    modelAdvice: (message) => modelAdvice(message, { model, isOpenAi, host }),
    failures: table.failures as FailureRow[],
  };
}

function chooseBaseUrl({ settings, providers, environment }: Context): { baseUrl: URL; urlSource: string } {
  const { value = `https://${openAiHost}/v1`, source = "remote.baseUrl" } =
    firstSet({
      "remote.baseUrl": settings.remote.baseUrl,
      [`models.providers.${providerId}.baseUrl`]: providers[providerId]?.baseUrl,
      // Set for every use of the key beside it.
      [baseUrlVariable]: environment(baseUrlVariable),
    }) ?? {};
  const baseUrl = readBaseUrl(value, source, { [openAiHost]: "OpenAI" });
  const call = /\/(?:embeddings|(?:chat\/)?completions|responses|models)$/i.exec(baseUrl.pathname)?.[0];
  if (call === undefined) return { baseUrl, urlSource: source };
  const better = displayedUrl(baseUrl).slice(0, -call.length);
  throw new MemoryError("CONFIG", `${source} ends in ${call}, which is not part of the base URL: write ${better}`);
}

export function urlAdvice(baseUrl: URL, urlSource: string): string {
  if (/\/(?:v\d\w*|openai)(?:\/|$)/i.test(baseUrl.pathname)) return `check ${urlSource}`;
  const better = baseUrl.pathname === "/" ? `: ${baseUrl.origin}/v1` : "";
  return `most servers need a base URL that ends in /v1${better} (${urlSource})`;
}

/**
 * Returns the key and its source. `remote.apiKey` goes to the configured URL; other keys only to OpenAI, to the host of
 * the base URL beside them, or over https:// to a proxy on the internet.
 */
function chooseKey(
  { settings, providers, environment }: Context,
  at: { baseUrl: URL; urlSource: string; isTrusted: boolean; written: Record<string, string> },
): { value?: string; source: string } | undefined {
  const { baseUrl, urlSource, isTrusted, written } = at;
  if (written["authorization"] !== undefined) return { source: "remote.headers" };
  if (settings.remote.apiKey !== undefined) return { value: settings.remote.apiKey, source: "remote.apiKey" };
  // Azure's header for its keys replaces every other key.
  if (written["api-key"]) return { source: "remote.headers" };
  const pair = providers[providerId];
  const belongs = pair?.baseUrl === undefined ? isTrusted : URL.parse(pair.baseUrl)?.origin === baseUrl.origin;
  if (pair?.apiKey !== undefined && belongs)
    return { value: pair.apiKey, source: `models.providers.${providerId}.apiKey` };
  const isPair = urlSource === baseUrlVariable && (baseUrl.protocol === "https:" || isPrivateHost(baseUrl.hostname));
  const value = isTrusted || isPair ? environment("OPENAI_API_KEY") : undefined;
  return value === undefined ? undefined : { value, source: "OPENAI_API_KEY" };
}

function account({ environment }: Context): Record<string, string> {
  const names = { "openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID" };
  return Object.fromEntries(Object.entries(names).map(([header, name]) => [header, environment(name)?.trim() ?? ""]));
}

function modelAdvice(message: string, at: { model: string; isOpenAi: boolean; host: string }): string {
  const { model, isOpenAi, host } = at;
  if (!isOpenAi && model === table.defaultModel)
    return `Set ${modelKey} to a model of this server; "${model}" is the default`;
  if (!isOpenAi && (host.endsWith(":11434") || message.includes("try pulling")))
    return `Fetch it with: ollama pull ${model}`;
  return `The model is "${model}" (${modelKey})${isOpenAi ? "" : ": the server has to have it"}`;
}

/** True for this machine and hosts of a private network, by name alone and without a DNS request. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  const kind = isIP(host);
  if (kind !== 0) return privateAddresses.check(host, kind === 6 ? "ipv6" : "ipv4");
  // A name without a dot resolves in the private network only: a container, a machine of the office.
  return !host.includes(".") || /\.(?:localhost|local|lan|internal|intranet|home|home\.arpa)$/.test(host);
}

const privateAddresses = new BlockList();
const subnets = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16";
for (const subnet of `${subnets} ::/127 fc00::/7 fe80::/10`.split(" ")) {
  const [address = "", prefix] = subnet.split("/");
  privateAddresses.addSubnet(address, Number(prefix), address.includes(":") ? "ipv6" : "ipv4");
}
