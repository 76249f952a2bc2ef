import { EmbeddingError, type EmbeddingProvider } from "@memslot/core";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { manageIndex } from "@memslot/indexing";
import { contextFor, searchOptions, settingsWith, syncParams } from "./support/context.ts";
import { fakeEmbeddings } from "./support/fake-embeddings.ts";
import { createFakeStore } from "./support/fake-store.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

// The clock stands still and is moved by hand; files are read in real time.

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20_000 && !holds(); turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(holds()).toBe(true);
}

interface FarEnd {
  provider: EmbeddingProvider;
  /** Texts of each request so far. */
  sent: string[][];
  how: "answers" | "fails" | "hangs";
}

function farEnd(): FarEnd {
  const inner = fakeEmbeddings({ limits: { dimensions: 5 } });
  const end: FarEnd = {
    how: "fails",
    sent: [],
    provider: {
      ...inner,
      async embedBatch(texts) {
        end.sent.push([...texts]);
        if (end.how === "fails") throw new EmbeddingError("transient", "fake answered 503");
        if (end.how === "hangs") return await new Promise<never>(() => undefined);
        return await inner.embedBatch(texts);
      },
    },
  };
  return end;
}

async function open(end: FarEnd): Promise<Awaited<ReturnType<typeof manageIndex>>> {
  const workspace = folderWith({ "memory/a.md": "our budget", "memory/b.md": "a kitten" });
  const settings = settingsWith({ sync: { watch: false } } as never);
  const manager = await manageIndex({
    index: createFakeStore(),
    context: contextFor(workspace, { provider: end.provider, settings }),
    backend: "test",
  });
  onTestFinished(() => manager.close?.());
  return manager;
}

describe("a provider that is back", () => {
  test("is noticed within 30 seconds by a process that does nothing", async () => {
    const end = farEnd();
    const manager = await open(end);
    const syncing = manager.sync?.(syncParams());
    // The pauses between the attempts.
    while (end.sent.length < 4) await vi.advanceTimersByTimeAsync(500).then(() => until(() => true));
    expect((await syncing)?.pendingVectors).toMatchObject({ chunks: 2, failure: "transient" });
    end.how = "answers";
    await vi.advanceTimersByTimeAsync(15_000);
    await until(() => manager.status().vector?.embedded === 2);
    expect(end.sent.slice(4), "one word first").toEqual([["memory"], expect.any(Array)]);
  });

  test("after it hung, too, however long that was; it is asked with one word as long as it hangs", async () => {
    const end = farEnd();
    const manager = await open(end);
    end.how = "hangs";
    // Nobody waits for the vectors of a search.
    const searching = manager.search("budget", searchOptions());
    await until(() => end.sent.length === 1);
    await vi.advanceTimersByTimeAsync(300);
    expect((await searching).map(({ path }) => path)).toEqual(["memory/a.md"]);
    for (let round = 0; round < 40; round++) {
      await vi.advanceTimersByTimeAsync(5000);
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    const asked = end.sent.length;
    expect(asked).toBeGreaterThan(200 / 30);
    expect(end.sent.slice(1).every(([text, ...more]) => text === "memory" && more.length === 0)).toBe(true);
    end.how = "answers";
    for (let second = 0; second < 30; second++) {
      await vi.advanceTimersByTimeAsync(1000);
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => manager.status().vector?.embedded === 2);
  });
});
