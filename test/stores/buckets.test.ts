import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { afterwards } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import { deterministicEmbeddings } from "@memslot/testkit";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import { damagedObjects, expectHealed, inBucket } from "../support/damaged-bucket.ts";
import { ask, type House, useHouse } from "../support/temp-workspace.ts";

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
    // As a real one, whose dimensions are unknown before its first vector.
    const embeddings = { ...deterministicEmbeddings({ dimensions: 64 }), dimensions: undefined };
    const settings = inBucket(storage);
    const open = (host: number, memorySearch: Record<string, unknown> = {}): Promise<Memory> =>
      house.open({
        settings,
        memorySearch: { sync: { watch: false }, ...memorySearch },
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

    // Another host takes over what is embedded, and its first answer is whole: also as a command searches.
    const { texts } = embeddings.calls();
    const writes = (): number => storage.log.filter(({ method }) => method !== "GET" && method !== "HEAD").length;
    for (const isCommand of [false, true]) {
      const before = writes();
      const fresh = await requestsOf(storage, async () => {
        const other = await open(isCommand ? 3 : 2, isCommand ? { sync: { onSearch: false, watch: false } } : {});
        if (isCommand) await other.sync({ reason: "search" });
        const { paths, report } = await ask(other, "ferry F-42");
        expect([paths[0], report.state]).toEqual(["memory/note-42.md", "ok"]);
        await other.close();
      });
      expect(fresh).toBeLessThanOrEqual(20);
      expect([writes() - before, embeddings.calls().texts - texts], "nothing is written or embedded").toEqual([0, 0]);
    }

    // Another host rebuilds the index: the first search reads it, and those after it do not.
    const reader = await open(1);
    await find(reader, 5);
    const builder = await open(2);
    await builder.sync({ force: true });
    await builder.close();
    expect(await requestsOf(storage, () => find(reader, 6))).toBeLessThanOrEqual(20);
    expect(await requestsOf(storage, () => find(reader, 8))).toBeLessThanOrEqual(8);
    expect(embeddings.calls().texts - texts, "one word, to ask for the dimensions").toBe(1);
  },
);

describe("machines", () => {
  /** Machines with the same notes at a path of their own, and one bucket. */
  async function machines(): Promise<Parameters<typeof openOn>[0]> {
    const storage = await startObjectStorage();
    afterwards(() => storage.stop());
    return { storage, embeddings: deterministicEmbeddings({ dimensions: 64 }) };
  }
  interface Machine {
    house: House;
    memory: Memory;
  }
  async function openOn(
    shared: { storage: ObjectStorage; embeddings: ReturnType<typeof deterministicEmbeddings> },
    how: Parameters<House["open"]>[0] = {},
  ): Promise<Machine> {
    const house = useHouse();
    house.write({
      "memory/a.md": "# Ferry\n\nThe ferry leaves from pier 7.\n",
      "memory/b.md": "# Goat\n\nA goat eats.\n",
    });
    house.letSettle();
    const { storage, embeddings } = shared;
    const memory = await house.open({ settings: inBucket(storage), embeddings, ...how });
    return { house, memory };
  }
  const prefixesIn = (storage: ObjectStorage): string[] => [
    ...new Set(storage.keys("notes", "team/").map((key) => key.split("/")[1] ?? "")),
  ];
  test("share the index of the agent's own workspace, wherever that is, and each vector is paid once", async () => {
    const shared = await machines();
    const alice = await openOn(shared);
    await alice.memory.sync();
    const { texts } = shared.embeddings.calls();
    const bob = await openOn(shared);
    expect(await bob.memory.sync()).toMatchObject({ changed: 2 });
    expect((await bob.memory.search("boat leaves")).map(({ path }) => path)).toContain("memory/a.md");
    expect(shared.embeddings.calls().texts - texts).toBe(0);
    bob.house.write({ "memory/c.md": "# Okapi\n\nAn okapi sleeps.\n" });
    alice.house.write({ "memory/c.md": "# Okapi\n\nAn okapi sleeps.\n" });
    await bob.memory.sync();
    const before = shared.embeddings.calls().texts;
    await alice.memory.sync();
    expect(shared.embeddings.calls().texts).toBe(before);
    expect(prefixesIn(shared.storage)).toHaveLength(1);
    expect([...alice.house.notices, ...bob.house.notices]).toEqual([]);
  });

  test("with another workspace have an index of their own, which says beside which, until it has a workspace id", async () => {
    const shared = await machines();
    await (await openOn(shared)).memory.sync();
    const given = { memorySearch: { workspaceId: "team" } };
    const others: Machine[] = [];
    for (const _ of [1, 2]) {
      const other = await openOn(shared, given);
      await other.memory.sync();
      others.push(other);
    }
    expect(prefixesIn(shared.storage)).toHaveLength(2);
    const said =
      /^the index s3:\/\/notes\/team\/main-[0-9a-f]{16}\.lance is new; this agent has others \(s3:\/\/notes\/team\/main-/;
    expect(others.map(({ house }) => house.notices)).toEqual([[expect.stringMatching(said)], []]);
    const again = await others[1]?.house.open({ settings: inBucket(shared.storage), ...given });
    expect(again?.status().custom?.remarks).toEqual([expect.stringMatching(said)]);
  });
});

test.each(damagedObjects.filter((_, index) => index % 4 === 0))(
  "a bucket in which %s are %s gives no wrong answer, and a rebuild that a person asks for heals it",
  { timeout: 60_000 },
  async (...row) => await expectHealed(...row),
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
