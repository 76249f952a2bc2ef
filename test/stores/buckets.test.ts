import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { afterwards } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { expect, test } from "vitest";
import { ask, useHouse } from "../support/house.ts";

function inBucket(storage: ObjectStorage): Record<string, unknown> {
  const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
  return { plugins: { slots: { memory: "memory-lancedb" }, entries: { "memory-lancedb": { config } } } };
}

async function requestsOf(storage: ObjectStorage, work: () => Promise<unknown>): Promise<number> {
  const before = storage.stats().requests;
  await work();
  return storage.stats().requests - before;
}

const kinds = {
  keyword: { provider: "none" },
  vector: { query: { hybrid: { vectorWeight: 1, textWeight: 0 } } },
  hybrid: {},
};

test(
  "a memory in a bucket asks it 8 times at most for a search, and 20 times in a process that has just begun",
  {
    timeout: 120_000,
  },
  async () => {
    // Slow, so that nothing depends on how long an answer takes.
    const storage = await startObjectStorage({ latencyMs: 3 });
    afterwards(() => storage.stop());
    const house = useHouse();
    for (let index = 0; index < 60; index++)
      house.write({
        [`memory/note-${index}.md`]: `# Note ${index}\n\nThe ferry F-${index} leaves from pier ${index % 7}.\n`,
      });
    house.letSettle();
    const embeddings = deterministicEmbeddings({ dimensions: 64 });
    const settings = inBucket(storage);
    const open = (host: number, memorySearch: Record<string, unknown> = {}): Promise<Memory> =>
      house.open({
        settings,
        memorySearch: { ...memorySearch, sync: { watch: false } },
        embeddings: memorySearch["provider"] === "none" ? undefined : embeddings,
        stateDir: `${house.stateDir}-${host}`,
      });
    const find = async (memory: Memory, index: number): Promise<void> => {
      const [best] = await memory.search(`ferry F-${index}`);
      expect(best?.path).toBe(`memory/note-${index}.md`);
    };

    const first = await open(1);
    await first.sync();
    await find(first, 3);
    // What is due behind the work is done when it is closed.
    await first.close();

    for (const [kind, memorySearch] of Object.entries(kinds)) {
      let memory = first;
      const fresh = await requestsOf(storage, async () => {
        memory = await open(1, memorySearch);
        await find(memory, 9);
      });
      expect(fresh, kind).toBeLessThanOrEqual(20);
      for (const index of [10, 41, 59])
        expect(await requestsOf(storage, () => find(memory, index)), kind).toBeLessThanOrEqual(8);
      await memory.close();
    }

    const { texts } = embeddings.calls();
    const other = await open(2);
    await find(other, 42);
    expect(embeddings.calls().texts, "another host takes over what is embedded").toBe(texts);
    await other.close();

    // Another host builds the index anew: the first search reads it, and those after it do not.
    const reader = await open(1);
    await find(reader, 5);
    const builder = await open(2);
    await builder.sync({ force: true });
    await builder.close();
    expect(await requestsOf(storage, () => find(reader, 6))).toBeLessThanOrEqual(20);
    expect(await requestsOf(storage, () => find(reader, 8))).toBeLessThanOrEqual(8);
    expect(embeddings.calls().texts).toBe(texts);
  },
);

test.runIf(process.platform === "linux")(
  "what another host writes to a shared index is seen by a search though the watcher says that nothing has changed",
  { timeout: 120_000 },
  async () => {
    const storage = await startObjectStorage();
    afterwards(() => storage.stop());
    const settings = inBucket(storage);
    const house = useHouse();
    const open = (host: number, extraPaths: string[], watch: boolean): Promise<Memory> =>
      house.open({
        settings,
        memorySearch: { extraPaths, sync: { watch, watchDebounceMs: 600_000 } },
        stateDir: `${house.stateDir}-${host}`,
      });
    house.write({ "more/a.md": "zebra first of the one", "memory/b.md": "zebra two" });
    house.letSettle();

    const watched = await open(1, [house.at("more")], true);
    const isByEvents = async (): Promise<boolean> => {
      expect((await ask(watched, "zebra")).paths.toSorted()).toEqual(["memory/b.md", "more/a.md"]);
      return watched.status().freshness?.by === "events";
    };
    for (const _ of [1, 2]) await eventually(isByEvents, "the watcher answers for the files");

    // The other host does not know of a folder, and takes its notes out. What is left says nothing wrong.
    const writing = await open(2, [], false);
    for (let round = 0; round < 3; round++) {
      expect(await writing.sync({ wait: true })).toMatchObject({ removed: 1 });
      await isByEvents();
      expect(watched.status().freshness, "no file was looked at for it").toEqual({ by: "events" });
    }
  },
);
