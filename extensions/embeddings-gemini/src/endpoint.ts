import { createHash } from "node:crypto";
import { MemoryError } from "@memslot/core";
import { checkHeader, checkKey } from "@memslot/core/providers";
import { type BaseUrl, googleHost, readBaseUrl } from "./base-url.ts";
import { checkDestination, type CredentialContext, findKey, isChosenByAuto, providerNames } from "./credentials.ts";

/** Where requests go and what goes with each of them. */
export interface Endpoint {
  base: BaseUrl;
  isGoogle: boolean;
  keySource: string;
  /** The key and the headers of the configuration; names in lower case. A blank one takes a usual header away. */
  headers: Readonly<Record<string, string>>;
  /** Texts that no message may hold. */
  secrets: readonly string[];
}

/** The header that carries a key. */
const keyHeader = "x-goog-api-key";

/** Settles address, key and headers. Throws `CONFIG` for what cannot work. */
export function resolveEndpoint(context: CredentialContext): Endpoint {
  const base = chooseBaseUrl(context);
  const written = writtenHeaders(context);
  const key = chooseKey(context, base, written);
  const headers = { [keyHeader]: key.value ?? "", ...written };
  return {
    base,
    isGoogle: base.hostname === googleHost,
    keySource: key.source,
    headers,
    secrets: Object.values(headers).filter((text) => text.length > 3),
  };
}

/** Names address, key, headers and model in 32 hexadecimal digits. */
export function fingerprintOf({ base, headers }: Endpoint, model: string): string {
  const text = JSON.stringify([base.address, base.version, model, Object.entries(headers).sort()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function chooseBaseUrl(context: CredentialContext): BaseUrl {
  const { settings, providers } = context;
  if (settings.remote.baseUrl !== undefined && !isChosenByAuto(context))
    return readBaseUrl(settings.remote.baseUrl, "remote.baseUrl");
  for (const name of providerNames) {
    const written = providers[name]?.baseUrl;
    if (written !== undefined) return readBaseUrl(written, `models.providers.${name}.baseUrl`);
  }
  return readBaseUrl(`https://${googleHost}`, undefined);
}

function writtenHeaders(context: CredentialContext): Record<string, string> {
  const headers: Record<string, string> = {};
  if (isChosenByAuto(context)) return headers;
  for (const [name, value] of Object.entries(context.settings.remote.headers)) {
    checkHeader(name, value);
    headers[name.toLowerCase()] = value.trim();
  }
  return headers;
}

/** Headers that say who asks stand in for a key. */
function chooseKey(
  context: CredentialContext,
  base: BaseUrl,
  headers: Readonly<Record<string, string>>,
): { value?: string; source: string } {
  if (headers[keyHeader] || headers["authorization"]) return { source: "remote.headers" };
  const key = findKey(context);
  if (key === undefined) {
    const remote = isChosenByAuto(context) ? "" : " or agents.defaults.memorySearch.remote.apiKey";
    throw new MemoryError(
      "CONFIG",
      `no Gemini key: set the environment variable GEMINI_API_KEY, or models.providers.google.apiKey${remote}`,
    );
  }
  checkKey(key);
  checkDestination(key, base);
  return key;
}
