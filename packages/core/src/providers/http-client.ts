import { createHash } from "node:crypto";
import { type EmbeddingFailure, ProviderError, httpEmbeddingError } from "../contract/provider-error.ts";
import { MemoryError } from "../contract/errors.ts";
import { limitAnswer, smallAnswerBytes } from "./response-limits.ts";
import keyFaults from "./key-faults.json" with { type: "json" };
import { networkFailure, request } from "./proxy-fetch.ts";

/** An HTTP API of a provider. Requests go to the origin of its base URL and nowhere else. */
export interface HttpApi {
  name: string;
  /** From `readBaseUrl`. Its query is sent with each request. */
  baseUrl: URL;
  /** Setting or variable that contains the base URL. */
  urlSource: string;
  /** What to do if a path does not exist; by default to check `urlSource`. */
  urlAdvice?: string;
  /** Headers of each request, names in lower case. A blank value removes a default header. */
  headers: Readonly<Record<string, string>>;
  /** Setting or variable that contains the key; undefined if no key is sent. */
  keySource: string | undefined;
  /** What to do if a request without a key is refused. */
  keyAdvice?: string;
  /** What to do if the server does not know the model. */
  modelAdvice?: (message: string) => string;
  failures: readonly FailureRow[];
}

export interface FailureRow {
  status: readonly number[];
  /** Regular expression, without regard to case, for message, code, field and details of the error: each is a line. */
  match?: string;
  kind: EmbeddingFailure;
  advice?: string;
}

export interface HttpCall {
  signal: AbortSignal | undefined;
  method?: string;
  /** A form or file is sent as it is, anything else as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Bytes of the answer that are read; by default 1 MiB. */
  limitBytes?: number;
  missing?: string | undefined;
}

interface ErrorAnswer {
  status: number;
  body: unknown;
  headers?: Headers;
}

const notOffered: readonly number[] = [404, 405, 501];
const unknownModel =
  /model[^.]{0,120}\b(?:not found|does not exist|not exist|not supported|not a valid)|(?:invalid|unknown|unsupported|not a valid) model\b|no models? loaded/i;

/** Sends requests to one API. Failures are thrown as `ProviderError`, an abort as the reason of its signal. */
export class HttpClient {
  readonly api: HttpApi;
  readonly #secrets: readonly string[];

  constructor(api: HttpApi) {
    this.api = api;
    const values = [...Object.values(api.headers), ...api.baseUrl.searchParams.values()];
    this.#secrets = values
      .flatMap((value) => [value, value.split(" ").at(-1) ?? ""])
      .filter((value) => value.length > 5);
  }

  fingerprint(model: string): string {
    const { baseUrl, headers } = this.api;
    const text = JSON.stringify([baseUrl.href, model, Object.entries(headers).sort()]);
    return createHash("sha256").update(text).digest("hex").slice(0, 32);
  }

  /** Loads the implementation of `fetch`, which takes a while in a new process, and sends nothing. */
  async warm(): Promise<void> {
    await fetch("data:,");
  }

  json(path: string, call: HttpCall): Promise<unknown> {
    return this.send(path, call, async (response) => {
      const text = await response.text();
      try {
        return text.trim() === "" ? undefined : (JSON.parse(text) as unknown);
      } catch {
        if (isPage(text)) throw this.failure({ status: response.status, body: text }, path, call.missing);
        throw this.unusable(path, "with text that is incomplete or not JSON");
      }
    });
  }

  /** Sends a request and passes a successful answer to `read`. `path` follows the base URL. */
  async send<Result>(path: string, call: HttpCall, read: (response: Response) => Promise<Result>): Promise<Result> {
    const { name, baseUrl, headers } = this.api;
    const { signal, body, limitBytes = smallAnswerBytes } = call;
    const isRaw = body === undefined || body instanceof FormData || body instanceof Blob;
    const all = { accept: "application/json", "user-agent": "memslot", "content-type": "application/json" };
    const sent = Object.entries({ ...all, ...headers, ...call.headers }).filter(
      ([header, value]) => value !== "" && !(isRaw && header === "content-type"),
    );
    let hasCost = false;
    try {
      signal?.throwIfAborted();
      const response = await request(`${displayedUrl(baseUrl)}${path}${baseUrl.search}`, {
        method: call.method ?? (body === undefined ? "GET" : "POST"),
        headers: sent,
        ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      hasCost = true;
      const isHtml = /\bhtml\b/i.test(response.headers.get("content-type") ?? "");
      if (response.ok && !isHtml) return await read(await limitAnswer(response, { who: name, limitBytes }));
      const refusal = await limitAnswer(response, { who: name, limitBytes: smallAnswerBytes });
      const text = await refusal.text();
      const page = isHtml && !isPage(text) ? `<html>${text}` : text;
      throw this.failure({ status: response.status, headers: response.headers, body: page }, path, call.missing);
    } catch (error) {
      signal?.throwIfAborted();
      throw networkFailure(error, { url: baseUrl, hide: (text) => this.hideSecrets(text), hasCost });
    }
  }

  /** Returns the error for an answer: what the server reported, the kind of failure and what to do. */
  failure(answer: ErrorAnswer, fullPath: string, missing?: string): ProviderError {
    const [path = ""] = fullPath.split("?");
    const { name, failures, modelAdvice } = this.api;
    const { status, headers } = answer;
    if (status >= 300 && status < 400) return this.#redirected(answer, path);
    const reported = readError(answer.body);
    const isWebPage = isPage(reported.message);
    if (isWebPage && status < 300) return this.#webPage(path, missing);
    const parts = isWebPage
      ? [this.#pageWords(status)]
      : [reported.message, reported.code, reported.field, reported.details];
    const [message = "", code = "", ...rest] = parts.map((each) => this.hideSecrets(each));
    const text = [message, code, ...rest].join("\n");
    const plain = httpEmbeddingError({ provider: name, status, message, code, ...(headers && { headers }) });
    const matches = ({ status: of, match = "" }: FailureRow): boolean =>
      of.includes(status) && new RegExp(match, "im").test(text);
    const row = isWebPage ? undefined : failures.find(matches);
    const kind = row?.kind ?? plain.kind;
    const isModel =
      modelAdvice !== undefined &&
      (status === 404 || kind === "auth") &&
      (/model/i.test(reported.code + reported.field) || unknownModel.test(message));
    const advice = isModel ? modelAdvice(message) : (row?.advice ?? this.#advice(status, path, { missing, isWebPage }));
    const delay = /"retryDelay":"([\d.]+)s"|retry in ([\d.]+)s/i.exec(text);
    const stated = delay ? Math.ceil(Number(delay[1] ?? delay[2]) * 1000) : plain.retryAfterMs;
    return new ProviderError(kind, sentences(plain.message, advice), {
      cause: { status, text },
      retryAfterMs: kind === "quota" ? undefined : stated,
    });
  }

  /** Returns the error for a successful answer with another content than asked for. `what`: "without a job". */
  unusable(path: string, what: string, kind: EmbeddingFailure = "transient"): ProviderError {
    return new ProviderError(kind, `${this.api.name} answered ${path} ${what}`, { hasCost: true });
  }

  /** Removes keys, header values and everything that looks like a key of OpenAI from a text. */
  hideSecrets(text: string): string {
    return this.#secrets
      .reduce((rest, secret) => rest.replaceAll(secret, "…"), text)
      .replaceAll(/\bsk-[^\s"',;)]+/g, "sk-…");
  }

  #advice(
    status: number,
    path: string,
    { missing, isWebPage }: { missing: string | undefined; isWebPage: boolean },
  ): string | undefined {
    const { baseUrl, keySource, keyAdvice } = this.api;
    if (notOffered.includes(status) && missing !== undefined) return missing;
    if (status === 404 || status === 405)
      return `The URL ${displayedUrl(baseUrl)}${path} does not exist; ${this.#urlAdvice()}`;
    if (isWebPage || (status !== 401 && status !== 403)) return undefined;
    return keySource === undefined ? keyAdvice : `The key is from ${keySource}`;
  }

  #urlAdvice(): string {
    return this.api.urlAdvice ?? `check ${this.api.urlSource}`;
  }

  #webPage(path: string, missing: string | undefined): ProviderError {
    if (missing !== undefined) return this.unusable(path, `with a web page. ${missing}`, "auth");
    const login = `open ${this.api.baseUrl.origin} in a browser: it may be a login page`;
    return this.unusable(path, `with a web page; ${login}; or ${this.#urlAdvice()}`);
  }

  #pageWords(status: number): string {
    if (status === 404 || status === 405) return "a web page";
    if (status >= 500) return "a web page of a gateway; is the server behind it running?";
    return `a web page of a firewall, a proxy or a network login; open ${this.api.baseUrl.origin} in a browser`;
  }

  #redirected({ status, headers }: ErrorAnswer, path: string): ProviderError {
    const { name, baseUrl, urlSource } = this.api;
    const target = URL.parse(headers?.get("location") ?? "", baseUrl.href);
    const where = target === null ? "another URL" : this.hideSecrets(displayedUrl(target));
    const better = where.endsWith(path)
      ? `; if that is right, set ${urlSource} to ${where.slice(0, -path.length)}`
      : "";
    const text = `${name} answered ${status} with a redirect to ${where}, and redirects are not followed: correct ${urlSource}`;
    return new ProviderError("auth", `${text}${better}`, { cause: { status, text: "" } });
  }
}

export function statusOf(error: unknown): number | undefined {
  const { status } = recordOf(ProviderError.is(error) ? error.cause : undefined);
  return typeof status === "number" ? status : undefined;
}

/** What the server reported: message, code, field and details, one on each line. */
export function errorText(error: unknown): string {
  return textOf(recordOf(ProviderError.is(error) ? error.cause : undefined)["text"]) ?? "";
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Reads the error formats of different servers, or plain text. */
function readError(body: unknown): Record<"message" | "code" | "field" | "details", string> {
  let outer = body;
  try {
    if (typeof body === "string") outer = JSON.parse(body);
  } catch {
    // It is plain text.
  }
  if (Array.isArray(outer)) [outer] = outer as unknown[];
  const error = recordOf(outer)["error"] ?? outer;
  const { code, type, status, detail, param, details } = recordOf(error);
  // A refusal may name several fields, and behind a field the type that it should have.
  const fields = [detail].flat().flatMap((each: unknown) => recordOf(each)["loc"]);
  return {
    message: messageIn(error),
    code: [code, type, status].map(textOf).find(Boolean) ?? "",
    field: textOf(param) ?? fields.map(textOf).filter(Boolean).join("\n"),
    details: JSON.stringify(details) ?? "",
  };
}

function messageIn(error: unknown): string {
  if (typeof error === "string") return error;
  if (Array.isArray(error)) return messageIn(error[0]);
  const { message, msg = message, detail = msg } = recordOf(error);
  return detail === undefined ? (JSON.stringify(error) ?? "") : messageIn(detail);
}

function isPage(text: string): boolean {
  return /^\s*<(?:!doctype|html|head|title|\?xml)/i.test(text);
}

function sentences(message: string, advice: string | undefined): string {
  return advice === undefined ? message : `${message.replace(/\.$/, "")}. ${advice}`;
}

/** A URL without its query, which may contain a key, and without a slash at its end. */
export function displayedUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/** Reads a base URL; `vendors` require https. Throws `CONFIG` if it is incomplete or has a password. */
export function readBaseUrl(written: string, source: string, vendors: Readonly<Record<string, string>> = {}): URL {
  const unusable = (problem: string): MemoryError => new MemoryError("CONFIG", `${source} ${problem}`);
  const url = /^https?:\/\//i.test(written.trim()) ? URL.parse(written.trim()) : null;
  if (url === null)
    throw unusable(
      "is not a complete URL: write http:// or https://, the host and the path, for example http://127.0.0.1:11434/v1",
    );
  if (url.username !== "" || url.password !== "")
    throw unusable("contains a user name or password: write it into the setting of the key or the headers");
  const vendor = vendors[url.hostname];
  if (vendor !== undefined && url.protocol === "http:")
    throw unusable(`begins with http://, which would send notes and key to ${vendor} unencrypted: write https://`);
  url.hash = "";
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url;
}

export interface FoundKey {
  value: string;
  source: string;
}

export function checkKey({ value, source }: FoundKey): void {
  const problem = keyFaults.find(([pattern = ""]) => new RegExp(pattern, "i").test(value))?.[1];
  if (problem !== undefined) throw new MemoryError("CONFIG", `the key from ${source} is not valid: ${problem}`);
}

/** Returns the first setting that is not blank; `places` are the values by the names of settings and variables. */
export function firstSet(places: Readonly<Record<string, string | undefined>>): FoundKey | undefined {
  for (const [source, value] of Object.entries(places)) if (value?.trim()) return { value, source };
  return undefined;
}

/** Returns `remote.headers` with names in lower case. Throws `CONFIG` with the name only. */
export function readHeaders(written: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(written))
    try {
      new Headers().set(name, value);
    } catch {
      throw new MemoryError(
        "CONFIG",
        `remote.headers: ${JSON.stringify(name)} cannot be sent: a name has letters, digits and hyphens, a value is one line of plain characters`,
      );
    }
  return Object.fromEntries(Object.entries(written).map(([name, value]) => [name.toLowerCase(), value.trim()]));
}
