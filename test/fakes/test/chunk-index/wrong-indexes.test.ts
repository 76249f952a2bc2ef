import type { ChunkIndex } from "@memslot/indexing";
import { chunkIndexConformance, createInMemoryIndex } from "@memslot/fakes/chunk-index";
import { describe, expect, test } from "vitest";
import { collectChecks, runByName } from "./collect-checks.ts";
import { rememberingIndexes } from "./remembering-indexes.ts";
import { wrongWithBuilds } from "./wrong-indexes/builds.ts";
import { wrongWithLeases } from "./wrong-indexes/leases.ts";
import { wrongWithQuarantine } from "./wrong-indexes/quarantine.ts";
import { wrongWithSpaces } from "./wrong-indexes/spaces.ts";
import { wrongWithUpkeep } from "./wrong-indexes/upkeep.ts";
import { wrongWithWhatIsKept } from "./wrong-indexes/kept.ts";

const wrongIndexes = [
  ...wrongWithWhatIsKept,
  ...wrongWithSpaces,
  ...wrongWithQuarantine,
  ...wrongWithBuilds,
  ...wrongWithLeases,
  ...wrongWithUpkeep,
];

describe("an index with one fault fails the check that is meant for it", () => {
  test.each(wrongIndexes.map((wrong) => [wrong.fault, wrong] as const))(
    "one that %s",
    async (_fault, { spoil, caughtBy }) => {
      const openRight = rememberingIndexes();
      const open = async (stateDir: string): Promise<ChunkIndex> => {
        const right = await openRight(stateDir);
        return { ...right, ...spoil(right) };
      };
      const checks = collectChecks((runner) => chunkIndexConformance(runner, { open, reopens: true }));
      expect((await runByName(checks, caughtBy)).result).toBe("failed");
    },
  );

  test("each fault and each check has a name of its own", () => {
    const faults = wrongIndexes.map(({ fault }) => fault);
    expect(faults.filter((fault, at) => faults.indexOf(fault) !== at)).toEqual([]);
    const open = async (): Promise<ChunkIndex> => createInMemoryIndex();
    const names = collectChecks((runner) => chunkIndexConformance(runner, { open, reopens: true })).map(
      ({ name }) => name,
    );
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test("an index that has every part passes every check", async () => {
    const checks = collectChecks((runner) =>
      chunkIndexConformance(runner, { open: rememberingIndexes(), reopens: true }),
    );
    for (const check of checks) {
      const outcome = await check.run();
      // What is embedded is known above the store: an index does not say it of a file.
      if (outcome.result === "skipped") expect(check.name).toMatch(/^embedded: /);
      else expect({ [check.name]: outcome }).toEqual({ [check.name]: { result: "passed" } });
    }
  });

  test("an index without a part skips what needs it with the reason", async () => {
    for (const part of ["revision", "builds", "leases", "upkeep"] as const) {
      const openRight = rememberingIndexes();
      const open = async (stateDir: string): Promise<ChunkIndex> => {
        const { [part]: _part, ...rest } = await openRight(stateDir);
        return rest as ChunkIndex;
      };
      const checks = collectChecks((runner) => chunkIndexConformance(runner, { open, reopens: true }));
      for (const check of checks) {
        const outcome = await check.run();
        if (outcome.result === "skipped") expect(outcome.reason).toMatch(/ says that it has no \w+$/);
        else expect({ [check.name]: outcome }).toEqual({ [check.name]: { result: "passed" } });
        if (check.name.startsWith(`${part}: `))
          expect({ [check.name]: outcome.result }).toEqual({ [check.name]: "skipped" });
      }
    }
  });

  test("a check that is known to fail is skipped with its reason, and an unknown name fails the run", async () => {
    const name = "files: a touched file that nobody has";
    const known = "files: touching a file that is not there adds none";
    const open = async (): Promise<ChunkIndex> => createInMemoryIndex();
    const deviations = [known, name].map((test) => ({ test, reason: "it is so" }));
    const checks = collectChecks((runner) => chunkIndexConformance(runner, { open, reopens: false, deviations }));
    expect(await runByName(checks, known)).toEqual({ result: "skipped", reason: "it is so" });
    const listed = await runByName(checks, "deviations: each names a check and gives a reason");
    expect(String("error" in listed && listed.error)).toContain(`there is no check named "${name}"`);
  });
});
