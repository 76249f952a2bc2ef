import { createHash } from "node:crypto";
import { type EmbeddingPluginContext, MemoryError } from "@memslot/core";
import { checkHeader, checkKey } from "@memslot/core/providers";
import { type BaseUrl, readBaseUrl } from "./base-url.ts";
import { BlockList, isIP } from "node:net";

/** Where requests go and what goes with each of them. */
export interface Endpoint {
  base: BaseUrl;
  /** It belongs to OpenAI: its limits are known. */
  isOpenAi: boolean;
  /** It is this machine or one of the own network. */
  isPrivate: boolean;
  /** Sent with every request, the key among them; names in lower case. */
  headers: Readonly<Record<string, string>>;
  keySource: string | undefined;
  /** Texts that no message may hold. */
  secrets: readonly string[];
}

type Context = Pick<EmbeddingPluginContext, "settings" | "providers" | "environment">;

/** The name of the provider, and of its part of `models.providers`. */
export const providerId = "openai";

const baseUrlVariable = "OPENAI_BASE_URL";
const openAiUrl = "https://api.openai.com/v1";
const howToSetKey =
  "set the environment variable OPENAI_API_KEY, or agents.defaults.memorySearch.remote.apiKey; for another server set agents.defaults.memorySearch.remote.baseUrl";

/** What is set of that which makes this provider usable, for people to read; undefined where nothing is. */
export function whatIsSet(context: Context): string | undefined {
  const { remote } = context.settings;
  if (remote.apiKey !== undefined) return "remote.apiKey";
  if (remote.baseUrl !== undefined) return "remote.baseUrl";
  if (Object.keys(remote.headers).some((name) => name.toLowerCase() === "authorization")) return "remote.headers";
  if (context.providers[providerId]?.apiKey !== undefined) return `models.providers.${providerId}.apiKey`;
  return context.environment("OPENAI_API_KEY") === undefined ? undefined : "OPENAI_API_KEY";
}

/** Settles address, key and headers. Throws `CONFIG` for what cannot work. */
export function resolveEndpoint(context: Context): Endpoint {
  const base = chooseBaseUrl(context);
  const isOpenAi = base.hostname === "api.openai.com" || base.hostname.endsWith(".api.openai.com");
  const isPrivate = isPrivateHost(base.hostname);
  if (isOpenAi && !base.isEncrypted)
    throw new MemoryError(
      "CONFIG",
      `${base.source} begins with http://, which would send notes and key to OpenAI for everybody to read: write https://`,
    );
  const { headers, removed } = writtenHeaders(context.settings.remote.headers);
  const key = removed.has("authorization") ? undefined : chooseKey(context, { base, isPrivate, headers });
  if (isOpenAi && key === undefined) throw new MemoryError("CONFIG", `no OpenAI key: ${howToSetKey}`);
  if (key?.value !== undefined) checkKey({ value: key.value, source: key.source });
  const standard = {
    "user-agent": "memslot",
    ...(key?.value === undefined ? {} : { authorization: `Bearer ${key.value}` }),
    ...(isOpenAi ? account(context) : {}),
  };
  const sent = Object.entries({ ...standard, ...headers }).filter(([name]) => !removed.has(name));
  return {
    base,
    isOpenAi,
    isPrivate,
    headers: Object.fromEntries(sent),
    keySource: key?.source,
    secrets: secretsOf([key?.value ?? "", ...Object.values(headers), ...new URL(base.href).searchParams.values()]),
  };
}

/** Names address, key, headers and model in 32 hexadecimal digits. */
export function fingerprintOf({ base, headers }: Endpoint, model: string): string {
  const text = JSON.stringify([base.href, model, Object.entries(headers).sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function chooseBaseUrl({ settings, providers, environment }: Context): BaseUrl {
  if (settings.remote.baseUrl !== undefined) return readBaseUrl(settings.remote.baseUrl, "remote.baseUrl");
  const other = providers[providerId]?.baseUrl;
  if (other !== undefined) return readBaseUrl(other, `models.providers.${providerId}.baseUrl`);
  // Whoever set it means every use of the key beside it.
  const fromEnvironment = environment(baseUrlVariable);
  if (fromEnvironment !== undefined) return readBaseUrl(fromEnvironment, baseUrlVariable);
  return readBaseUrl(openAiUrl, undefined);
}

/** A blank value takes a header away that would be sent otherwise. */
function writtenHeaders(written: Readonly<Record<string, string>>): {
  headers: Record<string, string>;
  removed: ReadonlySet<string>;
} {
  const headers: Record<string, string> = {};
  const removed = new Set<string>();
  for (const [name, value] of Object.entries(written)) {
    checkHeader(name, value);
    if (value.trim() === "") removed.add(name.toLowerCase());
    else headers[name.toLowerCase()] = value;
  }
  return { headers, removed };
}

/**
 * The key and where it came from. `remote.apiKey` was written for this address, whatever it is. The other two belong to
 * OpenAI: they go to it, and over https:// to a host of the internet that was named in its place, which is what a proxy
 * needs; never to this machine, to the own network or over http://. A key that stands beside a base URL goes to that
 * host alone; `OPENAI_API_KEY` beside `OPENAI_BASE_URL` goes there too.
 */
function chooseKey(
  { settings, providers, environment }: Context,
  { base, isPrivate, headers }: { base: BaseUrl; isPrivate: boolean; headers: Record<string, string> },
): { value?: string | undefined; source: string } | undefined {
  if (headers["authorization"] !== undefined) return { source: "remote.headers" };
  if (settings.remote.apiKey !== undefined) return { value: settings.remote.apiKey, source: "remote.apiKey" };
  // The header of Azure for its keys: where it is given, no other key is wanted.
  if (headers["api-key"] !== undefined) return { source: "remote.headers" };
  const isTrusted = base.isEncrypted && !isPrivate;
  const pair = providers[providerId];
  const belongs = pair?.baseUrl === undefined ? isTrusted : URL.parse(pair.baseUrl)?.origin === base.origin;
  if (pair?.apiKey !== undefined && belongs)
    return { value: pair.apiKey, source: `models.providers.${providerId}.apiKey` };
  const isPair = base.source === baseUrlVariable && (base.isEncrypted || isPrivate);
  const value = isTrusted || isPair ? environment("OPENAI_API_KEY") : undefined;
  return value === undefined ? undefined : { value, source: "OPENAI_API_KEY" };
}

/** The values, and what stands after `Bearer` or `Basic` in them. Words that are too short for a key are left in messages. */
function secretsOf(values: readonly string[]): string[] {
  return values.flatMap((value) => [value, value.split(" ").at(-1) ?? ""]).filter((text) => text.length > 5);
}

/** Which account of a key's owner pays. Told to OpenAI only. */
function account({ environment }: Context): Record<string, string> {
  const names = { "openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID" };
  const values = Object.entries(names).map(([header, name]) => [header, environment(name)?.trim()] as const);
  return Object.fromEntries(values.filter((each): each is [string, string] => each[1] !== undefined));
}

/**
 * Whether a host of a URL is this machine or one of the own network, by its name alone: nothing is looked up. Keys of
 * OpenAI are of no use there.
 */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  const kind = isIP(host);
  if (kind !== 0) return privateAddresses.check(host, kind === 6 ? "ipv6" : "ipv4");
  // A name of one word is looked up in the own network only: a container, a machine of the office.
  return !host.includes(".") || /\.(?:localhost|local|lan|internal|intranet|home|home\.arpa)$/.test(host);
}

const privateAddresses = new BlockList();
const subnets = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16";
for (const subnet of `${subnets} ::/127 fc00::/7 fe80::/10`.split(" ")) {
  const [address = "", prefix] = subnet.split("/");
  privateAddresses.addSubnet(address, Number(prefix), address.includes(":") ? "ipv6" : "ipv4");
}
