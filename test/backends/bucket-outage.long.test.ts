import { setTimeout as sleep } from "node:timers/promises";
import { type MemoryPlugin, defineMemoryPlugin, withFallback } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import memoryLancedb from "@memslot/memory-lancedb";
import { startObjectStorage } from "@memslot/fakes/object-storage";
import { deterministicEmbeddings } from "@memslot/testkit";
import { openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "../support/embedding-bench.ts";
import { useHouse } from "../support/house.ts";

const holdOffMs = 2000;
const outageMs = 20_000;

/** memory-lancedb with memory-core behind it, as the configuration puts them together, but tried again sooner. */
const bucketWithSpare: MemoryPlugin = defineMemoryPlugin({
  id: "bucket-with-spare",
  open: async (context) =>
    withFallback(
      { name: "memory-lancedb", manager: await memoryLancedb.open(context) },
      { name: "memory-core", open: (signal) => memoryCore.open({ ...context, options: {}, signal }) },
      { holdOffMs, maxHoldOffMs: holdOffMs },
    ),
});

test(
  "a bucket that is gone for 20 s: the spare answers and says so, then the bucket is back by itself",
  { timeout: 180_000 },
  async () => {
    const house = useHouse();
    const storage = await startObjectStorage();
    onTestFinished(() => storage.stop());
    for (let index = 0; index < 12; index++)
      house.write({
        [`memory/note-${index}.md`]: `# Note ${index}\n\nThe ferry ${index} leaves from pier P-${index}.\n`,
      });
    const embeddings = deterministicEmbeddings();
    const config = parseConfig(
      {
        plugins: {
          slots: { memory: "bucket-with-spare" },
          entries: {
            "bucket-with-spare": { config: { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() } },
          },
        },
        agents: { defaults: { workspace: house.notes, memorySearch: { sync: { watch: false } } } },
      },
      { stateDir: house.stateDir, env: {} },
    );
    const memory = await openMemory({
      config,
      agentId: "main",
      embeddings,
      plugins: [bucketWithSpare],
      notify: () => {},
    });
    onTestFinished(() => memory.close());
    await memory.sync();
    const find = async (index: number): Promise<string | undefined> => {
      const { results, report } = await ask(memory, `which ferry leaves from pier P-${index}`);
      expect(results[0]?.path).toBe(`memory/note-${index}.md`);
      return report.fallback?.from;
    };
    expect(await find(0)).toBeUndefined();
    const embedded = embeddings.calls().texts;

    storage.down("refuse");
    const downAt = Date.now();
    for (let index = 1; Date.now() - downAt < outageMs; index = (index % 10) + 1) {
      expect(await find(index)).toBe("memory-lancedb");
      await sleep(500);
    }
    // A note that is saved meanwhile is found by the spare.
    house.write({ "memory/note-11.md": "# Note 11\n\nThe ferry 11 leaves from pier P-77.\n" });
    expect((await ask(memory, "pier P-77")).results[0]?.path).toBe("memory/note-11.md");

    storage.up();
    await expect.poll(() => find(3), { timeout: 60_000, interval: 500 }).toBeUndefined();
    expect(memory.status().fallback).toBeUndefined();
    // And now by the bucket. Nothing was embedded twice: one new text, for both.
    const back = await ask(memory, "pier P-77");
    expect(back.report.fallback).toBeUndefined();
    expect(back.results[0]?.path).toBe("memory/note-11.md");
    expect(embeddings.calls().texts).toBe(embedded + 1);
  },
);
