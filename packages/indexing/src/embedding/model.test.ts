import { ProviderError, type EmbeddingProvider, type SyncProgress } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import { never, settingsWith } from "../../test/support/context.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { EmbeddingModel } from "./model.ts";
import { SharedState } from "./requests/shared-state.ts";
import { Usage } from "./requests/usage.ts";

function modelWith(own: Partial<EmbeddingProvider>): EmbeddingModel {
  const none = (): Promise<never> => Promise.reject(new Error("a request that was not expected"));
  const shared = new SharedState(tempFolder());
  return new EmbeddingModel(
    { id: "slow", model: "m", embedQuery: none, embedBatch: none, ...own },
    {
      store: createFakeStore(),
      settings: settingsWith(),
      agentId: "main",
      shared,
      usage: new Usage(shared, "main"),
      closing: never,
      notify: () => undefined,
    },
  );
}

test("a preparation runs once for all callers, with its progress", async () => {
  let runs = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const update = { completed: 1, total: 4, label: "downloading m.gguf" };
  const model = modelWith({
    prepare: async ({ progress }) => {
      runs++;
      await promise;
      progress(update);
    },
  });
  const seen: SyncProgress[] = [];
  const first = model.prepare({ signal: never, retry: true, progress: (each) => void seen.push(each) });
  const second = model.prepare({ signal: never, retry: false });
  expect(model.activity).toBe("loading the model");
  resolve();
  await Promise.all([first, second]);
  await model.prepare({ signal: never, retry: true });
  expect([runs, seen, model.activity]).toEqual([1, [update], undefined]);
});

test("a failed preparation is rethrown to searches, and retried by a sync", async () => {
  let runs = 0;
  const model = modelWith({
    prepare: async () => {
      if (++runs < 3) throw new ProviderError("transient", "the hub is away");
    },
  });
  for (const [retry, after] of [
    [false, 1],
    [false, 1],
    [true, 2],
  ] as const) {
    await expect(model.prepare({ signal: never, retry })).rejects.toThrow("the hub is away");
    expect(runs).toBe(after);
  }
  await model.prepare({ signal: never, retry: true });
  await model.prepare({ signal: never, retry: false });
  expect(runs).toBe(3);
});

test("the space of a provider without stated dimensions is measured with one text", async () => {
  const sent: (readonly string[])[] = [];
  const model = modelWith({ embedBatch: async (texts) => (sent.push(texts), [[1, 2, 3]]) });
  expect(await model.knownSpace()).toBeUndefined();
  const how = { signal: never, reason: "test", asked: true, progress: (): void => undefined };
  expect(await model.measureSpace(how)).toMatchObject({ dimensions: 3 });
  expect(await model.knownSpace()).toMatchObject({ provider: "slow", model: "m", dimensions: 3 });
  expect(sent).toEqual([["memory"]]);
});
