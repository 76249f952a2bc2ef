import { createHash } from "node:crypto";
import { MemoryError, type RerankPluginContext } from "@memslot/core";
import { type FoundKey, checkKey } from "@memslot/core/providers";

/** Where requests go and what goes with each of them. */
export interface Endpoint {
  /** The whole address, `…/rerank`. */
  url: URL;
  key: FoundKey | undefined;
  service: Service | undefined;
  /** Names address and key, as a hash. */
  fingerprint: string;
}

/** A service that is known by its host. */
interface Service {
  readonly name: string;
  readonly host: string;
  readonly baseUrl: string;
  readonly keyVariable: string;
  readonly model: string;
}

// docs.cohere.com/reference/rerank and jina.ai/reranker
const services: readonly Service[] = [
  {
    name: "Cohere",
    host: "api.cohere.com",
    baseUrl: "https://api.cohere.com/v2",
    keyVariable: "COHERE_API_KEY",
    model: "rerank-v3.5",
  },
  {
    name: "Jina",
    host: "api.jina.ai",
    baseUrl: "https://api.jina.ai/v1",
    keyVariable: "JINA_API_KEY",
    model: "jina-reranker-v2-base-multilingual",
  },
];

const baseUrlKey = "memorySearch.query.rerank.baseUrl";
const apiKeyKey = "memorySearch.query.rerank.apiKey";

/**
 * Settles address and key. `query.rerank.apiKey` was written for this address, whatever it is; a key of the environment
 * belongs to its service and goes to its host alone, over https://. Throws `CONFIG` for what cannot work.
 */
export function resolveEndpoint({
  settings,
  environment,
}: Pick<RerankPluginContext, "settings" | "environment">): Endpoint {
  const { baseUrl, apiKey } = settings.query.rerank;
  const url = readAddress(baseUrl);
  const service = services.find(({ host }) => host === url.hostname);
  if (service !== undefined && url.protocol !== "https:")
    throw new MemoryError(
      "CONFIG",
      `${baseUrlKey} begins with http://, which would send passages and key to ${service.name} for everybody to read: write https://`,
    );
  const key = keyFor(service, apiKey, environment);
  if (key !== undefined) checkKey(key);
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([url.href, key?.value]))
    .digest("hex")
    .slice(0, 32);
  return { url, key, service, fingerprint };
}

function keyFor(
  service: Service | undefined,
  written: string | undefined,
  environment: (name: string) => string | undefined,
): FoundKey | undefined {
  if (written !== undefined) return { value: written, source: "query.rerank.apiKey" };
  if (service === undefined) return undefined;
  const value = environment(service.keyVariable);
  if (value !== undefined) return { value, source: service.keyVariable };
  throw new MemoryError("CONFIG", `no key for ${service.name}: set ${service.keyVariable} or ${apiKeyKey}`);
}

function readAddress(written: string | undefined): URL {
  if (written === undefined) {
    const known = services.map(({ name, baseUrl }) => `${baseUrl} (${name})`).join(", ");
    throw new MemoryError("CONFIG", `${baseUrlKey} is not set: write ${known}, or that of a server of your own`);
  }
  const url = URL.parse(written.trim());
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new MemoryError("CONFIG", `${baseUrlKey} is no complete address: write http:// or https://, host and path`);
  if (url.username !== "" || url.password !== "")
    throw new MemoryError("CONFIG", `${baseUrlKey} has a name or password before its host: write it into ${apiKeyKey}`);
  const path = url.pathname.replace(/\/+$/, "");
  url.hash = "";
  url.pathname = path.endsWith("/rerank") ? path : `${path}/rerank`;
  return url;
}
