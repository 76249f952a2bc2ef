import { describe, expect, test } from "vitest";
import type { ChunkStore } from "@memslot/indexing";
import { chunkStoreConformance, createInMemoryStore } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";
import { wrongWithFiles } from "./wrong-stores/files.ts";
import { wrongWithQuarantine } from "./wrong-stores/quarantine.ts";
import { wrongWithSpaces } from "./wrong-stores/spaces.ts";
import { wrongWithVectors } from "./wrong-stores/vectors.ts";
import { wrongWithWords } from "./wrong-stores/words.ts";

const wrongStores = [
  ...wrongWithFiles,
  ...wrongWithWords,
  ...wrongWithVectors,
  ...wrongWithSpaces,
  ...wrongWithQuarantine,
];

describe("a store with one fault fails the check that is meant for it", () => {
  test.each(wrongStores.map((wrong) => [wrong.fault, wrong] as const))(
    "one that %s",
    async (_fault, { spoil, caughtBy }) => {
      const open = async (): Promise<ChunkStore> => {
        const right = createInMemoryStore();
        return { ...right, ...spoil(right) };
      };
      const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: false }));
      expect((await runByName(checks, caughtBy)).result).toBe("failed");
    },
  );

  test("a store that forgets fails when it says that it reopens", async () => {
    const checks = collectChecks((runner) =>
      chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: true }),
    );
    for (const name of [
      "lifecycle: files and words are there again after a reopen",
      "lifecycle: vectors are there again after a reopen, each space its own",
      "lifecycle: quarantine is there again after a reopen",
    ]) {
      expect((await runByName(checks, name)).result).toBe("failed");
    }
  });

  test("a store that remembers passes when it says that it reopens", async () => {
    const stores = new Map<string, ChunkStore>();
    const open = async (stateDir: string): Promise<ChunkStore> => {
      const store = stores.get(stateDir) ?? createInMemoryStore();
      stores.set(stateDir, store);
      return store;
    };
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: true }));
    for (const check of checks)
      expect({ [check.name]: await check.run() }).toEqual({ [check.name]: { result: "passed" } });
  });

  test("a store without vectors skips what needs them, and nothing else", async () => {
    const open = async (): Promise<ChunkStore> => {
      const right = createInMemoryStore();
      return { ...right, health: () => ({ ...right.health(), vector: { enabled: false } }) };
    };
    const checks = collectChecks((runner) => chunkStoreConformance(runner, { open, reopens: false }));
    for (const check of checks) {
      const { result } = await check.run();
      const wanted = check.name.startsWith("vector: ") || check.name.includes("after a reopen") ? "skipped" : "passed";
      expect({ [check.name]: result }).toEqual({ [check.name]: wanted });
    }
  });
});
