import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { IndexedFile } from "@memslot/indexing";
import { describe, expect, test } from "vitest";
import { openLedger } from "./ledger.ts";
import { tempFolder } from "@memslot/test-tools/files";

function file(path: string, hash: string): IndexedFile {
  return { path, source: "memory", hash, mtimeMs: 1, size: 4, recipe: "r", chunks: [] };
}

const took = { updatedAt: "2026-03-01T00:00:00.000Z", updateMs: 1, empty: [] };

describe("the record of what qmd has seen", () => {
  test("tells what has changed since qmd read it, and survives being closed", () => {
    const folder = tempFolder();
    const ledger = openLedger(folder, false);
    ledger.put(file("a.md", "1"));
    ledger.put(file("b.md", "1"));
    ledger.markSeen(ledger.snapshot(), took);
    ledger.put(file("a.md", "2"));
    ledger.save();
    const again = openLedger(folder, false);
    expect(again.files().map(({ path, hash, seen }) => [path, hash, seen])).toEqual([
      ["a.md", "2", "1"],
      ["b.md", "1", "1"],
    ]);
  });

  test("a change while qmd reads is not taken as read", () => {
    const ledger = openLedger(tempFolder(), false);
    ledger.put(file("a.md", "1"));
    const before = ledger.snapshot();
    ledger.put(file("a.md", "2"));
    ledger.markSeen(before, took);
    expect(ledger.get({ path: "a.md", source: "memory" })).toMatchObject({ hash: "2", seen: "1" });
  });

  test("what is gone is known until qmd has read everything again", () => {
    const ledger = openLedger(tempFolder(), false);
    ledger.put(file("a.md", "1"));
    ledger.markSeen(ledger.snapshot(), took);
    ledger.remove({ path: "a.md", source: "memory" });
    expect(ledger.facts().gone).toEqual(["a.md"]);
    ledger.markSeen(ledger.snapshot(), took);
    expect(ledger.facts().gone).toEqual([]);
  });

  test("what goes while qmd reads stays known", () => {
    const ledger = openLedger(tempFolder(), false);
    ledger.put(file("a.md", "1"));
    const before = ledger.snapshot();
    ledger.remove({ path: "a.md", source: "memory" });
    ledger.markSeen(before, took);
    expect(ledger.facts().gone).toEqual(["a.md"]);
  });

  test("what another process has written is followed", () => {
    const folder = tempFolder();
    const [one, two] = [openLedger(folder, false), openLedger(folder, false)];
    const before = two.revision();
    one.put(file("a.md", "1"));
    one.save();
    expect(two.revision()).not.toBe(before);
    expect(two.files()).toHaveLength(1);
  });

  test.each(["", "{", "null", '{"version":2}', '{"version":1,"files":1,"gone":[]}'])(
    "a torn one (%j) is an empty one",
    (text) => {
      const folder = tempFolder();
      writeFileSync(join(folder, "files.json"), text);
      expect(openLedger(folder, false).files()).toEqual([]);
    },
  );

  test("only to look, nothing is written", () => {
    const folder = tempFolder();
    const ledger = openLedger(folder, true);
    ledger.put(file("a.md", "1"));
    ledger.save();
    expect([ledger.files().length, existsSync(join(folder, "files.json"))]).toEqual([1, false]);
  });
});
