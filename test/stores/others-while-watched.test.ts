import path from "node:path";
import { startObjectStorage } from "@memslot/fakes/object-storage";
import { type Memory, openMemory, parseConfig } from "memslot";
import { expect, onTestFinished, test } from "vitest";
import { type House, useHouse } from "../support/house.ts";

const patience = { timeout: 60_000, interval: 20 };

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
    const open = async ({ notes, stateDir }: House, watch: boolean): Promise<Memory> => {
      const memorySearch = { provider: "none", sync: { watch, watchDebounceMs: 600_000 } };
      const memory = await openMemory({
        config: parseConfig(
          {
            plugins: { slots: { memory: "memory-lancedb" }, entries: { "memory-lancedb": { config } } },
            agents: { defaults: { workspace: notes, memorySearch } },
          },
          { stateDir, env: {} },
        ),
        agentId: "main",
        notify: () => {},
      });
      onTestFinished(() => memory.close());
      return memory;
    };
    const [own, other] = [useHouse(), useHouse()];
    own.write({ "memory/a.md": "zebra one", "memory/b.md": "zebra two" });
    // The other host has another state of the notes: one is gone, one is new, and one says something else.
    other.write({ "memory/b.md": "zebra two and giraffe", "memory/c.md": "zebra three" });
    for (const house of [own, other]) house.letSettle();

    const watched = await open(own, true);
    const search = async (): Promise<unknown> => {
      expect(await found(watched, "zebra")).toEqual(["memory/a.md", "memory/b.md"]);
      return watched.status().freshness;
    };
    await expect.poll(search, patience).toEqual({ by: "events" });
    await expect.poll(search, patience).toEqual({ by: "events" });

    const writing = await open(other, false);
    for (let round = 0; round < 3; round++) {
      await writing.sync({ wait: true });
      expect(await found(watched, "zebra"), path.basename(own.notes)).toEqual(["memory/a.md", "memory/b.md"]);
      expect(await found(watched, "giraffe")).toEqual([]);
      expect(watched.status().freshness, "no file was looked at for it").toEqual({ by: "events" });
    }
  },
);
