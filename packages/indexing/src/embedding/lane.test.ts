import { EmbeddingError, type EmbeddingProvider, type SyncProgress } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { createLane, type Lane } from "./lane.ts";
import { openUsage } from "./requests/usage.ts";
import { listen } from "../test/listen.ts";
import { never } from "../../test/support/context.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { tempFolder } from "@memslot/test-tools/files";

type Prepare = NonNullable<EmbeddingProvider["prepare"]>;

function laneWith(own: Partial<EmbeddingProvider> & { prepare?: Prepare }): Lane {
  const stateDir = tempFolder();
  const provider: EmbeddingProvider = {
    id: "slow",
    model: "m",
    embedQuery: async () => [1, 0],
    embedBatch: async (texts) => texts.map(() => [1, 0]),
    ...own,
  };
  const usage = openUsage({ stateDir, agentId: "main" });
  return createLane(provider, { store: createFakeStore(), stateDir, usage, closing: never });
}

describe("preparing", () => {
  test("is done once for all who want it, and each sees how far it is", async () => {
    let runs = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const lane = laneWith({
      prepare: async ({ progress }) => {
        runs++;
        await promise;
        progress({ completed: 1, total: 4, label: "downloading m.gguf" });
      },
    });
    const seen: SyncProgress[] = [];
    const first = lane.prepare({ signal: never, retry: true, progress: (update) => void seen.push(update) });
    const second = lane.prepare({ signal: never, retry: false });
    expect(lane.activity()).toBe("loading the model");
    resolve();
    await Promise.all([first, second]);
    await lane.prepare({ signal: never, retry: true });
    expect([runs, seen, lane.activity()]).toEqual([
      1,
      [{ completed: 1, total: 4, label: "downloading m.gguf" }],
      undefined,
    ]);
  });

  test("is told once to whoever listens, with how it went", async () => {
    const seen = listen("provider");
    const lane = laneWith({ prepare: () => Promise.reject(new EmbeddingError("auth", "no such model")) });
    const wanted = { signal: never, retry: true };
    await Promise.allSettled([lane.prepare(wanted), lane.prepare(wanted)]);
    const told = { operation: "prepare", provider: "slow", model: "m", tookMs: expect.any(Number) };
    expect(seen).toEqual([{ ...told, outcome: "failed", errorCode: "auth" }]);
  });

  test("that one stops waiting for goes on for the others", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const lane = laneWith({ prepare: () => promise });
    const controller = new AbortController();
    const impatient = lane.prepare({ signal: controller.signal, retry: false });
    const patient = lane.prepare({ signal: never, retry: false });
    controller.abort();
    await expect(impatient).rejects.toMatchObject({ name: "AbortError" });
    resolve();
    await expect(patient).resolves.toBeUndefined();
  });

  test("that failed is told again to searches, and tried again by a sync", async () => {
    let runs = 0;
    const lane = laneWith({
      prepare: async () => {
        if (++runs < 3) throw new EmbeddingError("transient", "the hub is away");
      },
    });
    await expect(lane.prepare({ signal: never, retry: false })).rejects.toThrow("the hub is away");
    await expect(lane.prepare({ signal: never, retry: false })).rejects.toThrow("the hub is away");
    expect(runs).toBe(1);
    await expect(lane.prepare({ signal: never, retry: true })).rejects.toThrow("the hub is away");
    await lane.prepare({ signal: never, retry: true });
    await lane.prepare({ signal: never, retry: false });
    expect(runs).toBe(3);
  });
});

describe("the space of a provider that does not know its dimensions", () => {
  const how = { signal: never, reason: "test", asked: true, progress: (): void => undefined };

  test("is measured with one text", async () => {
    const sent: (readonly string[])[] = [];
    const lane = laneWith({
      embedBatch: async (texts) => {
        sent.push(texts);
        return [[1, 2, 3]];
      },
    });
    expect(await lane.knownSpace()).toBeUndefined();
    expect(await lane.measureSpace(how)).toMatchObject({ dimensions: 3 });
    expect(await lane.knownSpace()).toMatchObject({ provider: "slow", model: "m", dimensions: 3 });
    expect(sent).toEqual([["memory"]]);
  });

  test("needs no text where preparing has told them, and shows the progress of that", async () => {
    const seen: SyncProgress[] = [];
    const provider = {
      dimensions: undefined as number | undefined,
      embedBatch: async (): Promise<number[][]> => Promise.reject(new Error("nothing has to be sent")),
      prepare: (async ({ progress }) => {
        progress({ completed: 1, total: 2 });
        lane.provider.dimensions = 7;
      }) satisfies Prepare,
    };
    const lane = laneWith(provider) as Lane & { provider: { dimensions?: number } };
    const progress = (update: SyncProgress): void => void seen.push(update);
    expect(await lane.measureSpace({ ...how, progress })).toMatchObject({ dimensions: 7 });
    expect(seen).toEqual([{ completed: 1, total: 2 }]);
  });
});

test("libraries are warmed once, and a failure to do so is nobody's", async () => {
  let runs = 0;
  const lane = laneWith({
    warm: async () => {
      runs++;
      throw new Error("no such library");
    },
  });
  lane.warm();
  lane.warm();
  await Promise.resolve();
  expect(runs).toBe(1);
});
