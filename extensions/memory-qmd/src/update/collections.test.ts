import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Collection, collectionsOf, everyNote } from "./collections.ts";

let workspaceDir: string;

beforeEach(() => {
  workspaceDir = mkdtempSync(path.join(tmpdir(), "memslot-collections-"));
  writeFileSync(path.join(workspaceDir, "Heat pump.md"), "note\n");
});

afterEach(() => rmSync(workspaceDir, { recursive: true, force: true }));

/** What is read of the workspace whole, and whether it counts as shared. */
function ofWorkspace(notes: "auto" | "agent" | "all", includeDefaultMemory = true): Pick<Collection, "isExtra">[] {
  const input = { workspaceDir, extraPaths: [], named: [], sessionsFolder: undefined, passedOver: [] };
  return collectionsOf({ ...input, includeDefaultMemory, notes: { notes } })
    .filter(({ root, pattern }) => root === workspaceDir && pattern === everyNote)
    .map(({ isExtra }) => ({ isExtra }));
}

test("a folder of notes is read whole, as the owner's own", () => {
  expect(ofWorkspace("auto")).toEqual([{ isExtra: false }]);
  expect(ofWorkspace("agent")).toEqual([]);
  expect(ofWorkspace("all", false)).toEqual([]);
  mkdirSync(path.join(workspaceDir, "memory"));
  expect(ofWorkspace("auto")).toEqual([]);
  expect(ofWorkspace("all")).toEqual([{ isExtra: false }]);
});
