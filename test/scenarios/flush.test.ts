import { rmSync, writeFileSync } from "node:fs";
import type { FlushTurn } from "@memslot/agent-kit";
import { describe, expect, test } from "vitest";
import {
  expectJournaled,
  journalIds,
  long,
  noteAll,
  notesOf,
  sessionRecord,
  startFlushHost,
} from "../support/flush-host.ts";
import { flushModels, runFlushStorm } from "../support/flush-storm.ts";
import { useHouse } from "../support/house.ts";
import { canMount, runOnReadOnlyNotes } from "../support/read-only.ts";
import data from "../data/flush.json" with { type: "json" };

test.each(["obeys well", "one useless note", "writes, then fails", "stops in the middle"])(
  "with a model that %s, no fact of a conversation is lost or noted twice",
  async (model) => {
    expect(flushModels).toHaveProperty([model]);
    const facts = 12;
    const { dropped, inNotes, found, lost, repeated } = await runFlushStorm(0, model, facts);
    expect(dropped).toBeGreaterThan(facts / 2);
    expect({ lost, repeated }).toEqual({ lost: [], repeated: [] });
    expect(inNotes + found).toBe(dropped);
  },
);

describe("notes that cannot be written", () => {
  test("are reported, and every message is in the journal, and noted when they can be", async () => {
    const house = useHouse();
    const runTurn: FlushTurn = async (turn) => {
      await noteAll(turn);
      return "NO_REPLY";
    };
    const host = await startFlushHost({ house, timeZone: "UTC", runTurn, clock: () => new Date() });
    house.remove("memory");
    writeFileSync(house.at("memory"), "not a folder");
    for (let index = 0; index < 3; index++) await host.ask(long(12_000, `word${index}`));
    const report = await host.flush.settled();
    expect(host.dropped).not.toEqual([]);
    expect(report).toMatchObject({ state: "skipped", reason: expect.stringContaining("cannot be written") as string });
    expect(sessionRecord(house)["memoryFlushError"]).toBe(report?.reason);
    expectJournaled(host, house);
    expect(host.shown).toHaveLength(3);
    rmSync(house.at("memory"));
    host.flush.retry();
    expect(await host.flush.settled()).toMatchObject({ state: "done" });
    expect(sessionRecord(house)).not.toHaveProperty("memoryFlushError");
    expect(journalIds(house)).toEqual([]);
  });

  test.runIf(canMount())("on a read-only mount", () => {
    const house = useHouse({ "MEMORY.md": "- Kept for ever.\n" });
    const reports = runOnReadOnlyNotes(house, data.readOnlyFlush.join("\n"));
    const reason: unknown = expect.stringMatching(/cannot be written.*(?:EROFS|read-only)/);
    expect(reports).toMatchObject([
      { state: "skipped", reason },
      { state: "skipped", reason },
    ]);
    expect(journalIds(house)).toHaveLength(1);
    expect(notesOf(house)).toEqual(new Map([["MEMORY.md", "- Kept for ever.\n"]]));
  });
});
