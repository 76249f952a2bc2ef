import { ProviderError, type EmbeddingProvider, type SyncProgress } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { describe, expect, test } from "vitest";
import { never, settingsWith } from "../../test/support/context.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { EmbeddingModel } from "./model.ts";
import { SharedState } from "./requests/shared-state.ts";
import { Usage } from "./requests/usage.ts";

function modelWith(own: Partial<EmbeddingProvider>): EmbeddingModel {
  const provider: EmbeddingProvider = {
    id: "slow",
    model: "m",
    embedQuery: async () => [1, 0],
    embedBatch: async (texts) => texts.map(() => [1, 0]),
    ...own,
  };
  const shared = new SharedState(tempFolder());
  const usage = new Usage(shared, "main");
  const context = {
    store: createFakeStore(),
    settings: settingsWith(),
    agentId: "main",
    shared,
    usage,
    closing: never,
  };
  return new EmbeddingModel(provider, { ...context, notify: () => undefined });
}

describe("preparing", () => {
  test("is done once for all who want it, and each sees how far it is", async () => {
    let runs = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const model = modelWith({
      prepare: async ({ progress }) => {
        runs++;
        await promise;
        progress({ completed: 1, total: 4, label: "downloading m.gguf" });
      },
    });
    const seen: SyncProgress[] = [];
    const first = model.prepare({ signal: never, retry: true, progress: (update) => void seen.push(update) });
    const second = model.prepare({ signal: never, retry: false });
    expect(model.activity).toBe("loading the model");
    resolve();
    await Promise.all([first, second]);
    await model.prepare({ signal: never, retry: true });
    expect([runs, seen, model.activity]).toEqual([
      1,
      [{ completed: 1, total: 4, label: "downloading m.gguf" }],
      undefined,
    ]);
  });

  test("that failed is told again to searches, and tried again by a sync", async () => {
    let runs = 0;
    const model = modelWith({
      prepare: async () => {
        if (++runs < 3) throw new ProviderError("transient", "the hub is away");
      },
    });
    await expect(model.prepare({ signal: never, retry: false })).rejects.toThrow("the hub is away");
    await expect(model.prepare({ signal: never, retry: false })).rejects.toThrow("the hub is away");
    expect(runs).toBe(1);
    await expect(model.prepare({ signal: never, retry: true })).rejects.toThrow("the hub is away");
    await model.prepare({ signal: never, retry: true });
    await model.prepare({ signal: never, retry: false });
    expect(runs).toBe(3);
  });
});

describe("the space of a provider that does not know its dimensions", () => {
  const how = { signal: never, reason: "test", asked: true, progress: (): void => undefined };

  test("is measured with one text", async () => {
    const sent: (readonly string[])[] = [];
    const model = modelWith({
      embedBatch: async (texts) => {
        sent.push(texts);
        return [[1, 2, 3]];
      },
    });
    expect(await model.knownSpace()).toBeUndefined();
    expect(await model.measureSpace(how)).toMatchObject({ dimensions: 3 });
    expect(await model.knownSpace()).toMatchObject({ provider: "slow", model: "m", dimensions: 3 });
    expect(sent).toEqual([["memory"]]);
  });
});
