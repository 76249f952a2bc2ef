import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  EmbeddingError,
  type EmbeddingPluginContext,
  type EmbeddingProvider,
  MemoryError,
  type SyncProgress,
  parseConfig,
} from "@memslot/core";
import { type TinyGgufOptions, writeTinyGguf } from "@memslot/fakes/gguf";
import type { Hub } from "@memslot/fakes/model-hub";
import { tempFolder } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import { download, type DownloadRequest } from "../download/download.ts";
import { createLocalPlugin, type LocalPluginOverrides } from "../local-plugin.ts";
import type { FromChild, ToChild } from "../protocol.ts";

export { tempFolder };

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

/** The processes that this one starts from now on, in the order of their start. */
export function watchChildren(onMessage?: (child: ChildProcess, message: FromChild) => void): ChildProcess[] {
  const children: ChildProcess[] = [];
  const take = (event: unknown): void => {
    const { process } = event as { process: ChildProcess };
    children.push(process);
    process.on("message", (message) => onMessage?.(process, message as FromChild));
  };
  subscribe("child_process", take);
  onTestFinished(() => void unsubscribe("child_process", take));
  return children;
}

/**
 * As `watchChildren`, where the first `count` processes die in the middle of a batch: each is handed the first three
 * texts of it and is killed at their last vector, so that none can be done, however fast it is.
 */
export function killInBatch(count: number): ChildProcess[] {
  const handed = 3;
  const due = new Map<ChildProcess, number>();
  return watchChildren((child, { type }) => {
    if (type === "loaded" && due.size < count) {
      due.set(child, handed);
      handOnly(child, handed);
    }
    if (type !== "vector" || !due.has(child)) return;
    const left = (due.get(child) ?? 0) - 1;
    due.set(child, left);
    if (left === 0) child.kill("SIGKILL");
  });
}

function handOnly(child: ChildProcess, count: number): void {
  const send = child.send.bind(child);
  child.send = (message) => {
    const request = message as ToChild;
    return send(request.type === "embed" ? { ...request, texts: request.texts.slice(0, count) } : request, () => {});
  };
}

/** A model of 1.5 megabytes. */
export function modelBytes(): Buffer {
  return readFileSync(tinyModel({ contextLength: 4096 }));
}

export interface Target {
  path: string;
  /** Bytes of the part that is there. */
  partSize(): number;
  /** Downloads to it; limits are short. */
  fetch(hub: Pick<Hub, "url">, request?: Partial<DownloadRequest>): Promise<void>;
  updates: SyncProgress[];
  controller: AbortController;
}

export function targetOf(folder: string = tempFolder()): Target {
  const path = join(folder, "models", "model.gguf");
  const updates: SyncProgress[] = [];
  const controller = new AbortController();
  return {
    path,
    updates,
    controller,
    partSize: () => statSync(`${path}.part`, { throwIfNoEntry: false })?.size ?? 0,
    fetch: (hub, request = {}) =>
      download({
        url: urlOf(hub),
        path,
        fileName: "model.gguf",
        signal: controller.signal,
        progress: (update) => void updates.push(update),
        limits: { connectMs: 5000, stallMs: 5000, pollMs: 10 },
        ...request,
      }),
  };
}

export function urlOf({ url }: Pick<Hub, "url">): string {
  return `${url}/user/model/resolve/main/model.gguf`;
}
