import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type EmbeddingPluginContext, MemoryError, messageOf } from "@memslot/core";
import { type GgufInfo, readGguf } from "./gguf-file.ts";
import {
  type AddressPlaces,
  defaultModel,
  type ModelAddress,
  parseModelAddress,
  placesOfFile,
} from "./download/model-address.ts";
import { PartFile } from "./download/part-file.ts";

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
// huggingface.co/google/embeddinggemma-300m, and the size of the file that is fetched.
const embeddingGemma = { name: /embedding-?gemma-300m/i, dimensions: 768, contextLength: 2048, megabytes: 330 };
const pathKey = "agents.defaults.memorySearch.local.modelPath";

/** Finds the model of a context without network. Throws `CONFIG` (address) and `UNAVAILABLE` (file). */
export async function findModel(context: EmbeddingPluginContext): Promise<LocalModel> {
  const { settings, model } = context;
  const places: AddressPlaces = {
    cacheDir: settings.local.modelCacheDir ?? join(context.stateDir, "models"),
    hubEndpoint: context.environment("HF_ENDPOINT"),
  };
  const isNamed = [settings.provider, settings.fallback].some((name) => ownNames.includes(name.trim()));
  const address =
    model === undefined
      ? parseModelAddress(settings.local.modelPath ?? defaultModel, places)
      : await rememberedAddress(model, settings.local.modelPath, places);
  const info = await infoOf(address);
  const mayFetch = model === undefined && isNamed && address.source !== undefined;
  const known = embeddingGemma.name.test(address.fileName) ? embeddingGemma : undefined;
  return { address, info, known, stamp: await stampOf(address.path), mayFetch };
}

async function rememberedAddress(
  model: string,
  modelPath: string | undefined,
  places: AddressPlaces,
): Promise<ModelAddress> {
  if (/^(?:hf|https?):/i.test(model)) return parseModelAddress(model, places);
  const paths = placesOfFile(model, modelPath, places.cacheDir);
  for (const path of paths) if (await isFile(path)) return parseModelAddress(path, places);
  throw new MemoryError("UNAVAILABLE", `the model file ${model} is not at ${paths.join(" nor at ")} any more`);
}

async function infoOf({ path, source }: ModelAddress): Promise<GgufInfo | undefined> {
  if (!(await isFile(path))) return undefined;
  try {
    return await readGguf(path);
  } catch (error) {
    const action = source === undefined ? `set ${pathKey} to another file` : "delete it, and it is fetched again";
    throw new MemoryError("UNAVAILABLE", `the model file ${path} cannot be used: ${messageOf(error)}; ${action}`, {
      cause: error,
    });
  }
}

export function missingModel({ address }: LocalModel): string {
  const { model, path, source, fileName } = address;
  if (source === undefined) return `the model file ${path} does not exist; set ${pathKey} to a GGUF file`;
  const size = model === defaultModel ? `, about ${embeddingGemma.megabytes} MB` : "";
  return `its model ${fileName} is not on this machine (memorySearch.provider "local" fetches it${size})`;
}

export async function bytesOfModel({ address: { path }, info }: LocalModel): Promise<number> {
  if (info === undefined) return new PartFile(path).size();
  return (await stat(path)).size;
}

async function stampOf(path: string): Promise<string> {
  const file = await stat(path).catch(() => undefined);
  return file === undefined ? "" : `${file.size} ${file.mtimeMs}`;
}

export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
