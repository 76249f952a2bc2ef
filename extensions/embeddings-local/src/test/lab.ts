import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  EmbeddingError,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  MemoryError,
  parseConfig,
} from "@memslot/core";
import { onTestFinished } from "vitest";
import { createLocalPlugin, type LocalPluginOverrides } from "../local-plugin.ts";
import { type TinyGgufOptions, writeTinyGguf } from "@memslot/fakes/gguf";

/** A folder that is deleted after the test. */
export function tempFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "memslot-local-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return folder;
}

/** A model file in a folder of its own. */
export function tinyModel(options: TinyGgufOptions = {}, name = "tiny.gguf"): string {
  const path = join(tempFolder(), name);
  writeTinyGguf(path, options);
  return path;
}

export interface ContextInput {
  stateDir?: string;
  /** Keys under `memorySearch`. */
  memorySearch?: Record<string, unknown>;
  environment?: Record<string, string>;
  options?: Record<string, unknown>;
  model?: string;
}

/** What the plugin is given, with a configuration that depends on nothing of this machine. */
export function contextOf(input: ContextInput = {}): EmbeddingPluginContext {
  const { stateDir = tempFolder(), memorySearch = {}, environment = {}, options = {}, model } = input;
  const config = parseConfig(
    { agents: { defaults: { memorySearch: { provider: "local", ...memorySearch } } } },
    { baseDir: "/nowhere", stateDir, env: { HOME: "/nowhere" } },
  );
  return {
    settings: config.agent("main").memorySearch,
    providers: {},
    environment: (name) => environment[name],
    stateDir,
    options: { threads: 1, ...options },
    model,
    signal: new AbortController().signal,
  };
}

/** Opens a provider for a model file; it is closed after the test. */
export async function openModel(
  modelPath: string,
  input: ContextInput & { overrides?: LocalPluginOverrides } = {},
): Promise<EmbeddingProvider> {
  const context = contextOf({ ...input, memorySearch: { local: { modelPath }, ...input.memorySearch } });
  return closedAfterwards(await createLocalPlugin(input.overrides).open(context));
}

export function closedAfterwards(provider: EmbeddingProvider): EmbeddingProvider {
  onTestFinished(async () => provider.close?.());
  return provider;
}

/** The error of work that has to fail. */
export async function failureOf(work: Promise<unknown>): Promise<EmbeddingError | MemoryError> {
  const error = await work.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (EmbeddingError.is(error) || MemoryError.is(error)) return error;
  throw error;
}

export function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
    Array.from(a).reduce((sum, value, index) => sum + value * (b[index] ?? Number.NaN), 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
}
