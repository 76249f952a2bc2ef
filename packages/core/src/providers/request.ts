import networkFaults from "./network-faults.json" with { type: "json" };
import { EmbeddingError } from "../contract/embedding-error.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";

const faults = networkFaults.map(([pattern = "", words = ""]) => [new RegExp(pattern), words] as const);

/**
 * For plugins: `fetch` that follows no redirect and honours `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in upper and lower
 * case. This machine is asked directly. The `fetch` of the host program stays as it is.
 */
export async function request(address: string | URL, init: RequestInit = {}): Promise<Response> {
  const url = new URL(address);
  const proxy = proxyOf(url);
  // `NODE_USE_ENV_PROXY` would send requests for this machine to the proxy, too.
  const isDirect = proxy === undefined && !(isThisMachine(url) && process.env["NODE_USE_ENV_PROXY"] === "1");
  if (isDirect) return await fetch(url, { ...init, redirect: "manual" });
  const { Agent, ProxyAgent, fetch: send } = await import("undici");
  const { body, headers, method = "GET", signal = null } = init;
  // The forms and files of this process are unknown to another copy of `fetch`: their bytes are not.
  const packed = typeof (body ?? "") === "string" ? undefined : new Response(body);
  const sent = new Headers(headers);
  const type = packed?.headers.get("content-type");
  if (type && !sent.has("content-type")) sent.set("content-type", type);
  const response = await send(url, {
    method,
    signal,
    headers: [...sent],
    body: packed ? new Uint8Array(await packed.arrayBuffer()) : ((body as string | null | undefined) ?? null),
    redirect: "manual",
    dispatcher: proxy ? agentOf(proxy.url.href, (uri) => new ProxyAgent(uri)) : agentOf("", () => new Agent()),
  });
  return response as unknown as Response;
}

const agents = new Map<string, unknown>();

/** One for each proxy, so that its connections are used again. */
function agentOf<Made>(key: string, make: (key: string) => Made): Made {
  if (!agents.has(key)) agents.set(key, make(key));
  return agents.get(key) as Made;
}

/** The proxy that the environment names for an address, and the variable. Throws for one that is no address. */
function proxyOf(url: URL): { url: URL; variable: string } | undefined {
  const [variable, written] = variableOf(url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (written === undefined || isThisMachine(url) || isExcluded(url, variableOf("NO_PROXY")[1] ?? "")) return undefined;
  const proxy = URL.parse(/^\w+:\/\//.test(written) ? written : `http://${written}`);
  if (proxy && /^https?:$/.test(proxy.protocol)) return { url: proxy, variable };
  throw new EmbeddingError("auth", `${variable} is no address of a proxy: write http://, its host and its port`);
}

/** Lower case goes first, as everywhere. */
function variableOf(name: string): [name: string, value: string | undefined] {
  const found = [name.toLowerCase(), name].find((each) => process.env[each]?.trim());
  return [found ?? name, found && process.env[found]?.trim()];
}

function isThisMachine({ hostname }: URL): boolean {
  return /^(?:(?:.*\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** `example.com`, `.example.com` and `*.example.com` stand for the host and those below it; a port counts if it is there. */
function isExcluded({ host, hostname, port, protocol }: URL, list: string): boolean {
  const full = port === "" ? `${host}:${protocol === "https:" ? 443 : 80}` : host;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map((entry) => entry.replace(/^\*?\./, ""))
    .some((entry) => entry === "*" || [hostname, full].some((name) => name === entry || name.endsWith(`.${entry}`)));
}

/**
 * For plugins: a request that got no whole answer, as an `EmbeddingError` that is always worth another try. `hide` takes
 * secrets out of a text; `hasCost`: the answer had begun.
 */
export function networkFailure(
  error: unknown,
  options: { url: string | URL; hide?: (text: string) => string; hasCost?: boolean },
): EmbeddingError {
  if (EmbeddingError.is(error)) return error;
  const { url, hide = String, hasCost } = options;
  const { origin } = new URL(url);
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < 8; at = at.cause) chain.push(at);
  const code = chain
    .map((each) => ("code" in each ? each.code : undefined))
    .findLast((each) => typeof each === "string");
  const cause = chain.at(-1);
  const all = [code, cause?.name, ...chain.map(({ message }) => message)].join(" ");
  const known = faults.find(([pattern]) => pattern.test(all))?.[1];
  const proxy = proxyOf(new URL(url));
  const through = proxy ? ` through the proxy ${proxy.url.host} (${proxy.variable})` : "";
  const shown = code === undefined ? "" : ` (${String(code)})`;
  const words = known ?? hide(messageOf(cause ?? error));
  const text = `cannot reach ${origin}${through}${shown}: ${words}`;
  return new EmbeddingError("transient", text, { cause: error, hasCost });
}

/** Bytes that an answer without vectors may have: a refusal in words, the state of a job. */
export const smallAnswerBytes = 1_048_576;
/** A number as JSON, with all its digits, its comma and a blank. */
const numberBytes = 32;
/** What stands around a vector: its index, its kind, the id of its request. */
const frameBytes = 1024;
/** Of a model whose vectors are of unknown length: no model in use makes longer ones. */
const longestVector = 16_384;

/** For embedding plugins: bytes that an answer with so many vectors may have, however it writes its numbers. */
export function vectorAnswerBytes(asked: { texts: number; dimensions: number | undefined }): number {
  return smallAnswerBytes + asked.texts * (frameBytes + numberBytes * (asked.dimensions ?? longestVector));
}

/**
 * For embedding plugins: an answer of which no more than `limitBytes` are read. What is beyond, as the server announces it
 * or as it comes, after decompression, ends the reading with an `EmbeddingError`: a small compressed answer, or one
 * that never ends, would take all memory otherwise. `who` names the other side.
 */
export async function limitAnswer(
  response: Response,
  { who, limitBytes }: { who: string; limitBytes: number },
): Promise<Response> {
  const { body, status, statusText } = response;
  if (body === null) return response;
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > limitBytes) {
    await body.cancel().catch(() => undefined);
    throw tooLong(who, limitBytes);
  }
  let readBytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      readBytes += part.length;
      // The error goes both ways: to the reader, and to the source, which is closed.
      if (readBytes > limitBytes) throw tooLong(who, limitBytes);
      controller.enqueue(part);
    },
  });
  const headers = new Headers(response.headers);
  // They were true of the compressed body.
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(body.pipeThrough(counted), { status, statusText, headers });
}

/**
 * For embedding plugins: the lines of an answer as they come, without blank ones. Throws an `EmbeddingError` for a line
 * that is longer than that of one vector: no line would ever end in an answer that is none.
 */
export async function* answerLines(
  body: ReadableStream<Uint8Array>,
  { who, dimensions }: { who: string; dimensions: number | undefined },
): AsyncGenerator<string> {
  const limit = vectorAnswerBytes({ texts: 1, dimensions });
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > limit) throw tooLong(who, limit);
    yield* lines.filter(isFilled);
  }
  rest += decoder.decode();
  if (isFilled(rest)) yield rest;
}

function isFilled(line: string): boolean {
  return line.trim() !== "";
}

function tooLong(who: string, limitBytes: number): EmbeddingError {
  const limit = (limitBytes / 1_000_000).toFixed(1);
  return new EmbeddingError(
    "transient",
    `${who} sends more than ${limit} MB, which is more than what was asked for can take; the rest of its answer was not read`,
    { hasCost: true },
  );
}

/** A key and where it came from, as `OPENAI_API_KEY` or `remote.apiKey`. */
export interface FoundKey {
  value: string;
  source: string;
}

/** For embedding plugins. Throws `CONFIG` for a key that no server can know, with where it came from and without the key. */
export function checkKey({ value, source }: FoundKey): void {
  const problem = problemOf(value);
  if (problem !== undefined) throw new MemoryError("CONFIG", `the key from ${source} cannot be right: ${problem}`);
}

function problemOf(key: string): string | undefined {
  if (/\$\{|\$[A-Za-z_]\w*$/.test(key))
    return "it is the name of a variable in place of the key; set that variable, or write the key";
  if (/^bearer\s/i.test(key.trim())) return 'it begins with "Bearer"; leave that word out';
  if (/["'`“”‘’]/.test(key)) return "it has quotes around or in it; leave them out";
  if (/\s/.test(key)) return "it has white space (a blank or a line break) around or in it; leave it out";
  if (/[^\x21-\x7e]/.test(key)) return "it has a character that no key has; copy it anew";
  return undefined;
}

/** For embedding plugins. Throws `CONFIG` for a header of `remote.headers` that cannot be sent, with its name and without its value. */
export function checkHeader(name: string, value: string): void {
  try {
    new Headers().set(name, value);
  } catch {
    // No cause: its words hold the value.
    throw new MemoryError(
      "CONFIG",
      `remote.headers: ${JSON.stringify(name)} cannot be sent: a name has letters, digits and hyphens, a value is one line of plain characters`,
    );
  }
}
