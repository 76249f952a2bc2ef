import { expect, test } from "vitest";
import type { FileRecord } from "../index-row-types.ts";
import type { OpenedStore } from "./database-store.ts";
import { numbered, embed, fileOf, openHere, sha256, spaceOf, tempPath } from "./test/ledgers.ts";

const [one, two] = [spaceOf("one"), spaceOf("two")];
const both = ["memory", "sessions"];
const firstOf = <Item>([item]: readonly Item[]): Item => item ?? expect.fail("there is none");
const texts = numbered("number", 10);

function factsOf(path: string, more: Partial<FileRecord> = {}): FileRecord {
  const { chunks: _chunks, ...facts } = fileOf(path, []);
  return { ...facts, cursor: undefined, ...more };
}

/** Ten chunks of two files, with vectors in space one; what was there before has changed or gone. */
function live(ledger: OpenedStore): void {
  const filler = Array.from({ length: 200 }, (_, index) => fileOf(`gone/${index}.md`, [`filler ${index}`]));
  ledger.replaceFiles([...filler, fileOf("a.md", ["before"]), fileOf("b.md", texts.slice(0, 4))]);
  embed(ledger, one, "before", ...texts.slice(0, 4), ...filler.map((_, index) => `filler ${index}`));
  ledger.replaceFiles([fileOf("a.md", []), fileOf("c.jsonl", texts.slice(4), "sessions")]);
  ledger.removeFiles(filler);
  embed(ledger, one, ...texts.slice(4));
}

test("the facts of a file come back as they were given", () => {
  const ledger = openHere(tempPath());
  const path = 'memory/Ünïcode 笔记\'s "notes".md';
  const facts = factsOf(path, {
    cursor: '{"bytes":4294967296,"of":"会话 🙂\\n\'\\u0000"}',
    mtimeMs: 1_760_000_000_123.5,
  });
  ledger.replaceFiles([{ ...facts, chunks: [] }]);
  expect(ledger.listFiles()).toEqual([facts]);
  ledger.replaceFiles([{ ...facts, cursor: "2", fromLine: 5, chunks: [] }]);
  expect(ledger.listFiles()).toEqual([{ ...facts, cursor: "2" }]);
  ledger.replaceFiles([{ ...facts, cursor: undefined, chunks: [] }]);
  expect(ledger.listFiles()).toEqual([{ ...facts, cursor: undefined }]);
});

test("texts come back as they were given, however long or odd", () => {
  const ledger = openHere(tempPath());
  const odd = [
    "cafe\u0301, caf\u00e9, \ufb01ne \uff21 \u00bd \u212b",
    "before\0after, left \ud83d right",
    "one\r\ntwo\rthree\u2028four\u0085five\n",
    "  \t blanks at both ends   ",
    "\ufeffa mark, zero\u200bwidth \u200e\u202eright to left\u202c soft\u00adhyphen",
    "\u{1f469}\u200d\u{1f4bb} \u{1d518}\u{20000}",
    ...[8192, 8193, 300_000].map((size) => "long lines of text, 文字 too. ".repeat(size / 20).slice(0, size)),
  ];
  const chunks = odd.map((text, at) => ({ ...firstOf(fileOf("a", [text]).chunks), startLine: at, context: text }));
  ledger.replaceFiles([{ ...fileOf("memory/a.md", []), chunks }]);
  const rows = ledger.listChunks({ sources: ["memory"], withText: true });
  // Half of a character is nothing that UTF-8 can write.
  expect(rows.map(({ text }) => text)).toEqual(odd.map((text) => text.toWellFormed()));
  expect(rows.map(({ context }) => context)).toEqual(odd.map((text) => text.toWellFormed()));
});

test("the chunks of a scope are listed in their order, each with an id of its own, with their texts or without", () => {
  const ledger = openHere(tempPath());
  ledger.replaceFiles([
    fileOf("memory/b.md", ["same", "same"]),
    fileOf("memory/a.md", ["of a"]),
    fileOf("memory/left/c.md", ["of c"]),
    fileOf("memory/a.md", ["of another source"], "sessions"),
  ]);
  const scope = { within: ["memory/"], without: ["memory/left/"] };
  const listed = ledger.listChunks({ sources: ["memory"], scope, withText: true });
  expect(listed).toMatchObject([
    { path: "memory/a.md", source: "memory", startLine: 1, endLine: 1, text: "of a", context: "" },
    { path: "memory/b.md", startLine: 1, text: "same" },
    { path: "memory/b.md", startLine: 2, text: "same" },
  ]);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(3);
  const bare = ledger.listChunks({ sources: ["memory"], scope, withText: false });
  expect(bare).toEqual(listed.map((row) => ({ ...row, text: "" })));
  const all = ledger.listChunks({ sources: both, withText: true });
  expect(all.map(({ text }) => text)).toEqual(["of a", "of another source", "same", "same", "of c"]);
});

test("stats say which build answers and how far the next one is", () => {
  const ledger = openHere(tempPath());
  const first = ledger.stats().generation;
  expect(first?.next).toBeUndefined();
  const files = [fileOf("a.md", ["a", "b"]), fileOf("c.md", ["c"])];
  ledger.replaceFiles(files, ledger.startBuild("chunking: 笔记's"));
  const { id, next } = ledger.stats().generation ?? expect.fail("no generation");
  expect([id, next]).toMatchObject([first?.id, { name: "chunking: 笔记's", files: 2, chunks: 3 }]);
  expect(next?.id).toBeGreaterThan(id);
  ledger.finishBuild();
  expect(ledger.stats().generation).toMatchObject({ id: next?.id, builtAt: expect.any(Number) });
  expect(ledger.stats().generation?.next).toBeUndefined();
});

test("of many hashes those are known that have a vector in the space", () => {
  const ledger = openHere(tempPath());
  const many = Array.from({ length: 700 }, (_, index) => String(index));
  const known = many.filter((_, index) => index % 3 === 0);
  embed(ledger, one, ...known);
  embed(ledger, two, "1");
  const hashes = many.map(sha256);
  expect(ledger.knownVectors(one, hashes)).toEqual(known.map(sha256));
  expect([ledger.knownVectors(two, hashes), ledger.knownVectors(one, [])]).toEqual([[sha256("1")], []]);
});

test("a sample is of chunks that are there, each once, and another one each time", () => {
  const ledger = openHere(tempPath());
  expect(ledger.sample(5)).toEqual([]);
  live(ledger);
  ledger.replaceFiles([fileOf("next.md", ["next"])], ledger.startBuild("one"));
  const rows = ledger.sample(50);
  expect(rows.map(({ text }) => text).toSorted()).toEqual(texts);
  for (const { text, hash } of rows) expect(hash).toBe(sha256(text));
  const third = { path: "b.md", source: "memory", startLine: 4, endLine: 4, context: "" };
  expect(rows.find(({ text }) => text === "number 3")).toMatchObject(third);
  const seen = new Set<string>();
  // The chance that a fair draw leaves one out for so long is below 1 in 10^27.
  for (let draw = 0; draw < 200 && seen.size < texts.length; draw++) {
    const few = ledger.sample(3);
    expect(few).toHaveLength(3);
    for (const { text } of few) seen.add(text);
  }
  expect([...seen].toSorted()).toEqual(texts);
});

test("a sample of vectors is of the chunks with the lowest hashes, each text once, with its vector", () => {
  const ledger = openHere(tempPath());
  const many = numbered("text", 40);
  const lowest = many.toSorted((a, b) => (sha256(a) < sha256(b) ? -1 : 1));
  ledger.replaceFiles([fileOf("a.md", many), fileOf("b.md", many.slice(0, 5))]);
  embed(ledger, one, ...many);
  const sampled = (count: number): string[] => ledger.sampleVectors(one, count).map(({ text }) => text);
  expect([sampled(7), sampled(7), sampled(1000)]).toEqual([lowest.slice(0, 7), lowest.slice(0, 7), lowest]);
});
