import { test } from "vitest";
import { checkKills, checkManyWriters } from "./support/note-processes.ts";

test("three processes that edit a note and one that appends to it lose nothing of each other", async () => {
  await checkManyWriters(4, 12);
});

test("a process that is killed while it edits leaves the note whole, with all finished edits, and unlocked", async () => {
  await checkKills(1);
});
