import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Memory, openMemory, parseConfig } from "@memslot/core";
import memoryCore, { openSqliteStore } from "@memslot/memory-core";
import { deterministicEmbeddings } from "@memslot/testkit";
import { expect, onTestFinished, test } from "vitest";
import memoryLancedb from "@memslot/memory-lancedb";
import { embedAll, fileOf, near, open, spaceOf, tempFolder, vectorOf } from "./support/stores.ts";

const space = spaceOf("m");

test(
  "to change the slot embeds no text again, in neither direction, and a new note only once",
  { timeout: 120_000 },
  async () => {
    const root = await tempFolder();
    const workspaceDir = join(root, "notes");
    await mkdir(join(workspaceDir, "memory"), { recursive: true });
    for (let note = 0; note < 90; note++)
      await writeFile(
        join(workspaceDir, "memory", `note${note}.md`),
        `# Note ${note}\n\nThe cat number${note} sleeps.\n`,
      );
    const provider = deterministicEmbeddings();

    async function use(
      slot: "memory-core" | "memory-lancedb",
      work: (memory: Memory) => Promise<void>,
    ): Promise<number> {
      const before = provider.calls().texts;
      const config = {
        agents: { defaults: { workspace: workspaceDir, memorySearch: { sync: { watch: false } } } },
        plugins: { slots: { memory: slot } },
      };
      const memory = await openMemory({
        config: parseConfig(config, { stateDir: join(root, "state") }),
        agentId: "main",
        embeddings: provider,
        plugins: [memoryCore, memoryLancedb],
        notify: () => {},
      });
      try {
        await memory.sync();
        await work(memory);
      } finally {
        await memory.close();
      }
      return provider.calls().texts - before;
    }
    async function finds(memory: Memory, query: string, path: string): Promise<void> {
      const [first] = await memory.search(query);
      expect(first).toMatchObject({ path, vectorScore: expect.any(Number) as number });
      expect(memory.status().vector?.embedded).toBe(memory.status().chunks);
    }

    const first = await use("memory-core", (memory) => finds(memory, "the kitten number7", "memory/note7.md"));
    expect(first).toBe(90);
    const second = await use("memory-lancedb", (memory) => finds(memory, "the kitten number8", "memory/note8.md"));
    expect(second).toBe(0);
    await writeFile(join(workspaceDir, "memory", "later.md"), "The parrot number900 talks.\n");
    const third = await use("memory-lancedb", (memory) => finds(memory, "parrot number900", "memory/later.md"));
    expect(third).toBe(1);
    const fourth = await use("memory-core", (memory) => finds(memory, "parrot number900", "memory/later.md"));
    expect(fourth).toBe(0);
  },
);

test("vectors that only memory-core has are known before anything is indexed, and are searched at once", async () => {
  const stateDir = await tempFolder();
  const path = join(stateDir, "memory", "main.sqlite");
  const core = await openSqliteStore({ path, vector: { enabled: false }, cacheMaxEntries: 1000 });
  await core.replaceFiles([fileOf("a.md", ["one", "two"])]);
  await embedAll(core, space);
  await core.close();

  const store = await open(stateDir, { shared: { path, maxEntries: 1000 } });
  const hashes = fileOf("a.md", ["one", "two", "three"]).chunks.map(({ hash }) => hash);
  expect(await store.knownVectors(space, hashes)).toEqual(hashes.slice(0, 2));
  expect(await store.spaces()).toEqual([{ space, vectors: 2 }]);
  await store.replaceFiles([fileOf("a.md", ["one", "two", "three"])]);
  expect((await store.pendingVectors(space, 10)).map(({ text }) => text)).toEqual(["three"]);
  expect(await near(store, space, "two", 1)).toEqual(["two"]);
  expect(await store.spaceStats(space)).toMatchObject({ embedded: 2, pending: 1 });
});

test("what is embedded here is in memory-core's file, and more of it than the limit while its chunks are there", async () => {
  const stateDir = await tempFolder();
  const path = join(stateDir, "memory", "main.sqlite");
  const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
  const store = await open(stateDir, { shared: { path, maxEntries: 5 } });
  await store.replaceFiles([fileOf("a.md", texts)]);
  expect(await embedAll(store, space)).toBe(40);
  await store.close();
  const core = await openSqliteStore({ path, vector: { enabled: false }, cacheMaxEntries: 1000 });
  onTestFinished(() => core.close());
  const hashes = fileOf("a.md", texts).chunks.map(({ hash }) => hash);
  expect(await core.knownVectors(space, hashes)).toHaveLength(40);
  expect(await core.upkeep?.vectorOf(space, hashes[3] ?? "")).toEqual(vectorOf("text 3"));
});

test("whoever only looks makes no file", async () => {
  const stateDir = await tempFolder();
  const path = join(stateDir, "memory", "main.sqlite");
  const store = await open(stateDir, { mayCreate: false, shared: { path, maxEntries: 5 } });
  expect(await store.listFiles()).toEqual([]);
  expect(await store.knownVectors(space, ["a".repeat(64)])).toEqual([]);
  expect(await store.spaces()).toEqual([]);
  expect((await store.stats()).files).toBe(0);
  await store.close();
  expect(existsSync(join(stateDir, "memory"))).toBe(false);
});

test("a file of memory-core that cannot be used is told once and hinders nothing", async () => {
  const stateDir = await tempFolder();
  const path = join(stateDir, "main.sqlite");
  await writeFile(path, "this is no database ".repeat(1000));
  const store = await open(stateDir, { shared: { path: join(path, "below-a-file.sqlite"), maxEntries: 5 } });
  await store.replaceFiles([fileOf("a.md", ["one", "two"])]);
  expect(await embedAll(store, space)).toBe(2);
  expect(await near(store, space, "two", 1)).toEqual(["two"]);
  expect(store.health().notices).toHaveLength(1);
});
