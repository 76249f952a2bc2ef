import { describe, expect, test } from "vitest";
import type { FileRecord, IndexedFile } from "../index-records.ts";
import type { VectorSpace } from "../chunk-store.ts";
import type { OpenedStore } from "./database-store.ts";
import { edit, embed, fileOf, openHere, sha256, spaceOf, tempPath } from "./test/ledgers.ts";

const [one, two] = [spaceOf("one"), spaceOf("two")];
const both = ["memory", "sessions"];
const firstOf = <Item>([item]: readonly Item[]): Item => item ?? expect.fail("there is none");
const texts = Array.from({ length: 10 }, (_, index) => `number ${index}`);

function factsOf(path: string, more: Partial<FileRecord> = {}): FileRecord {
  const { chunks: _chunks, ...facts } = fileOf(path, []);
  return { ...facts, cursor: undefined, ...more };
}

function pending(ledger: OpenedStore, space: VectorSpace, limit = 100): string[] {
  return ledger
    .pendingVectors(space, limit)
    .map(({ text }) => text)
    .toSorted();
}

const places = (ledger: OpenedStore): string[] =>
  ledger.quarantined(one, 100).map(({ path, startLine }) => `${path}:${startLine}`);

/** Starts a build that holds these files. */
function build(ledger: OpenedStore, name: string, ...files: IndexedFile[]): number {
  const number = ledger.startBuild(name);
  ledger.replaceFiles(files, number);
  return number;
}

/** `second` is in two files, and is refused in space one. */
function refuseOne(ledger: OpenedStore): void {
  ledger.replaceFiles([fileOf("b.md", ["first", "second"]), fileOf("a.md", ["second", "third"])]);
  ledger.quarantine(one, [{ hash: sha256("second"), reason: "it is too long" }]);
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

/** A promise of the ledger: its sentence, and what shows that it is kept. */
type Promises = Record<string, (ledger: OpenedStore, reopen: () => OpenedStore) => void | Promise<void>>;

const files: Promises = {
  "the facts of a file come back as they were given"(ledger) {
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
  },
  "touching a file changes its facts and its revision, keeps its chunks, and adds no file"(ledger) {
    ledger.replaceFiles([fileOf("a.md", ["one"])]);
    const before = ledger.revision();
    const { hash } = fileOf("a.md", ["one"]);
    const touched = factsOf("a.md", { hash, mtimeMs: 5000.25, cursor: "9" });
    ledger.touchFiles([touched, factsOf("ghost.md")]);
    expect(ledger.listFiles()).toEqual([touched]);
    expect(ledger.listChunks({ sources: both, withText: true }).map(({ text }) => text)).toEqual(["one"]);
    expect(ledger.revision()).not.toBe(before);
  },
  "texts come back as they were given, however long or odd"(ledger) {
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
  },
  "the chunks of a scope are listed in their order, each with an id of its own, with their texts or without"(ledger) {
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
  },
  "files, chunks and their bytes are counted, in all and by source"(ledger) {
    ledger.replaceFiles([
      { ...fileOf("a.md", ["one", "two"]), size: 1000 },
      { ...fileOf("b.md", ["笔记🙂"]), size: 30 },
      { ...fileOf("a.md", ["four"], "sessions"), size: 7_000_000_000 },
    ]);
    expect(ledger.stats()).toMatchObject({ files: 3, chunks: 4, cachedVectors: 0, cachedVectorBytes: 0 });
    expect(ledger.stats().sources).toEqual([
      { source: "memory", files: 2, chunks: 3, bytes: 1030, chunkBytes: 16 },
      { source: "sessions", files: 1, chunks: 1, bytes: 7_000_000_000, chunkBytes: 4 },
    ]);
  },
};

const builds: Promises = {
  "stats say which build answers and how far the next one is"(ledger) {
    const first = ledger.stats().generation;
    expect(first?.next).toBeUndefined();
    build(ledger, "chunking: 笔记's", fileOf("a.md", ["a", "b"]), fileOf("c.md", ["c"]));
    const { id, next } = ledger.stats().generation ?? expect.fail("no generation");
    expect([id, next]).toMatchObject([first?.id, { name: "chunking: 笔记's", files: 2, chunks: 3 }]);
    expect(next?.id).toBeGreaterThan(id);
    ledger.finishBuild();
    expect(ledger.stats().generation).toMatchObject({ id: next?.id, builtAt: expect.any(Number) });
    expect(ledger.stats().generation?.next).toBeUndefined();
  },
  "pending texts are those of both builds, each hash once, and are counted apart"(ledger) {
    ledger.replaceFiles([fileOf("a.md", ["1", "2"])]);
    expect(ledger.spaceStats(one)).toEqual({ embedded: 0, pending: 2, quarantined: 0 });
    build(ledger, "one", fileOf("a.md", ["2", "3", "4"]), fileOf("b.md", ["4"]));
    expect([pending(ledger, one), pending(ledger, one, 3).length]).toEqual([["1", "2", "3", "4"], 3]);
    expect(ledger.spaceStats(one)).toEqual({ embedded: 0, pending: 2, quarantined: 0, nextPending: 4 });
    embed(ledger, one, "3");
    expect([pending(ledger, one), ledger.spaceStats(one).nextPending]).toEqual([["1", "2", "4"], 3]);
    ledger.abandonBuild();
    expect([pending(ledger, one), ledger.spaceStats(one).nextPending]).toEqual([["1", "2"], undefined]);
  },
  "a refused text stays refused over a build, and is forgotten with the build that alone had it"(ledger) {
    ledger.replaceFiles([fileOf("a.md", ["1", "2"])]);
    build(ledger, "one", fileOf("a.md", ["2", "3"]));
    ledger.quarantine(
      one,
      ["1", "2", "3"].map((text) => ({ hash: sha256(text), reason: `no ${text}` })),
    );
    expect(ledger.spaceStats(one)).toEqual({ embedded: 0, pending: 0, quarantined: 2, nextPending: 0 });
    ledger.finishBuild();
    expect(ledger.quarantined(one, 9).map(({ reason }) => reason)).toEqual(["no 2", "no 3"]);
    ledger.replaceFiles([fileOf("a.md", ["1", "2", "3"])]);
    expect(pending(ledger, one)).toEqual(["1"]);
  },
};

const vectors: Promises = {
  "a chunk without a vector is pending with its context, each hash once, and in each space by itself"(ledger) {
    const chunks = fileOf("a.md", ["1", "2", "2"]).chunks.map((chunk) => ({ ...chunk, context: "Heading" }));
    ledger.replaceFiles([{ ...fileOf("a.md", []), chunks }, fileOf("b.md", ["2"])]);
    const asText = (text: string) => ({ hash: sha256(text), context: "Heading", text });
    expect(ledger.pendingVectors(one, 9).toSorted((a, b) => (a.text < b.text ? -1 : 1))).toEqual(
      ["1", "2"].map(asText),
    );
    expect(ledger.pendingVectors(one, 1)).toHaveLength(1);
    embed(ledger, one, "1");
    embed(ledger, two, "2");
    expect([pending(ledger, one), pending(ledger, two)]).toEqual([["2"], ["1"]]);
    expect(ledger.spaceStats(one)).toEqual({ embedded: 1, pending: 3, quarantined: 0 });
    for (const other of [
      { ...one, providerKey: "another task" },
      { ...one, dimensions: 9 },
    ])
      expect(pending(ledger, other)).toEqual(["1", "2"]);
    embed(ledger, one, "2");
    expect(ledger.spaceStats(one), "chunks that have a vector, not vectors").toMatchObject({ embedded: 4, pending: 0 });
  },
  "of many hashes those are known that have a vector in the space"(ledger) {
    const many = Array.from({ length: 700 }, (_, index) => String(index));
    const known = many.filter((_, index) => index % 3 === 0);
    embed(ledger, one, ...known);
    embed(ledger, two, "1");
    const hashes = many.map(sha256);
    expect(ledger.knownVectors(one, hashes)).toEqual(known.map(sha256));
    expect([ledger.knownVectors(two, hashes), ledger.knownVectors(one, [])]).toEqual([[sha256("1")], []]);
  },
  "with a scope, chunks are counted within it"(ledger) {
    ledger.replaceFiles([
      fileOf("shared/a.md", ["1", "2", "3", "4"]),
      fileOf("shared/own/a.md", ["1", "5"]),
      fileOf("memory/a.md", ["1", "2", "6"]),
      fileOf("shared/a.md", ["1", "7"], "sessions"),
    ]);
    embed(ledger, one, "1");
    ledger.quarantine(one, [{ hash: sha256("2"), reason: "no" }]);
    const scope = { within: ["shared/"], without: ["shared/own/"] };
    const within = ledger.spaceStats(one, { sources: ["memory"], scope });
    expect(within).toEqual({ embedded: 1, pending: 2, quarantined: 1 });
    expect(ledger.spaceStats(one, { sources: both, scope })).toMatchObject({ embedded: 2, pending: 3 });
  },
};

const quarantine: Promises = {
  "a refused text is not pending, and is listed with every place it stands at"(ledger, reopen) {
    refuseOne(ledger);
    ledger.quarantine(one, [{ hash: sha256("second"), reason: "another reason" }]);
    const again = reopen();
    expect(pending(again, one)).toEqual(["first", "third"]);
    const chunk = { hash: sha256("second"), source: "memory", reason: "another reason" };
    expect(again.quarantined(one, 10)).toEqual([
      { ...chunk, path: "a.md", startLine: 1, endLine: 1 },
      { ...chunk, path: "b.md", startLine: 2, endLine: 2 },
    ]);
    expect(again.quarantined(one, 1)).toHaveLength(1);
  },
  "it is of one space alone, and ends with a vector or when it is released there"(ledger) {
    refuseOne(ledger);
    embed(ledger, two, "first", "second", "third");
    ledger.releaseQuarantine(two);
    expect([ledger.quarantined(two, 9), places(ledger)]).toEqual([[], ["a.md:1", "b.md:2"]]);
    ledger.quarantine(one, [{ hash: sha256("first"), reason: "it too" }]);
    embed(ledger, one, "second");
    expect([places(ledger), ledger.spaceStats(one)]).toEqual([["b.md:1"], { embedded: 2, pending: 1, quarantined: 1 }]);
    ledger.releaseQuarantine(one);
    expect(pending(ledger, one)).toEqual(["first", "third"]);
  },
  "it is forgotten for texts that are gone or changed, and kept for those that stay"(ledger) {
    refuseOne(ledger);
    ledger.quarantine(one, [{ hash: sha256("first"), reason: "it too" }]);
    ledger.replaceFiles([fileOf("b.md", ["changed", "first"])]);
    expect(places(ledger), "an unchanged text of a replaced file stays").toEqual(["a.md:1", "b.md:2"]);
    ledger.replaceFiles([fileOf("b.md", ["second"])]);
    ledger.removeFiles([fileOf("a.md", [])]);
    expect(places(ledger), "so does one that stands in another file still").toEqual(["b.md:1"]);
    ledger.removeFiles([fileOf("b.md", [])]);
    ledger.replaceFiles([fileOf("c.md", ["first", "second"])]);
    expect([places(ledger), pending(ledger, one)]).toEqual([[], ["first", "second"]]);
  },
  "embedded, pending and refused chunks are all the chunks there are"(ledger) {
    refuseOne(ledger);
    embed(ledger, one, "first");
    ledger.quarantine(one, [
      { hash: sha256("first"), reason: "it has a vector" },
      { hash: sha256("of no chunk"), reason: "it is not there" },
    ]);
    expect(ledger.spaceStats(one)).toEqual({ embedded: 1, pending: 1, quarantined: 2 });
    expect(ledger.spaceStats(two)).toEqual({ embedded: 0, pending: 4, quarantined: 0 });
    expect(places(ledger)).toEqual(["a.md:1", "b.md:2"]);
  },
};

const upkeep: Promises = {
  "a sample is of chunks that are there, each once, and another one each time"(ledger) {
    expect(ledger.sample(5)).toEqual([]);
    live(ledger);
    build(ledger, "one", fileOf("next.md", ["next"]));
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
  },
};

describe.each(Object.entries({ files, builds, vectors, quarantine, upkeep }))("%s", (_part, promises) => {
  test.each(Object.entries(promises))("%s", async (_promise, holds) => {
    const path = tempPath();
    let ledger = openHere(path);
    try {
      await holds(ledger, () => {
        ledger.close();
        return (ledger = openHere(path));
      });
    } finally {
      ledger.close();
    }
    expect(edit(path, (db) => db.pragma("integrity_check", { simple: true }))).toBe("ok");
  });
});
