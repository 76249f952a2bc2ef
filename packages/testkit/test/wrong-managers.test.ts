import { afterAll, afterEach, describe, expect, test } from "vitest";
import { memoryConformance } from "@memslot/testkit";
import { expectFailure } from "./collect-checks.ts";
import { inexact, reading, searching } from "./wrong-managers/answers.ts";
import { readingAlong, tellingTales } from "./wrong-managers/audience.ts";
import { misplacing, syncing, upkeeping } from "./wrong-managers/keeping.ts";
import { closeLeaked, endLeft, living, mannerless, opening } from "./wrong-managers/process.ts";
import { rowsOf, wrongPlugin } from "./wrong.ts";

const answers = rowsOf(searching, inexact, reading, readingAlong, tellingTales);
const wrongManagers = [...answers, ...rowsOf(syncing, upkeeping, misplacing, living, opening, mannerless)];

afterAll(closeLeaked);
afterEach(endLeft);

describe("a manager with one fault fails the check that is meant for it", () => {
  test.each(wrongManagers)("one that %s", async (_fault, caughtBy, spoil) => {
    const plugin = wrongPlugin(spoil);
    await expectFailure((runner) => memoryConformance(runner, { plugin, patienceMs: 1500 }), caughtBy);
  });

  test("each has a fault of its own", () => {
    const faults = wrongManagers.map(([fault]) => fault);
    expect(faults.filter((fault, index) => faults.indexOf(fault) !== index)).toEqual([]);
  });
});
