import { startObjectStorage } from "@memslot/fakes/object-storage";
import { type Memory, openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";
import { type House, useHouse } from "../support/house.ts";

const patience = { timeout: 20_000, interval: 20 };

/** The notes that an answer names which is called fresh. */
async function found(memory: Memory, query: string): Promise<string[]> {
  const endMs = performance.now() + patience.timeout;
  for (;;) {
    let state: string | undefined;
    const results = await memory.search(query, { onDebug: (report) => void (state = report.state) });
    if (state === "ok") return results.map((result) => result.path).toSorted();
    if (performance.now() > endMs) throw new Error(`not fresh: ${state}`);
  }
}

test.runIf(process.platform === "linux")(
  "what another host writes to a shared index is seen by a search though the watcher says that nothing has changed",
  { timeout: 120_000 },
  async () => {
    const storage = await startObjectStorage();
    onTestFinished(() => storage.stop());
    const config = { dbPath: "s3://notes/team", storageOptions: storage.storageOptions() };
    const house: House = useHouse();
    const open = async (host: number, extraPaths: string[], watch: boolean): Promise<Memory> => {
      const memorySearch = { provider: "none", extraPaths, sync: { watch, watchDebounceMs: 600_000 } };
      const memory = await openMemory({
        config: parseConfig(
          {
            plugins: { slots: { memory: "memory-lancedb" }, entries: { "memory-lancedb": { config } } },
            agents: { defaults: { workspace: house.notes, memorySearch } },
          },
          { stateDir: `${house.stateDir}-${host}`, env: {} },
        ),
        agentId: "main",
        notify: () => {},
      });
      onTestFinished(() => memory.close());
      return memory;
    };
    house.write({ "more/a.md": "zebra first of the one", "memory/b.md": "zebra two" });
    house.letSettle();

    const watched = await open(1, [`${house.notes}/more`], true);
    const search = async (): Promise<unknown> => {
      expect(await found(watched, "zebra")).toEqual(["memory/b.md", "more/a.md"]);
      return watched.status().freshness;
    };
    await expect.poll(search, patience).toEqual({ by: "events" });
    await expect.poll(search, patience).toEqual({ by: "events" });

    // The other host does not know of a folder, and takes its notes out. What is left says nothing wrong.
    const writing = await open(2, [], false);
    for (let round = 0; round < 3; round++) {
      expect(await writing.sync({ wait: true })).toMatchObject({ removed: 1 });
      await search();
      expect(watched.status().freshness, "no file was looked at for it").toEqual({ by: "events" });
    }
  },
);
