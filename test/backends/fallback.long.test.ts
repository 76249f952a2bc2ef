import { setTimeout as sleep } from "node:timers/promises";
import { type MemoryPlugin, defineMemoryPlugin, withFallback } from "@memslot/core";
import { startObjectStorage } from "@memslot/fakes/object-storage";
import { type FakeBehaviour, makeFakeQmd } from "@memslot/fakes/qmd";
import memoryCore from "@memslot/memory-core";
import memoryLancedb from "@memslot/memory-lancedb";
import memoryQmd from "@memslot/memory-qmd";
import { isRunning } from "@memslot/test-tools/child";
import { afterwards } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, test } from "vitest";
import { ask, useHouse } from "../support/house.ts";

const holdOffMs = 250;

interface State {
  name: string;
  behaviour: FakeBehaviour;
  works: boolean;
}

const works: State = { name: "it works", behaviour: {}, works: true };
const broken = (name: string, behaviour: FakeBehaviour): State => ({ name, behaviour, works: false });

const rounds: State[][] = [
  [
    works,
    broken("it takes 20 s", { query: { slowMs: 20_000 }, mcp: { slowMs: 20_000 } }),
    {
      name: "it logs before its answer",
      behaviour: { all: { noiseBefore: "[node-llama-cpp] loading …" } },
      works: true,
    },
    broken("it hangs", { query: { hang: true }, mcp: { hang: true } }),
    broken("its answer is no JSON", { mcp: { toolError: "broken" }, query: { stdout: "[{]" } }),
    works,
  ],
  [
    works,
    broken("it ends with 1", { mcp: { toolError: "something broke" }, query: { failure: "something broke" } }),
    works,
    broken("its index is locked", { mcp: { toolError: "database is locked" }, query: { busy: true } }),
    broken("it crashes", { all: { crash: "SIGSEGV" } }),
    works,
  ],
];

/** memory-qmd with memory-core behind it, as the configuration puts them together, but tried again sooner. */
function qmdWithSpare(): MemoryPlugin {
  return defineMemoryPlugin({
    id: "qmd-with-spare",
    async open(context) {
      const spare = {
        ...context,
        options: {},
        embeddings: { provider: undefined, requested: "none", reason: "words only", degraded: false },
      };
      return withFallback(
        { name: "memory-qmd", manager: await memoryQmd.open(context) },
        { name: "memory-core", open: (signal) => memoryCore.open({ ...spare, signal }) },
        { holdOffMs, maxHoldOffMs: holdOffMs },
      );
    },
  });
}

test.each(rounds.map((states, index) => [index, states] as const))(
  "round %i: 30 searches while qmd changes every five are all answered, and say by whom",
  async (_, states) => {
    const qmd = makeFakeQmd();
    afterwards(() => qmd.remove());
    const house = useHouse(
      Object.fromEntries(
        Array.from({ length: 30 }, (_each, index) => [
          `memory/note-${index}.md`,
          `# Note ${index}\n\nThe lantern ${index} hangs over gate G-${index}.\n`,
        ]),
      ),
    );
    const embeddings = deterministicEmbeddings();
    const config = { command: qmd.command, limits: { timeoutMs: 1500 } };
    const memory = await house.open({
      settings: { plugins: { slots: { memory: "qmd-with-spare" }, entries: { "qmd-with-spare": { config } } } },
      memorySearch: { sync: { watch: false } },
      embeddings,
      plugins: [qmdWithSpare()],
    });
    await memory.sync();
    let asked = 0;
    for (const { name, behaviour, works: isWorking } of states) {
      qmd.set(behaviour);
      for (let count = 0; count < 5; count++) {
        const { results, report } = await ask(memory, `gate G-${asked}`);
        expect(results[0]?.path, `${name}: search ${asked}`).toBe(`memory/note-${asked}.md`);
        asked++;
        if (!isWorking) expect(report.fallback, name).toBeDefined();
        if (report.fallback !== undefined) {
          expect(report).toMatchObject({ state: "degraded", fallback: { from: "memory-qmd", to: "memory-core" } });
          expect(Date.parse(report.fallback.retryAt ?? "")).not.toBeNaN();
        }
        await sleep(holdOffMs);
      }
      // Nobody resets anything: one of the searches finds that it is back.
      const answeredByQmd = async (): Promise<boolean> => (await ask(memory, "gate G-3")).report.fallback === undefined;
      if (isWorking)
        await expect.poll(answeredByQmd, { timeout: 40_000, interval: holdOffMs, message: name }).toBe(true);
      expect(memory.status().fallback === undefined, name).toBe(isWorking);
    }
    expect(asked).toBe(30);
    expect(embeddings.calls()).toMatchObject({ queries: 0, batches: 0 });
    await memory.close();
    const pids = [...new Set(qmd.starts().map(({ pid }) => pid))];
    expect(pids.length).toBeGreaterThan(0);
    await eventually(() => !pids.some(isRunning), "every process of qmd has ended");
  },
);

const bucketHoldOffMs = 2000;
const outageMs = 20_000;

/** memory-lancedb with memory-core behind it, as the configuration puts them together, but tried again sooner. */
const bucketWithSpare: MemoryPlugin = defineMemoryPlugin({
  id: "bucket-with-spare",
  open: async (context) =>
    withFallback(
      { name: "memory-lancedb", manager: await memoryLancedb.open(context) },
      { name: "memory-core", open: (signal) => memoryCore.open({ ...context, options: {}, signal }) },
      { holdOffMs: bucketHoldOffMs, maxHoldOffMs: bucketHoldOffMs },
    ),
});

test(
  "a bucket that is gone for 20 s: the spare answers and says so, then the bucket is back by itself",
  { timeout: 180_000 },
  async () => {
    const house = useHouse();
    const storage = await startObjectStorage();
    afterwards(() => storage.stop());
    for (let index = 0; index < 12; index++)
      house.write({
        [`memory/note-${index}.md`]: `# Note ${index}\n\nThe ferry ${index} leaves from pier P-${index}.\n`,
      });
    const embeddings = deterministicEmbeddings();
    const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
    const memory = await house.open({
      settings: { plugins: { slots: { memory: "bucket-with-spare" }, entries: { "bucket-with-spare": { config } } } },
      memorySearch: { sync: { watch: false } },
      embeddings,
      plugins: [bucketWithSpare],
    });
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
