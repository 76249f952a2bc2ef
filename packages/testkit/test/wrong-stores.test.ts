import { describe, expect, test } from "vitest";
import type { ChunkIndex } from "@memslot/indexing";
import { chunkIndexConformance, createInMemoryStore } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";
import { rememberingStores } from "./remembering-stores.ts";
import { wrongWithBuildVectors } from "./wrong-stores/build-vectors.ts";
import { wrongWithBuilds } from "./wrong-stores/builds.ts";
import { wrongWithFiles } from "./wrong-stores/files.ts";
import { wrongWithLeases } from "./wrong-stores/leases.ts";
import { wrongWithQuarantine } from "./wrong-stores/quarantine.ts";
import { wrongWithRevision } from "./wrong-stores/revision.ts";
import { wrongWithScopeCounts } from "./wrong-stores/scope-counts.ts";
import { wrongWithScopes } from "./wrong-stores/scopes.ts";
import { wrongWithSpaces } from "./wrong-stores/spaces.ts";
import { wrongWithTails } from "./wrong-stores/tails.ts";
import { wrongWithTexts } from "./wrong-stores/texts.ts";
import { wrongWithUpkeep } from "./wrong-stores/upkeep.ts";
import { wrongWithVectors } from "./wrong-stores/vectors.ts";
import { wrongWithWords } from "./wrong-stores/words.ts";

const wrongStores = [
  ...wrongWithFiles,
  ...wrongWithTails,
  ...wrongWithWords,
  ...wrongWithTexts,
  ...wrongWithVectors,
  ...wrongWithSpaces,
  ...wrongWithQuarantine,
  ...wrongWithScopes,
  ...wrongWithScopeCounts,
  ...wrongWithRevision,
  ...wrongWithBuilds,
  ...wrongWithBuildVectors,
  ...wrongWithLeases,
  ...wrongWithUpkeep,
];

describe("a store with one fault fails the check that is meant for it", () => {
  test.each(wrongStores.map((wrong) => [wrong.fault, wrong] as const))(
    "one that %s",
    async (_fault, { spoil, caughtBy }) => {
      const openRight = rememberingStores();
      const open = async (stateDir: string): Promise<ChunkIndex> => {
        const right = await openRight(stateDir);
        return { ...right, ...spoil(right) };
      };
      const checks = collectChecks((runner) => chunkIndexConformance(runner, { open, reopens: true }));
      expect((await runByName(checks, caughtBy)).result).toBe("failed");
    },
  );

  test("each has a fault of its own", () => {
    const faults = wrongStores.map(({ fault }) => fault);
    expect(faults.filter((fault, index) => faults.indexOf(fault) !== index)).toEqual([]);
  });

  test("a store that forgets fails when it says that it reopens", async () => {
    const checks = collectChecks((runner) =>
      chunkIndexConformance(runner, { open: async () => createInMemoryStore(), reopens: true }),
    );
    for (const name of [
      "lifecycle: files and words are there again after a reopen",
      "lifecycle: vectors are there again after a reopen, each space its own",
      "lifecycle: quarantine is there again after a reopen",
      "revision: after a reopen a change gives one that was never there before",
      "builds: after a reopen the next build is there, is gone on with by its name, and takes over",
    ]) {
      expect((await runByName(checks, name)).result).toBe("failed");
    }
  });

  test("a store that has every part passes every check", async () => {
    const checks = collectChecks((runner) =>
      chunkIndexConformance(runner, { open: rememberingStores(), reopens: true }),
    );
    for (const check of checks)
      expect({ [check.name]: await check.run() }).toEqual({ [check.name]: { result: "passed" } });
  });

  test("a store without a part skips what needs it with the reason, and nothing else", async () => {
    for (const [part, changed] of [
      ["vector", { health: () => ({ ...createInMemoryStore().health(), vector: { enabled: false } }) }],
      ["revision", { revision: undefined }],
      ["builds", { builds: undefined }],
      ["leases", { leases: undefined }],
      ["upkeep", { upkeep: undefined }],
    ] as const) {
      const openRight = rememberingStores();
      const checks = collectChecks((runner) =>
        chunkIndexConformance(runner, {
          open: async (stateDir) => ({ ...(await openRight(stateDir)), ...changed }) as ChunkIndex,
          reopens: true,
        }),
      );
      const skipped: string[] = [];
      for (const check of checks) {
        const outcome = await check.run();
        if (outcome.result === "skipped") {
          expect(outcome.reason).toBe(`the store says that it has no ${part}`);
          skipped.push(check.name);
        } else expect({ [check.name]: outcome }).toEqual({ [check.name]: { result: "passed" } });
      }
      for (const name of skipped) expect(name).not.toMatch(/^(?:files|keyword): /);
      const own = checks.filter(({ name }) => name.startsWith(`${part}: `));
      expect(skipped).toEqual(expect.arrayContaining(own.map(({ name }) => name)));
    }
  });
});
