import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddingPluginContext, EmbeddingProvider, SyncProgress } from "@memslot/core";
import { type TinyGgufOptions, writeTinyGguf } from "@memslot/fakes/gguf";
import type { Hub } from "@memslot/fakes/model-hub";
import { type ContextSetup, contextOf } from "@memslot/fakes/plugin-context";
import { tempFolder } from "@memslot/test-tools/files";
import { onTestFinished } from "vitest";
import { download, type DownloadRequest } from "../download.ts";
import { createLocalPlugin, type LocalPluginOverrides } from "../local-plugin.ts";
import type { FromChild, ToChild } from "../child-messages.ts";

export function tinyModel(options: TinyGgufOptions = {}, name = "tiny.gguf"): string {
  const path = join(tempFolder(), name);
  writeTinyGguf(path, options);
  return path;
}

/** A model of 1.5 megabytes. */
export function modelBytes(): Buffer {
  return readFileSync(tinyModel({ contextLength: 4096 }));
}

export interface LocalSetup extends ContextSetup {
  modelPath?: string | undefined;
  overrides?: LocalPluginOverrides;
}

export function contextFor({ modelPath, memorySearch, options, ...setup }: LocalSetup = {}): EmbeddingPluginContext {
  const local = { ...(memorySearch?.["local"] as object | undefined), ...(modelPath && { modelPath }) };
  return contextOf({
    stateDir: tempFolder(),
    ...setup,
    memorySearch: { provider: "local", ...memorySearch, local },
    options: { threads: 1, ...options },
  });
}

/** Opens a provider that is closed after the test. */
export async function open({ overrides, ...setup }: LocalSetup = {}): Promise<EmbeddingProvider> {
  const provider = await createLocalPlugin(overrides).open(contextFor(setup));
  onTestFinished(async () => provider.close?.());
  return provider;
}

export function openModel(modelPath: string, setup: LocalSetup = {}): Promise<EmbeddingProvider> {
  return open({ ...setup, modelPath });
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
 * As `watchChildren`, and the first `count` processes die within a batch: each gets its first three texts only, and is
 * killed at their last vector, so that none completes the batch, however fast it is.
 */
export function killInBatch(count: number): ChildProcess[] {
  const texts = 3;
  const due = new Map<ChildProcess, number>();
  return watchChildren((child, { type }) => {
    if (type === "loaded" && due.size < count) {
      due.set(child, texts);
      const send = child.send.bind(child);
      child.send = (message) => {
        const request = message as ToChild;
        const cut = request.type === "embed" ? { ...request, texts: request.texts.slice(0, texts) } : request;
        return send(cut, () => {});
      };
    }
    if (type !== "vector" || !due.has(child)) return;
    due.set(child, (due.get(child) ?? 0) - 1);
    if (due.get(child) === 0) child.kill("SIGKILL");
  });
}

export interface Target {
  path: string;
  partSize(): number;
  /** Downloads to `path` with short limits. */
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
