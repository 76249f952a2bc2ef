import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { existsSync, readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ProviderMessage, SearchMessage, SearchReport, StoreMessage } from "@memslot/core";
import { writeTinyGguf } from "@memslot/fakes/gguf";
import { type Hub, type HubBehaviour, startHub } from "@memslot/fakes/model-hub";
import { eventually } from "@memslot/test-tools/wait";
import { loadConfig, openMemory } from "memslot";
import { onTestFinished } from "vitest";
import { type Finished, type Sandbox, createSandbox } from "../run-memslot.ts";

/** The address of the model of a house, at its hub. */
export const address = "hf:ada/tiny/tiny.gguf";

/** `embeddings on` sends one text to learn whether the model is ready, before it compares answers. */
export const readinessTexts = 2;

/** Notes, a hub with a tiny model, and a home where nothing is set up. */
export interface ModelHouse extends Sandbox {
  hub: Hub;
  content: Buffer;
  /** The user's own configuration. */
  configFile: string;
  /** Its text; undefined where there is none. */
  configText(): string | undefined;
  /** Where the model is kept. */
  modelFile: string;
  /** Bytes of the unfinished download. */
  partSize(): number;
  /** `memslot embeddings ARGS`, over the notes. */
  embeddings(...args: string[]): Promise<Finished>;
}

export async function modelHouse(behaviour: HubBehaviour = {}): Promise<ModelHouse> {
  const sandbox = await createSandbox();
  await sandbox.write("MEMORY.md", "# Memory\n\n- Anna likes espresso, black and strong.\n");
  await sandbox.write("memory/2026-03-05.md", "# 2026-03-05\n\n- The staging database listens on port 5544.\n");
  const source = path.join(sandbox.cwd, "..", "source.gguf");
  writeTinyGguf(source, { words: ["coffee", "espresso", "database", "port"] });
  const content = await readFile(source);
  const hub = await startHub(content, behaviour);
  sandbox.env["HF_ENDPOINT"] = hub.url;
  const configFile = path.join(sandbox.stateDir, "memslot.json5");
  const modelFile = path.join(sandbox.stateDir, "models/hf/ada/tiny/tiny.gguf");
  return {
    ...sandbox,
    hub,
    content,
    configFile,
    configText: () => (existsSync(configFile) ? readFileSync(configFile, "utf8") : undefined),
    modelFile,
    partSize: () => statSync(`${modelFile}.part`, { throwIfNoEntry: false })?.size ?? 0,
    embeddings: (...args) => sandbox.runHere(["embeddings", ...args]),
  };
}

/** Searches in a memory whose model has answered once: a search does not wait for one that is still being loaded. */
export async function searchWithModel(house: ModelHouse, query: string): Promise<SearchReport | undefined> {
  const { cwd, env, workspace } = house;
  const config = await loadConfig({ cwd, env, workspace });
  const memory = await openMemory({ config, agentId: "main" });
  try {
    await eventually(async () => (await memory.probeEmbeddingAvailability()).ok);
    // A search waits for a scan only for a while, and would report files that were not looked at yet.
    await memory.sync();
    let report: SearchReport | undefined;
    await memory.search(query, { onDebug: (given) => void (report = given) });
    return report;
  } finally {
    await memory.close();
  }
}

/** Whether each search of this process, from now on, was one by meaning too. */
export function watchSearches(): boolean[] {
  const searches: boolean[] = [];
  const take = (message: unknown): void =>
    void searches.push((message as SearchMessage).vectorCandidates !== undefined);
  subscribe("tracing:memslot:search:asyncEnd", take);
  onTestFinished(() => void unsubscribe("tracing:memslot:search:asyncEnd", take));
  return searches;
}

/** Counts the texts of notes that are sent to a model, and the vectors that are stored, by this process from now on. */
export function countVectors(onStored: () => void = () => undefined): { sent(): number; stored(): number } {
  let sent = 0;
  let stored = 0;
  const takeSent = (message: unknown): void => {
    const { operation, texts = 0 } = message as ProviderMessage;
    if (operation === "embedBatch") sent += texts;
  };
  const takeStored = (message: unknown): void => {
    const { operation, given = 0 } = message as StoreMessage;
    if (operation !== "putVectors") return;
    stored += given;
    onStored();
  };
  subscribe("tracing:memslot:provider:start", takeSent);
  subscribe("tracing:memslot:store:asyncEnd", takeStored);
  onTestFinished(() => {
    unsubscribe("tracing:memslot:provider:start", takeSent);
    unsubscribe("tracing:memslot:store:asyncEnd", takeStored);
  });
  return { sent: () => sent, stored: () => stored };
}
