import { ProviderError, httpEmbeddingError, MemoryError, messageOf, withDeadline } from "@memslot/core";
import { networkFailure, request } from "@memslot/core/providers";

export interface SourceRequest {
  url: string;
  /** Sent to the origin of `url` and nowhere else. */
  token: string | undefined;
  fileName: string;
  /** First byte to download; the bytes before it came with this validator. */
  from: number;
  validator: string | undefined;
  /** Time limit for the answer of each server. */
  connectMs: number;
  signal: AbortSignal;
}

export interface Source {
  host: string;
  /** Locked from the start: an unlocked body ends silently when its response is garbage-collected. */
  body: ReadableStreamDefaultReader<Uint8Array>;
  /** Offset of the body in the file. */
  from: number;
  /** Bytes of the whole file, if reported. */
  size: number | undefined;
  /** SHA-256 of the whole file in hexadecimal, if the hub reports it. */
  sha256: string | undefined;
  /** Identifies this content when resuming. Undefined if the server has no strong validator. */
  validator: string | undefined;
}

const maxRedirects = 5;

/**
 * Requests a file or the rest of it; undefined if nothing follows `from`. The token goes to the first origin only,
 * never from https to http. Throws an `ProviderError`: `auth` or `transient`.
 */
export async function openSource(wanted: SourceRequest): Promise<Source | undefined> {
  const origin = new URL(wanted.url).origin;
  let url = new URL(wanted.url);
  let stated: Pick<Source, "size" | "sha256"> = { size: undefined, sha256: undefined };
  for (let count = 0; count <= maxRedirects; count++) {
    const isHome = url.origin === origin;
    const response = await ask(url, isHome ? wanted.token : undefined, wanted);
    // Trust only the hub's own facts, not those of the storage host.
    if (isHome) stated = { size: linkedSize(response) ?? stated.size, sha256: linkedSha256(response) ?? stated.sha256 };
    if (response.status < 300) return sourceOf(response, url, stated);
    await response.body?.cancel();
    if (response.status === 416) return undefined;
    const location = response.headers.get("location");
    if (response.status >= 400 || location === null) throw refusal(response, url, wanted);
    const next = URL.parse(location, url.href);
    if (next === null || !/^https?:$/.test(next.protocol) || (url.protocol === "https:" && next.protocol === "http:"))
      throw new ProviderError("auth", `local: ${url.host} redirects to an address that is not safe`);
    url = next;
  }
  throw new ProviderError("auth", `local: ${url.host} redirects too often and never to ${wanted.fileName}`);
}

async function ask(url: URL, token: string | undefined, wanted: SourceRequest): Promise<Response> {
  const { from, validator, connectMs, signal } = wanted;
  // A compressed answer would have another length than the file.
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  if (from > 0) headers["range"] = `bytes=${from}-`;
  if (from > 0 && validator !== undefined) headers["if-range"] = validator;
  const limits = { what: url.host, deadlineMs: connectMs, signals: [signal] };
  try {
    return await withDeadline(limits, (inner) => request(url, { headers, signal: inner }));
  } catch (error) {
    if (signal.aborted) throw error;
    if (MemoryError.is(error)) throw new ProviderError("transient", `local: ${messageOf(error)}`, { cause: error });
    if (ProviderError.is(error)) throw error;
    throw new ProviderError("transient", `local: ${networkFailure(error, { url }).message}`, { cause: error });
  }
}

function sourceOf(response: Response, url: URL, stated: Pick<Source, "size" | "sha256">): Source {
  if (response.body === null) throw new ProviderError("transient", `local: ${url.host} sent nothing`);
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get("content-range") ?? "");
  const isRest = response.status === 206 && range !== null;
  const length = isRest ? Number(range[2]) : Number(response.headers.get("content-length") ?? Number.NaN);
  const tag = response.headers.get("etag");
  return {
    host: url.host,
    body: response.body.getReader(),
    from: isRest ? Number(range[1]) : 0,
    size: stated.size ?? (Number.isInteger(length) ? length : undefined),
    sha256: stated.sha256,
    validator: tag === null || tag.startsWith("W/") ? undefined : tag,
  };
}

function linkedSize({ headers }: Response): number | undefined {
  const size = Number(headers.get("x-linked-size") ?? Number.NaN);
  return Number.isInteger(size) ? size : undefined;
}

function linkedSha256({ headers }: Response): string | undefined {
  return /^"?([0-9a-f]{64})"?$/i.exec(headers.get("x-linked-etag") ?? "")?.[1]?.toLowerCase();
}

function refusal({ status, statusText, headers }: Response, url: URL, { fileName }: SourceRequest): ProviderError {
  if (status === 404)
    return new ProviderError("auth", `local: ${url.host} has no ${fileName} at ${url.pathname} (404)`);
  if (status === 401 || status === 403) {
    const what = `local: ${url.host} refuses ${url.pathname} (${status})`;
    return new ProviderError("auth", `${what}: there is no such model, or HF_TOKEN has to be a token that may read it`);
  }
  return httpEmbeddingError({ provider: `local: ${url.host}`, status, message: statusText, headers });
}
