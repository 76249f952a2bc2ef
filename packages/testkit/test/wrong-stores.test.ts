import { describe, expect, test } from "vitest";
import type { ChunkStore } from "@memslot/indexing";
import { chunkStoreConformance, createInMemoryStore, type InMemoryStore } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";
import * as builds from "./wrong-stores/builds.ts";
import * as files from "./wrong-stores/files.ts";
import * as vectors from "./wrong-stores/vectors.ts";
import * as words from "./wrong-stores/words.ts";
import { rowsOf } from "./wrong.ts";
import data from "./data/wrong-stores.json" with { type: "json" };

const wrongStores = [files, words, vectors, builds].flatMap((tables) => rowsOf(...Object.values(tables)));

/** Opens stores that are lasting and shared: those of one folder hold the same. */
function rememberingStores(): (stateDir: string) => Promise<InMemoryStore> {
  const stores = new Map<string, InMemoryStore>();
  return async (stateDir) => {
    const store = stores.get(stateDir) ?? createInMemoryStore();
    stores.set(stateDir, store);
    return { ...store };
  };
}

describe("a store with one fault fails the check that is meant for it", () => {
  test.each(wrongStores)("one that %s", async (_fault, caughtBy, spoil) => {
    const openRight = rememberingStores();
    const open = async (stateDir: string): Promise<ChunkStore> => {
      const right = await openRight(stateDir);
      return { ...right, ...spoil(right) };
    };
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: true }));
    expect((await runByName(checks, caughtBy)).result).toBe("failed");
  });

  test("each has a fault of its own, and every check has one that it is meant for", () => {
    const faults = wrongStores.map(([fault]) => fault);
    expect(faults.filter((fault, index) => faults.indexOf(fault) !== index)).toEqual([]);
    const open = async (): Promise<ChunkStore> => createInMemoryStore();
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: true }));
    const meant = new Set(wrongStores.map(([, caughtBy]) => caughtBy));
    const names = checks.map(({ name }) => name).filter((name) => !name.startsWith("deviations: "));
    expect(names.filter((name) => !meant.has(name))).toEqual([]);
  });

  test("a store that forgets fails when it says that it reopens", async () => {
    const checks = collectChecks((runner) =>
      chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: true }),
    );
    for (const name of data.afterReopen) expect((await runByName(checks, name)).result).toBe("failed");
  });

  test("a store that has every part passes every check", async () => {
    const checks = collectChecks((runner) =>
      chunkStoreConformance(runner, { open: rememberingStores(), reopens: true }),
    );
    for (const check of checks)
      expect({ [check.name]: await check.run() }).toEqual({ [check.name]: { result: "passed" } });
  });

  test("a store without a part skips what needs it with the reason, and nothing else", async () => {
    for (const [part, own] of data.parts as ["build" | "compact" | "revision" | "embedded", string][]) {
      const openRight = rememberingStores();
      const open = async (stateDir: string): Promise<ChunkStore> => {
        const right = await openRight(stateDir);
        const listFiles: ChunkStore["listFiles"] = async () =>
          (await right.listFiles()).map(({ embedded: _embedded, ...file }) => file);
        const { [part]: _part, ...rest } = { embedded: undefined, ...right };
        return { ...rest, ...(part === "embedded" && { listFiles }) } as ChunkStore;
      };
      const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: true }));
      const skipped: string[] = [];
      for (const check of checks) {
        const outcome = await check.run();
        if (outcome.result === "skipped") {
          expect(outcome.reason).toBe(`the store says that it has no ${part}`);
          skipped.push(check.name);
        } else expect({ [check.name]: outcome }).toEqual({ [check.name]: { result: "passed" } });
      }
      for (const name of skipped) expect(name).not.toMatch(/^(?:files|keyword|lifecycle): /);
      expect(skipped).toEqual(expect.arrayContaining(checks.map(({ name }) => name).filter((n) => n.startsWith(own))));
    }
  });
});
