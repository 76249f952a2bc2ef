import assert from "node:assert/strict";
import { isAbort } from "@memslot/core";
import { type ChunkStore, spaceName } from "@memslot/indexing";
import { assertPlainData } from "../helpers/assert-plain-data.ts";
import {
  type StoreCheck,
  bothSources,
  byNumber,
  chunkOf,
  exactly,
  hashOf,
  nextTurn,
  note,
  notes,
  one,
  rowsWith,
  session,
  textsNear,
  textsWith,
  two,
} from "./store-test-environment.ts";

const next = [note("b.md", "word new b"), note("c.md", "word new c", "word other"), session("s.jsonl", "word new s")];

/** A new build beside the one that answers. */
const buildChecks: readonly StoreCheck[] = [
  {
    id: "builds.whole",
    promise: "searches during the switch find all of the old build or all of the new one",
    needs: ["build"],
    async run({ store }) {
      const oldTexts = Array.from({ length: 30 }, (_, index) => `word old ${index}`);
      await store.replaceFiles(oldTexts.map((text) => note(text, text)));
      const build = (await store.build?.("one")) ?? assert.fail("no build");
      await build.replaceFiles(next);
      const searches: Promise<string[]>[] = [textsWith(store, "word")];
      const state = { finished: false };
      const finished = build.finish().finally(() => (state.finished = true));
      while (!state.finished) {
        // One search in each turn, and no flood that keeps the build from its end.
        if (searches.length < 100) searches.push(textsWith(store, "word"));
        await nextTurn();
      }
      await finished;
      searches.push(textsWith(store, "word"));
      const newTexts = next.flatMap(({ chunks }) => chunks.map(({ text }) => text));
      const wholes = [oldTexts, newTexts].map((texts) => texts.toSorted().join());
      for (const found of await Promise.all(searches))
        assert.ok(wholes.includes(found.join()), `a mixture: ${found.join()}`);
    },
  },
];

/** The parts of one version of a file. */
const versionOf = (version: string): string[] => [1, 2, 3].map((part) => `part ${version} ${part}`);

/** Overlapping calls, closing and reopening. */
const lifecycleChecks: readonly StoreCheck[] = [
  {
    id: "lifecycle.overlap",
    promise: "overlapping searches each get their own answer",
    async run(lab) {
      const texts = Array.from({ length: 20 }, (_, index) => `word unique${index}`);
      await lab.put(...texts.map((text) => note(text, text)));
      await lab.embed(one, texts, (text) => byNumber(text.slice(11)));
      const answers = await Promise.all(
        [...texts, ...texts].map((text) =>
          Promise.all([textsWith(lab.store, text.slice(5)), textsNear(lab.store, byNumber(text.slice(11)), 1)]),
        ),
      );
      for (const [index, answer] of answers.entries())
        assert.deepEqual(answer.flat(), Array(2).fill(texts[index % 20]));
    },
  },
  {
    id: "lifecycle.whole-files",
    promise: "searches during a write find each file whole, as it was or as it is",
    async run({ store }) {
      const paths = Array.from({ length: 30 }, (_, index) => `${index}.md`);
      const versions = ["v0", "v1", "v2", "v3"];
      const wholes = versions.map((version) => versionOf(version).map(hashOf).toSorted().join());
      for (const version of versions) {
        const written = store.replaceFiles(paths.map((path) => note(path, ...versionOf(version))));
        const searches: ReturnType<typeof rowsWith>[] = [];
        const turns = version === "v0" ? 0 : 5;
        for (let turn = 0; turn < turns; turn++) {
          searches.push(rowsWith(store, "part"));
          await nextTurn();
        }
        const answers = await Promise.all(searches);
        await written;
        for (const rows of [...answers, await rowsWith(store, "part")]) {
          const byPath = Map.groupBy(rows, ({ path }) => path);
          for (const path of paths) {
            const own = (byPath.get(path) ?? []).map(({ hash }) => hash).toSorted();
            assert.ok(wholes.includes(own.join()), `${path} is found by ${own.length} chunks, not of one version`);
          }
        }
        assert.deepEqual(new Set(await textsWith(store, version)), new Set(versionOf(version)));
      }
    },
  },
  {
    id: "lifecycle.abort",
    promise: "an aborted search ends, and the next one answers",
    async run(lab) {
      await lab.put(note("a.md", "word one"));
      await lab.embed(one, ["word one"], () => byNumber("1"));
      const search = async (signal: AbortSignal): Promise<number[]> => {
        const query = { sources: bothSources, limit: 9, terms: exactly("word"), space: one, vector: byNumber("1") };
        const answers = [lab.store.searchKeyword(query, { signal }), lab.store.searchVector(query, { signal })];
        return (await Promise.all(answers)).map(({ rows }) => rows.length);
      };
      const soon = new AbortController();
      const ended = [AbortSignal.abort(), soon.signal].map((signal) => search(signal).catch((error: unknown) => error));
      soon.abort();
      for (const end of await Promise.all(ended)) if (!isAbort(end)) assert.deepEqual(end, [1, 1]);
      assert.deepEqual(await search(new AbortController().signal), [1, 1]);
    },
  },
  {
    id: "stats.plain",
    promise: "stats are plain data, count the chunks, and name the place without a key",
    async run(lab) {
      await lab.put(note("a.md", "one", "two", "two"), session("a.md", "four"), note("none.md"));
      const stats = await lab.store.stats();
      assertPlainData(stats, "stats");
      assert.ok(Number.isFinite(stats.bytes) && stats.bytes >= 0, `${stats.bytes} bytes`);
      assert.notEqual(stats.location.trim(), "");
      const secret = /:\/\/[^/@\s]*:[^/@\s]+@|(?:key|token|secret|password|signature)=[^&\s]+/iu;
      assert.doesNotMatch(stats.location, secret);
      for (const notice of stats.notices ?? []) assert.doesNotMatch(notice, /[\r\n]/u, "a notice is one line");
    },
  },
  {
    id: "compact.same-answers",
    promise: "compact frees space, changes no answer, and the store works afterwards",
    needs: ["compact"],
    async run(lab) {
      const filler = notes(200, (index) => `word filler ${index}`);
      await lab.put(...filler, note("a.md", "1", "2", "3"), note("b.md", "word old"));
      await lab.embed(one, ["1", "2", "3"]);
      await lab.put(note("b.md", "word b"));
      await lab.remove(...filler);
      const report = (await lab.store.compact?.()) ?? assert.fail("compact gave no report");
      assertPlainData(report, "the report of compact");
      const { beforeBytes, afterBytes } = report;
      assert.ok(0 <= afterBytes && afterBytes <= beforeBytes, `${beforeBytes} to ${afterBytes} bytes`);
      await lab.agree();
      await lab.put(note("after.md", "word after"));
    },
  },
  {
    id: "compact.searches",
    promise: "searches continue during compact",
    needs: ["compact"],
    async run(lab) {
      await lab.put(note("a.md", "1", "2"));
      await lab.embed(one, ["1", "2"]);
      const compacted = lab.store.compact?.();
      const search = () => Promise.all([textsWith(lab.store, "1"), textsNear(lab.store, byNumber("2"), 1)]);
      const answers = await Promise.all(Array.from({ length: 10 }, search));
      await compacted;
      for (const answer of answers) assert.deepEqual(answer, [["1"], ["2"]]);
    },
  },
];

async function revisionOf(store: ChunkStore): Promise<string> {
  return (await store.revision?.()) ?? assert.fail('the store had "revision" before and does not have it now');
}

/** The spaces in which a file has all its vectors. */
async function embeddedOf(store: ChunkStore, path: string): Promise<string[]> {
  const file = (await store.listFiles()).find((listed) => listed.path === path);
  return (file?.embedded ?? assert.fail(`${path} has no "embedded"`)).map(spaceName).toSorted();
}

/** What hosts that share a place learn of each other. */
const sharedChecks: readonly StoreCheck[] = [
  {
    id: "revision.changes",
    promise: "each change of the files, and a finished build, gives a revision that was never there before",
    needs: ["revision"],
    async run(lab) {
      const seen = [await revisionOf(lab.store)];
      const changes = [
        () => lab.put(note("a.md", "one")),
        () => lab.put(note("a.md", "two")),
        () => lab.put({ ...note("a.md", "two"), recipe: "2" }),
        () => lab.put({ ...note("a.md", "three"), fromLine: 9, chunks: [chunkOf("three", 11)] }),
        () => lab.put(note("b.md")),
        () => lab.remove("b.md"),
        () => lab.remove("a.md"),
        () => lab.put(note("a.md", "two")),
        ...(lab.store.build ? [async () => (await lab.build("next")).finish()] : []),
      ];
      for (const change of changes) {
        await change();
        seen.push(await revisionOf(lab.store));
      }
      assert.equal(new Set(seen).size, changes.length + 1, seen.join(", "));
    },
  },
  {
    id: "revision.reads",
    promise: "searches, listings and stats do not change the revision",
    needs: ["revision"],
    async run(lab) {
      await lab.put(note("a.md", "1", "2"));
      await lab.embed(one, ["1", "2"]);
      const before = await revisionOf(lab.store);
      await lab.agree();
      assert.equal(await revisionOf(lab.store), before);
    },
  },
  {
    id: "revision.reopen",
    promise: "after a reopen a change gives a revision that was never there before",
    needs: ["revision", "reopens"],
    async run(lab) {
      const seen = new Set<string>();
      for (const text of ["one", "two", "one"]) {
        await lab.put(note("a.md", text));
        seen.add(await revisionOf(lab.store));
        await lab.reopen();
      }
      assert.equal(seen.size, 3, [...seen].join(", "));
    },
  },
  {
    id: "revision.other-host",
    promise: "a change by another store on the same place is seen at once",
    needs: ["revision", "reopens"],
    async run(lab) {
      const { store } = lab;
      const other = await lab.openBeside();
      const seen = [await revisionOf(store)];
      const sees = async (from: ChunkStore, ...files: [path: string, text: string][]): Promise<void> => {
        seen.push(await revisionOf(from));
        const paths = (await from.listFiles()).map(({ path }) => path).toSorted();
        const found = [paths, await textsWith(from, "word")];
        assert.deepEqual(found, [files.map(([path]) => path), files.map(([, text]) => text)]);
      };
      await other.replaceFiles([note("a.md", "word one")]);
      await sees(store, ["a.md", "word one"]);
      assert.equal(await revisionOf(store), seen[1]);
      await store.replaceFiles([note("b.md", "word two")]);
      await sees(other, ["a.md", "word one"], ["b.md", "word two"]);
      await other.removeFiles([note("b.md")]);
      await sees(store, ["a.md", "word one"]);
      assert.equal(new Set(seen).size, 4, seen.join(", "));
    },
  },
  {
    id: "embedded.complete",
    promise: "a file lists a space if every chunk of it has its vector there, also after chunks come and go",
    needs: ["embedded"],
    async run(lab) {
      const { store } = lab;
      const listed = async () => [await embeddedOf(store, "a.md"), await embeddedOf(store, "b.md")];
      await lab.put(note("a.md", "1", "2", "2"), note("b.md", "2"));
      assert.deepEqual(await listed(), [[], []]);
      await lab.embed(one, ["2"]);
      assert.deepEqual(await listed(), [[], [spaceName(one)]]);
      await lab.embed(one, ["1"]);
      await lab.embed(two, ["1", "2"]);
      const both = [one, two].map(spaceName).toSorted();
      assert.deepEqual(await listed(), [both, both]);
      await lab.put(note("b.md", "2", "3"));
      assert.deepEqual(await embeddedOf(store, "b.md"), []);
      await lab.put({ ...note("b.md"), fromLine: 11 });
      assert.deepEqual(await embeddedOf(store, "b.md"), both);
    },
  },
  {
    id: "embedded.other-host",
    promise: "another store on the same place learns of new vectors",
    needs: ["embedded", "reopens", "revision"],
    async run(lab) {
      const { store } = lab;
      await lab.put(note("a.md", "1", "2"));
      const other = await lab.openBeside();
      await lab.embed(one, ["1", "2"]);
      assert.deepEqual(await embeddedOf(store, "a.md"), [spaceName(one)]);
      assert.deepEqual(await embeddedOf(other, "a.md"), [spaceName(one)]);
    },
  },
];

export const lifetimeChecks: readonly StoreCheck[] = [...lifecycleChecks, ...buildChecks, ...sharedChecks];
