import { expect, test } from "vitest";
import { fileOf, openHere, sha256, tempPath } from "../test/ledgers.ts";

test("rows are given in the order in which they were found, of the build that answers, and strange ones left out", async () => {
  const store = openHere(tempPath());
  store.replaceFiles([fileOf("a.md", ["one", "two"]), fileOf("a.md", ["one"], "sessions")]);
  const found = (path: string, text: string, startLine: number, score: number, source = "memory") => ({
    path,
    source,
    startLine,
    hash: sha256(text),
    score,
  });
  const rows = store.rowsOf([
    found("a.md", "two", 2, 3),
    found("a.md", "two", 1, 2.5),
    found("b.md", "one", 1, 2.4),
    found("a.md", "changed", 1, 2),
    found("a.md", "one", 1, 1, "sessions"),
    found("a.md", "one", 1, 0.5),
  ]);
  expect(
    rows.map(({ source, startLine, endLine, text, context, score }) => [
      source,
      startLine,
      endLine,
      text,
      context,
      score,
    ]),
  ).toEqual([
    ["memory", 2, 2, "two", "", 3],
    ["sessions", 1, 1, "one", "", 1],
    ["memory", 1, 1, "one", "", 0.5],
  ]);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(3);
  store.nextReplaceFiles(store.buildStart("v2"), [fileOf("a.md", ["new"])]);
  expect(store.rowsOf([found("a.md", "new", 1, 1)])).toEqual([]);
  store.buildFinish();
  expect(store.rowsOf([found("a.md", "new", 1, 1), found("a.md", "two", 2, 1)])).toMatchObject([{ text: "new" }]);
  store.close();
});

test("two chunks that begin in one line are told apart by their hash", async () => {
  const store = openHere(tempPath());
  const file = fileOf("a.md", ["first half", "second half"]);
  store.replaceFiles([{ ...file, chunks: file.chunks.map((chunk) => ({ ...chunk, startLine: 1, endLine: 1 })) }]);
  const found = { path: "a.md", source: "memory", startLine: 1, hash: sha256("second half"), score: 1 };
  expect(store.rowsOf([found])).toMatchObject([{ text: "second half" }]);
  store.close();
});
