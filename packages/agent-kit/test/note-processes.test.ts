import { test } from "vitest";
import { expectSurvivesKills, expectAllLines } from "./support/note-processes.ts";

test("three processes that edit a note and one that appends to it lose nothing of each other", async () => {
  await expectAllLines(4, 12);
});

test("a process that is killed while it edits leaves the note whole, with all finished edits, and unlocked", async () => {
  await expectSurvivesKills(1);
});
