import assert from "node:assert/strict";
import type { IndexFinding } from "@memslot/core";
import type { ChunkIndex } from "@memslot/indexing";
import { cosine } from "../helpers/cosine.ts";
import { assertPlainData } from "../helpers/plain-data.ts";
import { type StoreCheck, bothSources, exactly, factsIn, fileOf, partOf, sha256 } from "./lab.ts";
import { byNumber, dimensions, embedAll, one, textsNear, two } from "./vectors/vector-lab.ts";

const texts = Array.from({ length: 10 }, (_, index) => `word number ${index}`);

/** Some files, some of them changed and removed again, with vectors where the store has them. */
async function live(store: ChunkIndex): Promise<void> {
  const filler = Array.from({ length: 200 }, (_, index) => fileOf(`gone/${index}.md`, [`filler ${index}`]));
  await store.replaceFiles([...filler, fileOf("a.md", ["word before"]), fileOf("b.md", texts.slice(0, 4))]);
  if (store.health().vector.enabled) {
    await store.useSpace(one);
    await embedAll(store, one, numberOf);
  }
  await store.replaceFiles([fileOf("a.md", []), fileOf("c.jsonl", texts.slice(4), { source: "sessions" })]);
  await store.removeFiles(filler);
  if (store.health().vector.enabled) await embedAll(store, one, numberOf);
}

const numberOf = (text: string): Float32Array => byNumber(text.split(" ").at(-1) ?? "0");

/** What a caller can ask, apart from the names of the chunks. */
async function answersOf(store: ChunkIndex): Promise<unknown> {
  const { fts, vector } = store.health();
  const query = { terms: exactly("word", "3", "filler"), sources: bothSources, limit: 20 };
  const { rows, ...counts } = fts.enabled ? await store.searchKeyword(query) : { rows: [] };
  return {
    files: await factsIn(store),
    counts,
    rows: rows.map(({ id: _id, score: _score, ...row }) => row),
    near: vector.enabled ? await textsNear(store, one, byNumber("7"), 20) : [],
  };
}

function assertFine(findings: readonly IndexFinding[]): void {
  assertPlainData(findings, "findings");
  assert.notEqual(findings.length, 0, "a check that looks at nothing shows nothing");
  for (const { name, ok, message } of findings) {
    assert.ok(ok, `${name}: ${message}`);
    assert.ok(name !== "" && message !== "", "a finding has a name and says what was looked at");
  }
}

/** What a store does for its own health. */
export const upkeepChecks: readonly StoreCheck[] = [
  {
    name: "upkeep: a healthy store passes its own check, empty, in use, and while a build is being made",
    needs: ["upkeep"],
    async run({ store }) {
      const upkeep = partOf(store, "upkeep");
      assertFine(await upkeep.check());
      await live(store);
      assertFine(await upkeep.check());
      if (store.builds === undefined) return;
      await (await store.builds.start("one")).replaceFiles([fileOf("d.md", ["word next"])]);
      assertFine(await upkeep.check());
      await store.builds.finish();
      assertFine(await upkeep.check());
    },
  },
  {
    name: "upkeep: repair mends nothing on a healthy store and changes no answer",
    needs: ["upkeep"],
    async run({ store }) {
      await live(store);
      const before = await answersOf(store);
      const findings = await partOf(store, "upkeep").repair();
      assertFine(findings);
      assert.deepEqual(
        findings.filter(({ fixed }) => fixed !== undefined),
        [],
      );
      assert.deepEqual(await answersOf(store), before);
    },
  },
  {
    name: "upkeep: compact gives space back, changes no answer, and leaves the store fit for use",
    needs: ["upkeep"],
    async run({ store }) {
      await live(store);
      const before = await answersOf(store);
      const { beforeBytes, afterBytes } = await partOf(store, "upkeep").compact();
      assert.ok(Number.isFinite(beforeBytes) && afterBytes >= 0, `${beforeBytes} to ${afterBytes}`);
      assert.ok(afterBytes <= beforeBytes, `${beforeBytes} to ${afterBytes}`);
      assert.deepEqual(await answersOf(store), before);
      await store.replaceFiles([fileOf("after.md", ["word after"])]);
      assert.equal((await store.stats()).chunks, 11);
      assertFine(await partOf(store, "upkeep").check());
    },
  },
  {
    name: "upkeep: a sample is of chunks that are there, each once, and no more than there are",
    needs: ["upkeep"],
    async run({ store }) {
      const upkeep = partOf(store, "upkeep");
      assert.deepEqual(await upkeep.sample(5), []);
      await live(store);
      await (await store.builds?.start("one"))?.replaceFiles([fileOf("next.md", ["word next"])]);
      const rows = await upkeep.sample(50);
      assert.deepEqual(rows.map((row) => row.text).toSorted(), texts.toSorted());
      assert.equal(new Set(rows.map((row) => row.id)).size, texts.length);
      for (const { id: _id, ...row } of rows) {
        const index = texts.indexOf(row.text);
        const first = index < 4;
        const startLine = (first ? index : index - 4) * 10 + 1;
        assert.deepEqual(row, {
          path: first ? "b.md" : "c.jsonl",
          source: first ? "memory" : "sessions",
          startLine,
          endLine: startLine,
          text: row.text,
          context: "",
          hash: sha256(row.text),
        });
      }
    },
  },
  {
    name: "upkeep: a small sample is another one each time, so that every chunk has its turn",
    needs: ["upkeep"],
    async run({ store }) {
      await live(store);
      const seen = new Set<string>();
      // The chance that a fair draw leaves one out for so long is below 1 in 10^27.
      for (let draw = 0; draw < 200 && seen.size < texts.length; draw++) {
        const rows = await partOf(store, "upkeep").sample(3);
        assert.equal(rows.length, 3);
        for (const { text } of rows) seen.add(text);
      }
      assert.deepEqual([...seen].toSorted(), texts.toSorted());
    },
  },
  {
    name: "vector: the vector of a text can be had again, of its own space",
    needs: ["vector", "upkeep"],
    async run({ store }) {
      await live(store);
      await store.putVectors(two, [{ hash: sha256("word number 7"), vector: byNumber("70") }]);
      const { vectorOf } = partOf(store, "upkeep");
      const near = (found: Float32Array | undefined, wanted: Float32Array): void => {
        assert.equal(found?.length, dimensions);
        const likeness = cosine(wanted, found ?? []);
        assert.ok(likeness > 0.999, `its cosine to the vector that was put is ${likeness}`);
      };
      near(await vectorOf(one, sha256("word number 7")), byNumber("7"));
      near(await vectorOf(two, sha256("word number 7")), byNumber("70"));
      assert.equal(await vectorOf(two, sha256("word number 8")), undefined);
      assert.equal(await vectorOf(one, sha256("nobody's")), undefined);
      assert.equal(await vectorOf({ ...one, model: "unknown" }, sha256("word number 7")), undefined);
    },
  },
  {
    name: "upkeep: tables are listed with their bytes, the largest first",
    needs: ["upkeep"],
    async run({ store }) {
      await live(store);
      const tables = await partOf(store, "upkeep").tables();
      assertPlainData(tables, "tables");
      assert.notEqual(tables.length, 0);
      const bytes = tables.map((table) => table.bytes);
      assert.deepEqual(
        bytes,
        bytes.toSorted((left, right) => right - left),
      );
      for (const table of tables) assert.ok(table.name !== "" && table.bytes >= 0, JSON.stringify(table));
      assert.equal(new Set(tables.map((table) => table.name)).size, tables.length);
    },
  },
];
