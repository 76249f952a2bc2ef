import { setTimeout as sleep } from "node:timers/promises";
import { type MemoryPlugin, defineMemoryPlugin, withFallback } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import memoryQmd from "@memslot/memory-qmd";
import { type FakeBehaviour, type FakeQmd, makeFakeQmd } from "@memslot/fakes/qmd";
import { deterministicEmbeddings } from "@memslot/testkit";
import { openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "../support/embedding-bench.ts";
import { type House, useHouse } from "../support/house.ts";

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

function scriptedQmd(): FakeQmd {
  const fake = makeFakeQmd();
  onTestFinished(() => fake.remove());
  return fake;
}

function write(house: House): void {
  for (let index = 0; index < 30; index++)
    house.write({
      [`memory/note-${index}.md`]: `# Note ${index}\n\nThe lantern ${index} hangs over gate G-${index}.\n`,
    });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test.each([
  [0, rounds[0] ?? []],
  [1, rounds[1] ?? []],
])("round %i: 30 searches while qmd changes every five are all answered, and say by whom", async (_, states) => {
  const house = useHouse();
  const qmd = scriptedQmd();
  write(house);
  const embeddings = deterministicEmbeddings();
  const config = parseConfig(
    {
      plugins: {
        slots: { memory: "qmd-with-spare" },
        entries: { "qmd-with-spare": { config: { command: qmd.command, limits: { timeoutMs: 1500 } } } },
      },
      agents: { defaults: { workspace: house.notes, memorySearch: { sync: { watch: false } } } },
    },
    { stateDir: house.stateDir, env: {} },
  );
  const memory = await openMemory({
    config,
    agentId: "main",
    embeddings,
    plugins: [qmdWithSpare()],
    notify: (line) => void house.notices.push(line),
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
    if (isWorking) await expect.poll(answeredByQmd, { timeout: 40_000, interval: holdOffMs, message: name }).toBe(true);
    expect(memory.status().fallback === undefined, name).toBe(isWorking);
  }
  expect(asked).toBe(30);
  expect(embeddings.calls()).toMatchObject({ queries: 0, batches: 0 });
  await memory.close();
  const pids = [...new Set(qmd.starts().map(({ pid }) => pid))];
  expect(pids.length).toBeGreaterThan(0);
  await expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
});
