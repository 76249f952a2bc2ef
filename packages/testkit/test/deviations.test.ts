import { describe, expect, test } from "vitest";
import { type Deviation, chunkStoreConformance, createInMemoryStore } from "@memslot/testkit";
import { type CheckOutcome, collectChecks, runByName } from "./collect-checks.ts";

const listCheck = "deviations: each names a check and gives a reason";
const known = "files: a file without chunks is held";

async function run(name: string, deviations: readonly Deviation[]): Promise<CheckOutcome> {
  const checks = collectChecks((runner) =>
    chunkStoreConformance(runner, { open: async () => createInMemoryStore(), reopens: false, deviations }),
  );
  return runByName(checks, name);
}

describe("deviations", () => {
  test("a listed check is skipped with its reason", async () => {
    const deviations = [{ test: known, reason: "empty files are not kept, see issue 12" }];
    expect(await run(known, deviations)).toEqual({
      result: "skipped",
      reason: "empty files are not kept, see issue 12",
    });
    expect(await run(listCheck, deviations)).toEqual({ result: "passed" });
  });

  test("a listed check does not run", async () => {
    let opened = 0;
    const open = async (): Promise<never> => {
      opened++;
      throw new Error("it ran");
    };
    const checks = collectChecks((runner) =>
      chunkStoreConformance(runner, { open, reopens: false, deviations: [{ test: known, reason: "known" }] }),
    );
    await runByName(checks, known);
    expect(opened).toBe(0);
  });

  test("an unknown name fails the run and lists the names there are", async () => {
    const outcome = await run(listCheck, [{ test: "files: no such check", reason: "none" }]);
    expect(outcome.result).toBe("failed");
    expect(String("error" in outcome && outcome.error)).toContain('there is no check named "files: no such check"');
    expect(String("error" in outcome && outcome.error)).toContain(known);
  });

  test("a deviation without a reason fails the run", async () => {
    expect((await run(listCheck, [{ test: known, reason: "  " }])).result).toBe("failed");
  });

  test("a deviation that is listed twice fails the run", async () => {
    expect(
      (
        await run(listCheck, [
          { test: known, reason: "one" },
          { test: known, reason: "two" },
        ])
      ).result,
    ).toBe("failed");
  });

  test("other checks run as ever", async () => {
    expect(
      await run("files: a replaced file leaves nothing of its old chunks", [{ test: known, reason: "known" }]),
    ).toEqual({ result: "passed" });
  });
});
