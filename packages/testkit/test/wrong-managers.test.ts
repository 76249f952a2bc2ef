import { afterAll, afterEach, describe, expect, test } from "vitest";
import { memoryConformance } from "@memslot/testkit";
import { collectChecks, runByName } from "./collect-checks.ts";
import { readingAlong } from "./wrong-managers/audience.ts";
import { inexact } from "./wrong-managers/inexact.ts";
import { closeLeaked, living } from "./wrong-managers/living.ts";
import { endLeft, mannerless, opening } from "./wrong-managers/mannerless.ts";
import { misplacing } from "./wrong-managers/places.ts";
import { reading } from "./wrong-managers/reading.ts";
import { searching } from "./wrong-managers/searching.ts";
import { syncing } from "./wrong-managers/syncing.ts";
import { tellingTales } from "./wrong-managers/unseen.ts";
import { upkeeping } from "./wrong-managers/upkeeping.ts";
import { pluginOf } from "./wrong-managers/wrong-manager.ts";

const wrongManagers = [
  ...searching,
  ...inexact,
  ...reading,
  ...syncing,
  ...readingAlong,
  ...upkeeping,
  ...living,
  ...opening,
  ...mannerless,
  ...tellingTales,
  ...misplacing,
];

afterAll(closeLeaked);
afterEach(endLeft);

describe("a manager with one fault fails the check that is meant for it", () => {
  test.each(wrongManagers.map((wrong) => [wrong.fault, wrong] as const))("one that %s", async (_fault, wrong) => {
    const checks = collectChecks((runner) => memoryConformance(runner, { plugin: pluginOf(wrong), patienceMs: 1500 }));
    const outcome = await runByName(checks, wrong.caughtBy);
    expect(outcome.result).toBe("failed");
  });

  test("there is a good dozen of them, each with a fault of its own", () => {
    expect(new Set(wrongManagers.map(({ fault }) => fault)).size).toBe(wrongManagers.length);
    expect(wrongManagers.length).toBeGreaterThanOrEqual(12);
  });
});
