import { EmbeddingError, type EmbeddingFailure, httpEmbeddingError } from "@memslot/core";
import { baseUrlAdvice } from "./base-url.ts";
import type { Endpoint } from "./endpoint.ts";
import { defaultModel } from "./models.ts";
import { isRecord } from "./read-vectors.ts";

/** What was asked, for messages. */
export interface Asked {
  endpoint: Endpoint;
  model: string;
  /** What comes after the base URL: `/embeddings`. */
  path: string;
}

/** An answer that is no success. */
export interface HttpAnswer {
  status: number;
  /** The parsed body, or its text where it is no JSON. */
  body: unknown;
  headers?: Headers | undefined;
}

/** The answer's own words and code. */
interface Said {
  words: string;
  code: string | undefined;
  /** The field of the request that it names. */
  field: string | undefined;
  isPage: boolean;
}

/** An HTTP answer as an error that says what to do about it, with no key in it. The answer itself may quote one: no cause. */
export function httpFailure(answer: HttpAnswer, asked: Asked): EmbeddingError {
  const { status, headers } = answer;
  const provider = nameOf(asked.endpoint);
  if (status >= 300 && status < 400) return redirectFailure(answer, asked);
  const said = saidOf(answer, asked.endpoint);
  const message = said.isPage ? pageFor(status, asked.endpoint) : said.words;
  const plain = httpEmbeddingError({ provider, status, message, code: said.code, headers });
  const kind = betterKind(status, said) ?? plain.kind;
  const advice = adviceFor(status, kind, said, asked);
  if (kind === plain.kind && advice === undefined) return plain;
  const text = advice === undefined ? plain.message : `${plain.message.replace(/\.$/, "")}. ${advice}`;
  return new EmbeddingError(kind, text, { retryAfterMs: plain.retryAfterMs });
}

/** A success whose body holds no vectors. Some gateways answer so with an error inside. */
export function noVectorsFailure(body: unknown, asked: Asked): EmbeddingError {
  const error = isRecord(body) ? body["error"] : undefined;
  const status = isRecord(error) ? Number(error["code"] ?? error["status"]) : Number.NaN;
  if (status >= 400 && status < 600) return httpFailure({ status, body }, asked);
  const { words, isPage } = saidOf({ status: 200, body }, asked.endpoint);
  const address = baseUrlAdvice(asked.endpoint.base);
  const isList = isRecord(body) && Array.isArray(body["data"]);
  const isAddress = isPage || (error === undefined ? !isList : /endpoint|method|path|route|url/i.test(words));
  const other = (body ?? "") === "" ? "nothing" : "something else";
  const what = isPage ? "a page for people" : error === undefined ? other : `this: ${words.slice(0, 200)}`;
  const log = isList
    ? "a server with a list of vectors for a text does not pool: --pooling mean"
    : "its log may say more";
  const login = isPage ? `open ${asked.endpoint.base.origin} in a browser: it may be the login to a network; or ` : "";
  const advice = isAddress ? `${login}${address}` : log;
  const text = `${nameOf(asked.endpoint)} answered ${asked.path} with ${what} in place of vectors; ${advice}`;
  return new EmbeddingError("transient", text, { hasCost: true });
}

/** What to do where the calls for batch jobs are not there. */
export const noBatchesAdvice =
  "It seems to have no batch interface: set agents.defaults.memorySearch.remote.batch.enabled to false";

/** `OpenAI`, or host and port. */
export function nameOf({ isOpenAi, base }: Endpoint): string {
  return isOpenAi ? "OpenAI" : base.host;
}

/** Text with every key and header value of the endpoint taken out, and what else looks like a key of OpenAI. */
export function withoutSecrets(text: string, { secrets }: Endpoint): string {
  let result = text;
  for (const secret of secrets) result = result.replaceAll(secret, "…");
  return result.replaceAll(/\bsk-[^\s"',;)]+/g, "sk-…");
}

/** Notes and key go to the configured host only, so nothing is sent on; a right address does not send on. */
function redirectFailure({ status, headers }: HttpAnswer, { endpoint, path }: Asked): EmbeddingError {
  const target = URL.parse(headers?.get("location") ?? "", endpoint.base.href);
  const where = target === null ? "another address" : withoutSecrets(`${target.origin}${target.pathname}`, endpoint);
  const right = where.endsWith(path) ? ` If that is right, set ${where.slice(0, -path.length)} as the base URL` : "";
  const text = `${nameOf(endpoint)} answered ${status}: it sends requests on to ${where}, and notes are sent to no address but the one that is set.${right}`;
  return new EmbeddingError("auth", text);
}

function saidOf({ body, headers }: Pick<HttpAnswer, "status" | "body" | "headers">, endpoint: Endpoint): Said {
  const error = isRecord(body) ? (body["error"] ?? body) : body;
  const fields = isRecord(error) ? error : {};
  const words = wordsOf(error);
  const isPage =
    /^\s*<(?:!doctype|html|head|title|\?xml)/i.test(words) || /\bhtml\b/i.test(headers?.get("content-type") ?? "");
  const code = [fields["code"], fields["type"]].find((value) => typeof value === "string" && value !== "");
  return {
    words: withoutSecrets(words, endpoint),
    code: typeof code === "string" ? withoutSecrets(code, endpoint) : undefined,
    field: typeof fields["param"] === "string" ? fields["param"] : undefined,
    isPage,
  };
}

/** An answer that is a web page, and where it comes from. */
function pageFor(status: number, { base }: Endpoint): string {
  if (status === 404 || status === 405) return "a page for people";
  if (status >= 500) return "a page for people, as of a gateway; is the server behind it running?";
  return `a page for people, as of a firewall, a proxy or a login to the network; open ${base.origin} in a browser`;
}

/** `{ message }`, `{ detail: [{ msg }] }`, a text: servers differ. */
function wordsOf(error: unknown): string {
  if (typeof error === "string") return error;
  if (Array.isArray(error)) return wordsOf(error[0]);
  if (!isRecord(error)) return "";
  const inner = error["message"] ?? error["msg"] ?? error["detail"];
  return inner === undefined ? JSON.stringify(error) : wordsOf(inner);
}

/** What servers say of a text, or of texts together, that have no room. */
export const tooLong: RegExp =
  /too (?:large|long|many tokens)|maximum (?:context|input|sequence) length|exceeds? the (?:available )?context/i;
const unknownModel =
  /model[^.]{0,120}\b(?:not found|does not exist|not exist|not supported|not a valid)|(?:invalid|unknown|unsupported|not a valid) model\b|no models? loaded/i;
const refusedField =
  /dimensions?\b|input_type|encoding_format|matryoshka|does not support embeddings|\bis not an embedding/i;

/** What the status alone does not tell: a text that is too long, or a request that is refused whatever its texts are. */
function betterKind(status: number, { words, code = "", field = "", isPage }: Said): EmbeddingFailure | undefined {
  if (isPage) return undefined;
  // 500 from llama.cpp; 429 from OpenAI for a request that is larger than a whole minute's allowance.
  if (tooLong.test(words) && (status === 400 || status === 413 || status === 422 || status === 429 || status === 500))
    return "input";
  if (status === 501) return "auth";
  if (status !== 400 && status !== 422) return undefined;
  if (/^(?:model|dimensions|encoding_format|input_type)$/.test(field) || /model_not_found|invalid_model/.test(code))
    return "auth";
  return unknownModel.test(words) || refusedField.test(words) ? "auth" : undefined;
}

function adviceFor(status: number, kind: EmbeddingFailure, said: Said, asked: Asked): string | undefined {
  const { endpoint, path } = asked;
  const isModel = !said.isPage && (/model/i.test(`${said.code} ${said.field}`) || unknownModel.test(said.words));
  if (isModel && (status === 404 || kind === "auth")) return modelAdvice(asked, said.words);
  if (path !== "/embeddings" && (status === 404 || status === 405 || status === 501)) return noBatchesAdvice;
  if (status === 404 || status === 405)
    return `The address ${endpoint.base.shown}${path} does not exist there; ${baseUrlAdvice(endpoint.base)}`;
  if (said.isPage || (status !== 401 && status !== 403)) return undefined;
  if (endpoint.keySource !== undefined) return `The key is the one from ${endpoint.keySource}`;
  const why =
    endpoint.isPrivate || !endpoint.base.isEncrypted
      ? ": OPENAI_API_KEY is sent over https:// to hosts of the internet only"
      : "";
  return `No key was sent${why}; set agents.defaults.memorySearch.remote.apiKey`;
}

function modelAdvice({ endpoint, model }: Asked, words: string): string {
  const key = "agents.defaults.memorySearch.model";
  if (endpoint.isOpenAi) return `The model is "${model}" (${key})`;
  if (model === defaultModel)
    return `Set ${key} to a model of this server; "${model}" is the one that is asked for where it is not set`;
  const isOllama = endpoint.base.host.endsWith(":11434") || words.includes("try pulling");
  return isOllama
    ? `Fetch it with: ollama pull ${model}`
    : `The model is "${model}" (${key}): the server has to have it`;
}
