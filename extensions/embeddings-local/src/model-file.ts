import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { type EmbeddingPluginContext, MemoryError, messageOf, type Sentence } from "@memslot/core";
import { sentence } from "@memslot/core/host";
import { type GgufInfo, readGguf } from "./gguf-file.ts";

export const defaultModel = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf";
const defaultEndpoint = "https://huggingface.co";

/** Location of a model, downloaded or not. */
export interface ModelAddress {
  /** Identifies the model wherever the file is: its address or file name. */
  model: string;
  path: string;
  fileName: string;
  /** Undefined for the user's own file. A hub accepts `HF_TOKEN` and reports checksums. */
  source: { url: string; isHub: boolean } | undefined;
}

interface AddressPlaces {
  cacheDir: string;
  hubEndpoint: string | undefined;
}

/** Reads an absolute path, `hf:user/repository/folder/file.gguf#branch` or an `https:` address. Throws `CONFIG`. */
export function parseModelAddress(written: string, places: AddressPlaces): ModelAddress {
  if (written.startsWith("hf:")) return hubAddress(written, places);
  if (/^https?:/i.test(written)) return webAddress(written, places);
  if (!isAbsolute(written)) throw unusable(written, "it is neither the absolute path of a file nor an address");
  return { model: basename(written), path: written, fileName: basename(written), source: undefined };
}

function hubAddress(written: string, { cacheDir, hubEndpoint }: AddressPlaces): ModelAddress {
  const [place = "", branch = "main", ...more] = written.slice("hf:".length).split("#");
  const parts = place.split("/");
  const [user = "", repository = "", ...file] = parts;
  const fileName = file.at(-1) ?? "";
  if (more.length > 0 || !/\.gguf$/i.test(fileName) || ![...parts, ...branch.split("/")].every(isPlainName))
    throw unusable(written, "it has to have the form hf:user/repository/file.gguf");
  const url = [endpointOf(hubEndpoint), user, repository, "resolve", encodeURIComponent(branch)];
  return {
    model: branch === "main" ? `hf:${place}` : written,
    path: join(cacheDir, "hf", user, branch === "main" ? repository : `${repository}#${branch}`, ...file),
    fileName,
    source: { url: [...url, ...file.map(encodeURIComponent)].join("/"), isHub: true },
  };
}

function webAddress(written: string, { cacheDir }: AddressPlaces): ModelAddress {
  const url = parseUrl(written);
  const fileName = decodeURIComponent(url?.pathname.split("/").at(-1) ?? "");
  if (url === undefined || !isPlainName(fileName)) throw unusable(written, "it does not name a file");
  if (url.username !== "" || url.password !== "") throw unusable(written, "it contains a password");
  // The query may be a signature: neither part of the name nor to be displayed.
  const model = `${url.origin}${url.pathname}`;
  const folder = createHash("sha256").update(model).digest("hex").slice(0, 12);
  return { model, path: join(cacheDir, "url", folder, fileName), fileName, source: { url: url.href, isHub: false } };
}

function endpointOf(written: string | undefined): string {
  const endpoint = parseUrl(written ?? defaultEndpoint);
  if (endpoint === undefined) throw new MemoryError("CONFIG", "HF_ENDPOINT is not an http or https address");
  return `${endpoint.origin}${endpoint.pathname.replace(/\/+$/, "")}`;
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

function isPlainName(name: string): boolean {
  // eslint-disable-next-line no-control-regex -- these are what file names must not contain
  return name !== "" && name !== "." && name !== ".." && !/[\\/:*?"<>|\u0000-\u001f]/.test(name);
}

function unusable(written: string, why: string): MemoryError {
  const shown = written.replace(/\/\/[^/]*@/, "//…@").replace(/\?.*$/s, "?…");
  return new MemoryError(
    "CONFIG",
    `agents.defaults.memorySearch.local.modelPath is "${shown}": ${why}; it takes a GGUF file, hf:user/repository/file.gguf or an https address`,
  );
}

export interface LocalModel {
  address: ModelAddress;
  /** Facts from its file; undefined if there is no file. */
  info: GgufInfo | undefined;
  known: Pick<GgufInfo, "dimensions" | "contextLength"> | undefined;
  stamp: string;
  /** May be downloaded: local embeddings were requested by name. */
  mayFetch: boolean;
}

const ownNames: readonly string[] = ["local", "@memslot/embeddings-local"];
// huggingface.co/google/embeddinggemma-300m, and the size of the downloaded file.
const embeddingGemma = { name: /embedding-?gemma-300m/i, dimensions: 768, contextLength: 2048, megabytes: 330 };
const pathKey = "agents.defaults.memorySearch.local.modelPath";

/** Finds the model of a context without network. Throws `CONFIG` (address) and `UNAVAILABLE` (file). */
export async function findModel(context: EmbeddingPluginContext): Promise<LocalModel> {
  const { settings, model } = context;
  const places = {
    cacheDir: settings.local.modelCacheDir ?? join(context.stateDir, "models"),
    hubEndpoint: context.environment("HF_ENDPOINT"),
  };
  const isNamed = [settings.provider, settings.fallback].some((name) => ownNames.includes(name.trim()));
  const address =
    model === undefined
      ? parseModelAddress(settings.local.modelPath ?? defaultModel, places)
      : await rememberedAddress(model, settings.local.modelPath, places);
  const file = await stat(address.path).catch(() => undefined);
  const info = file?.isFile() ? await infoOf(address) : undefined;
  const mayFetch = model === undefined && isNamed && address.source !== undefined;
  const known = embeddingGemma.name.test(address.fileName) ? embeddingGemma : undefined;
  return { address, info, known, stamp: file ? `${file.size} ${file.mtimeMs}` : "", mayFetch };
}

async function rememberedAddress(
  model: string,
  modelPath: string | undefined,
  places: AddressPlaces,
): Promise<ModelAddress> {
  if (/^(?:hf|https?):/i.test(model)) return parseModelAddress(model, places);
  // Only the file name is known.
  const folders = [...(modelPath !== undefined && isAbsolute(modelPath) ? [dirname(modelPath)] : []), places.cacheDir];
  const paths = folders.map((folder) => join(folder, model));
  for (const path of paths) if (await isFile(path)) return parseModelAddress(path, places);
  throw new MemoryError("UNAVAILABLE", `the model file ${model} is not at ${paths.join(" nor at ")} any more`);
}

async function infoOf({ path, source }: ModelAddress): Promise<GgufInfo> {
  try {
    return await readGguf(path);
  } catch (error) {
    const action = source === undefined ? `set ${pathKey} to another file` : "delete it to download it again";
    throw new MemoryError("UNAVAILABLE", `the model file ${path} cannot be used: ${messageOf(error)}; ${action}`, {
      cause: error,
    });
  }
}

export function missingModel({ address }: LocalModel): Sentence {
  const { model, path, source, fileName } = address;
  if (source === undefined) return { reason: `the model file ${path} does not exist; set ${pathKey} to a GGUF file` };
  const size = model === defaultModel ? `, about ${embeddingGemma.megabytes} MB` : "";
  return sentence("embedding.modelMissing", { file: fileName, size });
}

export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
