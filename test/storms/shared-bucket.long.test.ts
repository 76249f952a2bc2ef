import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ObjectStorage, startObjectStorage } from "@memslot/fakes/object-storage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, type House, useHouse } from "../support/temp-workspace.ts";
import { type CliRun, runCli } from "../support/run-command.ts";
import { stormSize } from "../support/storm-size.ts";

const rounds = stormSize(8);
let indexes = 0;

describe("hosts that share a bucket", () => {
  let storage: ObjectStorage;
  beforeAll(async () => void (storage = await startObjectStorage()));
  afterAll(() => storage.stop());

  /** Settings with an index of its own in the bucket. Patience is short, so that an outage does not take long. */
  function settingsIn(house: House): Record<string, unknown> {
    const patience = { client_max_retries: "1", client_retry_timeout: "2" };
    const config = {
      dbPath: `s3://notes/shared-${indexes++}`,
      storageOptions: { ...storage.storageOptions(), ...patience },
    };
    const entries = { "memory-lancedb": { config, fallback: "none" } };
    return {
      plugins: { slots: { memory: "memory-lancedb" }, entries },
      agents: {
        defaults: { workspace: house.notes, memorySearch: { provider: "none", sync: { watch: false } } },
      },
    };
  }

  /** The command as it runs on a host: each has a state folder of its own. */
  function hostsOf(house: House, settings: Record<string, unknown>) {
    const file = join(house.folder, "memslot.json5");
    writeFileSync(file, JSON.stringify(settings));
    return async (host: number, args: readonly string[], signal?: AbortSignal): Promise<CliRun> => {
      const stateDir = join(house.folder, `host-${host}`);
      mkdirSync(stateDir, { recursive: true });
      return await runCli(args, { stateDir, config: file, ...(signal && { signal }) });
    };
  }

  const note = (name: string): Record<string, string> => ({
    [`memory/${name}.md`]: `# ${name}\n\nThe ferry ${name} leaves from a pier of its own.\n`,
  });

  test(
    "two that index at once lose nothing and neither is refused, and a third finds all of it",
    { timeout: 300_000 },
    async () => {
      const house = useHouse();
      const host = hostsOf(house, settingsIn(house));
      const names: string[] = [];
      for (let round = 0; round < rounds; round++) {
        const both = [`quay${round}north`, `quay${round}south`];
        names.push(...both);
        for (const name of both) house.write(note(name));
        const runs = await Promise.all([1, 2].map((each) => host(each, ["memory", "index"])));
        for (const { exitCode, stderr } of runs) expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
      }
      for (const name of names) {
        const { exitCode, stdout } = await host(3, ["memory", "search", "--json", `ferry ${name}`]);
        expect([exitCode, JSON.parse(stdout).results[0]?.path]).toEqual([0, `memory/${name}.md`]);
      }
      const before = storage.stats().requests;
      expect((await host(3, ["memory", "search", "--json", "ferry quay0south"])).exitCode).toBe(0);
      expect(storage.stats().requests - before, "a command in a fresh process").toBeLessThanOrEqual(20);
    },
  );

  test(
    "one that is killed in the middle leaves whole files, and another one waits for its right and goes on",
    { timeout: 300_000 },
    async () => {
      const house = useHouse();
      const settings = settingsIn(house);
      const host = hostsOf(house, settings);
      for (let index = 0; index < 400; index++) house.write(note(`pier${index}`));
      const before = storage.stats().requests;
      const kill = new AbortController();
      const killed = host(1, ["memory", "index"], kill.signal);
      // It has made the tables, taken its lease and begun to write.
      await expect.poll(() => storage.stats().requests - before, { timeout: 60_000, interval: 20 }).toBeGreaterThan(70);
      kill.abort();
      expect((await killed).exitCode, "it had not ended").toBe("SIGKILL");
      house.write(note("lighthouse"));
      const { exitCode, stderr } = await host(2, ["memory", "index"]);
      expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
      expect((await host(3, ["memory", "index"])).exitCode).toBe(0);
      for (const name of ["pier0", "pier399", "lighthouse"]) {
        const { stdout } = await host(3, ["memory", "search", "--json", `ferry ${name}`]);
        const { results, state } = JSON.parse(stdout);
        expect([results[0]?.path, state]).toEqual([`memory/${name}.md`, "ok"]);
      }
      const { stdout } = await host(3, ["memory", "status", "--json"]);
      expect(stdout).toMatch(/"files": ?401\b/);
    },
  );

  test(
    "a server that is stopped and back: calls say so meanwhile, and nothing is lost",
    { timeout: 300_000 },
    async () => {
      const house = useHouse();
      for (const name of ["before", "between"]) house.write(note(name));
      const { plugins } = settingsIn(house);
      const memory = await house.open({ settings: { plugins }, memorySearch: { sync: { watch: false } } });
      const find = async (name: string): Promise<string | undefined> => (await ask(memory, `ferry ${name}`)).paths[0];
      await memory.sync();
      expect(await find("before")).toBe("memory/before.md");
      storage.down("refuse");
      await expect(find("before")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      house.write(note("meanwhile"));
      await expect(memory.sync()).rejects.toMatchObject({ code: "UNAVAILABLE" });
      storage.up();
      for (const name of ["before", "between", "meanwhile"]) expect(await find(name)).toBe(`memory/${name}.md`);
      expect((await memory.sync())?.failed).toEqual([]);
    },
  );
});
