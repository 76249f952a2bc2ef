import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { deterministicEmbeddings } from "@memslot/testkit";
import { type Memory, openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";
import { useHouse } from "../support/house.ts";

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
    onTestFinished(() => storage.stop());
    const house = useHouse();
    for (let index = 0; index < 60; index++)
      house.write({
        [`memory/note-${index}.md`]: `# Note ${index}\n\nThe ferry F-${index} leaves from pier ${index % 7}.\n`,
      });
    house.letSettle();
    const embeddings = deterministicEmbeddings({ dimensions: 64 });
    const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
    const open = async (host: number, memorySearch: Record<string, unknown> = {}): Promise<Memory> => {
      const memory = await openMemory({
        config: parseConfig(
          {
            plugins: { slots: { memory: "memory-lancedb" }, entries: { "memory-lancedb": { config } } },
            agents: {
              defaults: { workspace: house.notes, memorySearch: { ...memorySearch, sync: { watch: false } } },
            },
          },
          { stateDir: `${house.stateDir}-${host}`, env: {} },
        ),
        agentId: "main",
        ...(memorySearch["provider"] !== "none" && { embeddings }),
        notify: () => {},
      });
      onTestFinished(() => memory.close());
      return memory;
    };
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
