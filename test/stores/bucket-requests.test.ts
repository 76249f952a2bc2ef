import { setTimeout as pause } from "node:timers/promises";
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

test(
  "a memory in a bucket asks it 8 times at most for a search, and 20 times in a process that has just begun",
  {
    timeout: 120_000,
  },
  async () => {
    const storage = await startObjectStorage();
    onTestFinished(() => storage.stop());
    const house = useHouse();
    for (let index = 0; index < 200; index++)
      house.write({
        [`memory/note-${index}.md`]: `# Note ${index}\n\nThe ferry F-${index} leaves from pier ${index % 7}.\n`,
      });
    house.letSettle();
    const embeddings = deterministicEmbeddings({ dimensions: 64 });
    const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
    const open = async (stateDir: string): Promise<Memory> => {
      const memory = await openMemory({
        config: parseConfig(
          {
            plugins: { slots: { memory: "memory-lancedb" }, entries: { "memory-lancedb": { config } } },
            agents: { defaults: { workspace: house.notes, memorySearch: { sync: { watch: false } } } },
          },
          { stateDir, env: {} },
        ),
        agentId: "main",
        embeddings,
        notify: () => {},
      });
      onTestFinished(() => memory.close());
      return memory;
    };
    const find = async (memory: Memory, index: number): Promise<void> => {
      const [best] = await memory.search(`ferry F-${index}`);
      expect(best?.path).toBe(`memory/note-${index}.md`);
    };

    const first = await open(`${house.stateDir}-1`);
    await first.sync();
    await find(first, 3);

    let memory = first;
    // What is known of a bucket counts for a moment: where a look takes longer than that on a busy machine, it is asked
    // again. So the least of several counts.
    const fresh: number[] = [];
    const running: number[] = [];
    for (const index of [9, 7, 11]) {
      // What is due behind the work is done when it is closed.
      await memory.close();
      const began = await requestsOf(storage, async () => {
        memory = await open(`${house.stateDir}-1`);
        await find(memory, index);
      });
      fresh.push(began);
      // A search of its own, not the end of the one before.
      await pause(2100);
      running.push(await requestsOf(storage, () => find(memory, index + 10)));
    }
    expect(Math.min(...fresh)).toBeLessThanOrEqual(20);
    expect(Math.min(...running)).toBeLessThanOrEqual(8);

    const { texts } = embeddings.calls();
    const other = await open(`${house.stateDir}-2`);
    await find(other, 42);
    expect(embeddings.calls().texts, "another host takes over what is embedded").toBe(texts);
  },
);
