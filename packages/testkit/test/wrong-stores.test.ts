import { describe, expect, test } from "vitest";
import type { ChunkStore } from "@memslot/indexing";
import { chunkStoreConformance, createInMemoryStore, type InMemoryStore, type TestRunner } from "@memslot/testkit";
import { collectChecks, expectFailure } from "./collect-checks.ts";
import * as builds from "./wrong-stores/builds.ts";
import * as files from "./wrong-stores/files.ts";
import * as vectors from "./wrong-stores/vectors.ts";
import * as words from "./wrong-stores/words.ts";
import { rowsOf } from "./wrong.ts";
import data from "./data/wrong-stores.json" with { type: "json" };

const wrongStores = [files, words, vectors, builds].flatMap((tables) => rowsOf(...Object.values(tables)));

/** Opens stores that keep their content and share it: those of one folder are one store. */
function rememberingStores(): (stateDir: string) => Promise<InMemoryStore> {
  const stores = new Map<string, InMemoryStore>();
  return async (stateDir) => {
    const store = stores.get(stateDir) ?? createInMemoryStore();
    stores.set(stateDir, store);
    return { ...store };
  };
}

/** The suite for stores that are made of right ones. */
function suiteOf(change: (right: InMemoryStore) => ChunkStore): (runner: TestRunner) => void {
  const openRight = rememberingStores();
  const open = async (stateDir: string): Promise<ChunkStore> => change(await openRight(stateDir));
  return (runner) => chunkStoreConformance(runner, { open, reopens: true });
}

describe("a store with one fault fails the check that is meant for it", () => {
  test.each(wrongStores)("one that %s", async (_fault, caughtBy, spoil) => {
    await expectFailure(
      suiteOf((right) => ({ ...right, ...spoil(right) })),
      caughtBy,
    );
  });

  test("each has a fault of its own, and every check has one that it is meant for", () => {
    const faults = wrongStores.map(([fault]) => fault);
    expect(faults.filter((fault, index) => faults.indexOf(fault) !== index)).toEqual([]);
    const meant = new Set(["suite", ...wrongStores.map(([, caughtBy]) => caughtBy)]);
    const ids = [...collectChecks(suiteOf((right) => right)).keys()];
    expect(ids.filter((id) => !meant.has(id))).toEqual([]);
  });

  test("a store that forgets fails when it says that it reopens", async () => {
    const open = async (): Promise<ChunkStore> => createInMemoryStore();
    for (const id of data.afterReopen)
      await expectFailure((runner) => chunkStoreConformance(runner, { open, reopens: true }), id);
  });

  test("a store that has every part passes every check", async () => {
    for (const [id, run] of collectChecks(suiteOf((right) => right)))
      expect({ [id]: await run() }).toEqual({ [id]: { result: "passed" } });
  });

  test.each(data.parts as ("build" | "compact" | "revision" | "embedded")[])(
    "a store without %s skips what needs it with the reason, and nothing else",
    async (part) => {
      const suite = suiteOf((right) => {
        const listFiles: ChunkStore["listFiles"] = async () =>
          (await right.listFiles()).map(({ embedded: _embedded, ...file }) => file);
        const { [part]: _part, ...rest } = { embedded: undefined, ...right };
        return { ...rest, ...(part === "embedded" && { listFiles }) } as ChunkStore;
      });
      const skipped: string[] = [];
      for (const [id, run] of collectChecks(suite)) {
        const outcome = await run();
        if (outcome.result !== "skipped") expect({ [id]: outcome }).toEqual({ [id]: { result: "passed" } });
        else {
          expect(outcome.reason).toBe(`the store has no ${part}`);
          skipped.push(id);
        }
      }
      expect(skipped.length).toBeGreaterThan(0);
      for (const id of skipped) expect(id).toMatch(/^(?:builds|compact|revision|embedded)\./);
    },
  );
});
