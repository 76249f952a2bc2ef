import { writeFileSync } from "node:fs";
import path from "node:path";
import { type EmbeddingProvider, type Memory, type MemoryMap, openMemory, parseConfig } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { createWorkspace } from "@memslot/test-tools/files";
import { describe, expect, onTestFinished, test } from "vitest";

const subjects = ["boiler heating cellar radiator", "bread flour dough oven", "ferry harbour pier boat"];

/** Notes of three subjects, each of its own words. */
function notes(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const words = subjects[index % 3]?.split(" ") ?? [];
      return [
        `memory/${index}.md`,
        `The ${words[index % 4]} and the ${words[(index + 1) % 4]} with a ${words[(index + 2) % 4]}.\n`,
      ];
    }),
  );
}

/** Knows the subjects, and nothing else. */
function provider(): EmbeddingProvider {
  const vectorOf = (text: string): number[] => [
    ...subjects.map((words) => words.split(" ").filter((word) => text.includes(word)).length),
    0.3,
    text.length / 1_000,
  ];
  return {
    id: "fake",
    model: "subjects",
    embedQuery: async (text) => vectorOf(text),
    embedBatch: async (texts) => texts.map(vectorOf),
  };
}

async function open(files: Record<string, string>, embeddings?: EmbeddingProvider): Promise<Memory> {
  const { workspaceDir, stateDir } = createWorkspace(files);
  const none = embeddings === undefined ? { provider: "none" } : {};
  const defaults = { workspace: workspaceDir, memorySearch: { ...none, sync: { watch: false } } };
  const config = parseConfig({ agents: { defaults } }, { stateDir, env: {} });
  const opening = { config, agentId: "main", plugins: [memoryCore], embeddings, notify: () => undefined };
  const memory = await openMemory(opening);
  onTestFinished(() => memory.close());
  await memory.sync();
  return memory;
}

describe.each<[MemoryMap["by"], () => EmbeddingProvider | undefined]>([
  ["meaning", provider],
  ["words", () => undefined],
])("a map by %s", (by, make) => {
  test("has each passage once, those of a subject together", async () => {
    const memory = await open(notes(90), make());
    const map = await memory.map();
    if (map === undefined) throw new Error("no map");
    expect(map.by).toBe(by);
    expect([map.passages, map.note.length, map.x.length, map.y.length]).toEqual([90, 90, 90, 90]);
    expect(new Set(map.note.map((index) => map.notes[index]?.path)).size).toBe(90);
    expect(map.notes[0]).toMatchObject({ source: "memory", day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/u) });
    for (const value of [...map.x, ...map.y]) expect(Math.abs(value)).toBeLessThanOrEqual(1);
    const subjectOf = (at: number): number =>
      Number(map.notes[map.note[at] ?? -1]?.path.slice("memory/".length, -3)) % 3;
    const centres = [0, 1, 2].map((subject) => {
      const own = map.note
        .keys()
        .filter((at) => subjectOf(at) === subject)
        .toArray();
      const mean = (values: readonly number[]): number =>
        own.reduce((sum, at) => sum + (values[at] ?? 0), 0) / own.length;
      return [mean(map.x), mean(map.y)] as const;
    });
    const nearestTo = (x: number, y: number): number => {
      const distances = centres.map(([cx, cy]) => Math.hypot(cx - x, cy - y));
      return distances.indexOf(Math.min(...distances));
    };
    const apart = map.note
      .keys()
      .filter((at) => nearestTo(map.x[at] ?? 0, map.y[at] ?? 0) !== subjectOf(at))
      .toArray();
    expect(apart.length).toBeLessThan(9);
  });

  test("has a place in more dimensions where those are asked for", async () => {
    const memory = await open(notes(30), make());
    const plain = await memory.map();
    expect(plain).not.toHaveProperty("fine", expect.anything());
    const map = await memory.map({ dimensions: 4 });
    const values = new Int8Array(Buffer.from(map?.fine ?? "", "base64"));
    expect(values).toHaveLength(4 * 30);
    expect(map?.note).toEqual(plain?.note);
    expect(new Set(values).size).toBeGreaterThan(4);
  });

  test("stays as it was when a note is added", async () => {
    const memory = await open(notes(60), make());
    const before = await memory.map();
    writeFileSync(path.join(memory.workspaceDir, "memory/new.md"), "A boat at the pier, and a ferry.\n");
    await memory.sync();
    const after = await memory.map();
    const placesIn = (map: typeof before): Map<string | undefined, string> =>
      new Map(map?.note.map((index, at) => [map.notes[index]?.path, `${map.x[at]} ${map.y[at]}`]));
    const [old, now] = [placesIn(before), placesIn(after)];
    expect(now.size).toBe(61);
    for (const [name, place] of old) expect([name, now.get(name)]).toEqual([name, place]);
  });
});

test("a map of nothing is empty", async () => {
  const memory = await open({});
  expect(await memory.map()).toMatchObject({ passages: 0, note: [], x: [] });
});

test("what cannot be meant is refused, and who waits no longer is let go", async () => {
  const memory = await open(notes(3));
  await expect(memory.map({ dimensions: 25 })).rejects.toThrow("dimensions");
  await expect(memory.map({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
});

test("others are answered while a large map is drawn", async () => {
  const memory = await open(notes(1_500));
  // The first search loads and prepares more than the map does.
  await memory.search("ferry");
  const map = memory.map();
  let answers = 0;
  for (let done = false; !done;) {
    await memory.search("ferry");
    answers++;
    done = await Promise.race([map.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
  }
  expect((await map)?.note).toHaveLength(1_500);
  // One that had to wait for the whole map would be the only one.
  expect(answers).toBeGreaterThan(1);
});

test("the syncs of one run are known to the next, and to a look that keeps nothing itself", async () => {
  const { workspaceDir, stateDir } = createWorkspace({ "MEMORY.md": "The port is 5544.\n" });
  const config = parseConfig({ agents: { defaults: { memorySearch: { provider: "none" } } } }, { stateDir, env: {} });
  const open = async (readOnly: boolean): Promise<Memory> => {
    const opening = { config, agentId: "main", workspaceDir, plugins: [memoryCore], notify: () => undefined, readOnly };
    const memory = await openMemory(opening);
    onTestFinished(() => memory.close());
    return memory;
  };
  const reasons = async (memory: Memory): Promise<string[] | undefined> =>
    (await memory.details())?.syncs.map(({ reason }) => reason);

  const first = await open(false);
  await first.sync({ reason: "the first" });
  await first.close();
  const second = await open(false);
  await second.sync({ reason: "the second" });
  expect(await reasons(second)).toEqual(["the second", "the first"]);
  await second.close();
  const looking = await open(true);
  expect(await reasons(looking)).toEqual(["the second", "the first"]);
});
