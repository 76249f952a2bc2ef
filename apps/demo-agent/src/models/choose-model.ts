import { MemoryError } from "@memslot/core";
import { checkKey } from "@memslot/core/providers";
import type { ChatModel } from "./chat-model.ts";
import { createGeminiModel } from "./gemini-model.ts";
import { createLocalModel } from "./local-model.ts";
import { createOpenAiModel } from "./openai-model.ts";

/**
 * The model of `--model` and the environment, without loading it: `.gguf` is local, `gemini-…` is Gemini if it has a
 * key, else the first configured of OpenAI, Gemini and `MEMSLOT_CHAT_MODEL`. Throws `CONFIG`.
 */
export function chooseModel(
  options: { readonly model?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): ChatModel | undefined {
  const get = (name: string): string | undefined => env[name]?.trim() || undefined;
  const named = options.model?.trim() || undefined;
  const window = windowSetting(get("MEMSLOT_CONTEXT_TOKENS"));
  const local = (path: string): ChatModel => createLocalModel({ path, contextWindowTokens: window });
  if (named !== undefined && isFile(named)) return local(named);

  const openAi = endpointIn(get, "the OpenAI API", "OPENAI_API_KEY", ["OPENAI_BASE_URL"]);
  const gemini = endpointIn(get, "the Gemini API", "GEMINI_API_KEY", ["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"]);
  const wantsGemini = /^(?:models\/)?gemini-/.test(named ?? "") || openAi === undefined;
  if (gemini?.apiKey !== undefined && wantsGemini) {
    const model = (named ?? get("GEMINI_MODEL") ?? "gemini-2.5-flash").replace(/^models\//, "");
    return createGeminiModel({ ...gemini, model }, { contextWindowTokens: window ?? windowOf(model) });
  }
  if (openAi !== undefined) {
    const model = named ?? get("OPENAI_MODEL") ?? "gpt-4o-mini";
    return createOpenAiModel({ ...openAi, model }, { contextWindowTokens: window ?? windowOf(model) });
  }
  if (named !== undefined) {
    const needs = "set OPENAI_API_KEY or OPENAI_BASE_URL, or GEMINI_API_KEY, or name a .gguf file";
    throw new MemoryError("CONFIG", `--model needs an endpoint: ${needs}`);
  }
  const path = get("MEMSLOT_CHAT_MODEL");
  if (path === undefined) return undefined;
  if (!isFile(path))
    throw new MemoryError("CONFIG", `MEMSLOT_CHAT_MODEL must be the path of a .gguf file, not "${path}"`);
  return local(path);
}

function isFile(name: string): boolean {
  return /\.gguf$/i.test(name);
}

type EndpointSettings = Omit<Parameters<typeof createOpenAiModel>[0], "model">;

function endpointIn(
  get: (name: string) => string | undefined,
  provider: string,
  keyName: string,
  urlNames: readonly string[],
): EndpointSettings | undefined {
  const apiKey = get(keyName);
  if (apiKey !== undefined) checkKey({ value: apiKey, source: keyName });
  const urlName = urlNames.find((name) => get(name) !== undefined) ?? urlNames[0] ?? "";
  const baseUrl = get(urlName);
  if (apiKey === undefined && baseUrl === undefined) return undefined;
  if (baseUrl !== undefined) checkAddress(baseUrl, urlName);
  return { apiKey, baseUrl, where: baseUrl ?? provider, keyName, urlName };
}

/** Messages name the address, so it must not contain a secret. */
function checkAddress(address: string, name: string): void {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    const form = "a whole address such as https://host/v1, without a name, a password or anything behind ? or #";
    throw new MemoryError("CONFIG", `${name} must be ${form}`);
  }
}

const windows: readonly (readonly [RegExp, number])[] = [
  [/^gpt-4\.1/, 1_047_576],
  [/^gpt-5/, 400_000],
  [/^o[134]\b/, 200_000],
  [/^gpt-4(?:-0613)?$/, 8192],
  [/^gpt-3\.5/, 16_385],
  [/^gemini-/, 1_048_576],
  [/^claude-/, 200_000],
];

function windowOf(model: string): number {
  return windows.find(([name]) => name.test(model))?.[1] ?? 128_000;
}

function windowSetting(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  const tokens = Number(written);
  if (/^\d+$/.test(written) && Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new MemoryError("CONFIG", `MEMSLOT_CONTEXT_TOKENS must be a whole number of tokens above 0, not "${written}"`);
}
