import assert from "node:assert/strict";
import type { ChunkStore, PathScope, ScoredChunk } from "@memslot/indexing";
import { type StoreCheck, bothSources, exactly, fileOf } from "./lab.ts";
import { dimensions, embed, one, vectorOf } from "./vectors/vector-lab.ts";

/** One way to search, made so that it finds every chunk, those with `near` in them first. */
interface Leg {
  name: "keyword" | "vector";
  prepare(store: ChunkStore, texts: readonly string[]): Promise<void>;
  find(
    store: ChunkStore,
    options: { scope?: PathScope; sources: readonly string[]; limit: number },
  ): Promise<readonly ScoredChunk[]>;
}

const near = vectorOf(1, dimensions);
const far = vectorOf(2, dimensions);

const legs: readonly Leg[] = [
  {
    name: "keyword",
    prepare: async () => undefined,
    find: async (store, options) => (await store.searchKeyword({ terms: exactly("word", "near"), ...options })).rows,
  },
  {
    name: "vector",
    prepare: (store, texts) => embed(store, one, texts, (text) => (text.includes("near") ? near : far)),
    find: async (store, options) => (await store.searchVector({ space: one, vector: near, ...options })).rows,
  },
];

/** Paths that break patterns, quoting and ranges, each with neighbours that it is easily taken for. */
const hostilePaths: readonly string[] = [
  "memory/a_b.md",
  "memory/axb.md",
  "memory/A_B.md",
  "memory/50%/note.md",
  "memory/50 and more/note.md",
  'memory/it\'s "quoted".md',
  "memory/back\\slash.md",
  "memory/line\nbreak.md",
  "memory/[a-z]*?.md",
  "memory/q*.md",
  "memory/🙂/deep/note.md",
  "memory/🙂.md",
  "memory/\u{10ffff}.md",
  "memory/\uffff.md",
  "memory",
  "memory.md",
  "memory2/a.md",
  "memory0",
  "Memory/a_b.md",
  "mémoire/é.md",
  "me\u0301moire/e\u0301.md",
  " ",
  "'; DROP TABLE files; --",
  "/absolute/a.md",
];

/** Written down again, so that a fault of what stores are given for it is caught. */
function isIn(path: string, { within, without }: PathScope): boolean {
  const isAt = (place: string): boolean =>
    place === "" || path === place || (place.endsWith("/") && path.startsWith(place));
  return within.some(isAt) && !without.some(isAt);
}

/** What a scope is. */
const placeChecks = ({ name, prepare, find }: Leg): StoreCheck[] => [
  {
    name: `${name}: a scope finds what is within and not without, by path and by folder`,
    async run({ store }) {
      const paths = [
        "MEMORY.md",
        "USER.md",
        "memory/a.md",
        "memory/b/c.md",
        "memoryless.md",
        "notes/d.md",
        "notes/e.md",
      ];
      await store.replaceFiles(paths.map((path) => fileOf(path, ["word"])));
      await prepare(store, ["word"]);
      const found = async (within: string[], without: string[] = []): Promise<string[]> => {
        const rows = await find(store, { scope: { within, without }, sources: ["memory"], limit: 50 });
        return rows.map((row) => row.path).toSorted();
      };
      assert.deepEqual(await found([""]), paths, "the empty path is everything");
      assert.deepEqual(await found([]), [], "within nothing there is nothing");
      assert.deepEqual(await found(["memory/"]), ["memory/a.md", "memory/b/c.md"]);
      assert.deepEqual(await found(["memory"]), [], "a folder is named with its slash");
      assert.deepEqual(await found(["mem/", "memory/b/", "USER.md"]), ["USER.md", "memory/b/c.md"]);
      assert.deepEqual(await found(["notes/d.md"]), ["notes/d.md"]);
      assert.deepEqual(await found([""], ["MEMORY.md", "USER.md", "memory/"]), [
        "memoryless.md",
        "notes/d.md",
        "notes/e.md",
      ]);
      assert.deepEqual(await found(["notes/"], ["notes/d.md"]), ["notes/e.md"]);
      assert.deepEqual(await found(["notes/d.md"], ["notes/"]), [], "what is without stays out");
      assert.deepEqual(await found([""], [""]), []);
    },
  },
  {
    name: `${name}: a scope takes paths as they are written, whatever they hold`,
    async run({ store }) {
      await store.replaceFiles(hostilePaths.map((path) => fileOf(path, ["word"])));
      await prepare(store, ["word"]);
      const folders = hostilePaths.flatMap((path) =>
        [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)),
      );
      for (const place of new Set([...hostilePaths, ...folders])) {
        for (const scope of [
          { within: [place], without: [] },
          { within: [""], without: [place] },
        ]) {
          const rows = await find(store, { scope, sources: ["memory"], limit: 100 });
          assert.deepEqual(
            rows.map((row) => row.path).toSorted(),
            hostilePaths.filter((path) => isIn(path, scope)).toSorted(),
            JSON.stringify(scope),
          );
        }
      }
    },
  },
];

/** What it does with the rest of a search. */
const narrowingChecks = ({ name, prepare, find }: Leg): StoreCheck[] => [
  {
    name: `${name}: a scope is filtered before the limit`,
    async run({ store }) {
      const texts = Array.from({ length: 600 }, (_, index) => `word near near ${index}`);
      const better = texts.map((text, index) => fileOf(`memory/${index}.md`, [text]));
      const wanted = "a word among a good many others that make this text long";
      await store.replaceFiles([...better, fileOf("shared/a.md", [wanted])]);
      await prepare(store, [...texts, wanted]);
      for (const scope of [
        { within: ["shared/"], without: [] },
        { within: [""], without: ["memory/"] },
      ]) {
        const rows = await find(store, { scope, sources: ["memory"], limit: 1 });
        assert.deepEqual(
          rows.map((row) => row.path),
          ["shared/a.md"],
        );
      }
    },
  },
  {
    name: `${name}: a scope narrows the sources that are asked, and adds none`,
    async run({ store }) {
      await store.replaceFiles([
        fileOf("a/1.md", ["word"]),
        fileOf("b/1.md", ["word"]),
        fileOf("a/1.md", ["word"], { source: "sessions" }),
      ]);
      await prepare(store, ["word"]);
      const found = async (sources: readonly string[]): Promise<string[]> => {
        const rows = await find(store, { scope: { within: ["a/"], without: [] }, sources, limit: 9 });
        return rows.map(({ source, path }) => `${source} ${path}`).toSorted();
      };
      assert.deepEqual(await found(["memory"]), ["memory a/1.md"]);
      assert.deepEqual(await found(["sessions"]), ["sessions a/1.md"]);
      assert.deepEqual(await found(bothSources), ["memory a/1.md", "sessions a/1.md"]);
    },
  },
  {
    name: `${name}: a scope may name thousands of places`,
    async run({ store }) {
      await store.replaceFiles([fileOf("in/7.md", ["word"]), fileOf("in/8.md", ["word"]), fileOf("x.md", ["word"])]);
      await prepare(store, ["word"]);
      const within = Array.from({ length: 3000 }, (_, index) => `in/${index}.md`);
      const without = Array.from({ length: 3000 }, (_, index) => `in/${index + 8}.md`);
      const rows = await find(store, { scope: { within, without }, sources: ["memory"], limit: 9 });
      assert.deepEqual(
        rows.map((row) => row.path),
        ["in/7.md"],
      );
    },
  },
];

/** What a store does when a search is narrowed to some files. */
export const scopeChecks: readonly StoreCheck[] = legs.flatMap((leg) => [...placeChecks(leg), ...narrowingChecks(leg)]);
