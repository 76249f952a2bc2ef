import assert from "node:assert/strict";
import type { IndexFinding } from "@memslot/core";
import type { ChunkIndex } from "@memslot/indexing";
import { assertPlainData } from "../plain-data.ts";
import {
  type IndexCheck,
  bothSources,
  byNumber,
  dimensions,
  embedAll,
  exactly,
  factsIn,
  fileOf,
  one,
  partOf,
  sha256,
  textsNear,
  two,
} from "../lab.ts";

const texts = Array.from({ length: 10 }, (_, index) => `word number ${index}`);

/** Some files, some of them changed and removed again, with vectors in one space. */
async function live(index: ChunkIndex): Promise<void> {
  const filler = Array.from({ length: 200 }, (_, index) => fileOf(`gone/${index}.md`, [`filler ${index}`]));
  await index.replaceFiles([...filler, fileOf("a.md", ["word before"]), fileOf("b.md", texts.slice(0, 4))]);
  await index.useSpace(one);
  await embedAll(index, one, numberOf);
  await index.replaceFiles([fileOf("a.md", []), fileOf("c.jsonl", texts.slice(4), { source: "sessions" })]);
  await index.removeFiles(filler);
  await embedAll(index, one, numberOf);
}

const numberOf = (text: string): Float32Array => byNumber(text.split(" ").at(-1) ?? "0");

/** What a caller can ask, apart from the names of the chunks. */
async function answersOf(index: ChunkIndex): Promise<unknown> {
  const query = { terms: exactly("word", "3", "filler"), sources: bothSources, limit: 20 };
  const { rows, ...counts } = await index.searchKeyword(query);
  return {
    files: await factsIn(index),
    counts,
    rows: rows.map(({ id: _id, score: _score, ...row }) => row),
    near: await textsNear(index, one, byNumber("7"), 20),
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

/** What an index does for its own health. */
export const upkeepChecks: readonly IndexCheck[] = [
  {
    name: "upkeep: a healthy index passes its own check, empty, in use, and while a build is being made",
    needs: ["upkeep"],
    async run({ index }) {
      const upkeep = partOf(index, "upkeep");
      assertFine(await upkeep.check());
      await live(index);
      assertFine(await upkeep.check());
      if (index.builds === undefined) return;
      await (await index.builds.start("one")).replaceFiles([fileOf("d.md", ["word next"])]);
      assertFine(await upkeep.check());
      await index.builds.finish();
      assertFine(await upkeep.check());
    },
  },
  {
    name: "upkeep: repair mends nothing on a healthy index and changes no answer",
    needs: ["upkeep"],
    async run({ index }) {
      await live(index);
      const before = await answersOf(index);
      const findings = await partOf(index, "upkeep").repair();
      assertFine(findings);
      assert.deepEqual(
        findings.filter(({ fixed }) => fixed !== undefined),
        [],
      );
      assert.deepEqual(await answersOf(index), before);
    },
  },
  {
    name: "upkeep: compact gives space back, changes no answer, and leaves the index fit for use",
    needs: ["upkeep"],
    async run({ index }) {
      await live(index);
      const before = await answersOf(index);
      const { beforeBytes, afterBytes } = await partOf(index, "upkeep").compact();
      assert.ok(Number.isFinite(beforeBytes) && afterBytes >= 0, `${beforeBytes} to ${afterBytes}`);
      assert.ok(afterBytes <= beforeBytes, `${beforeBytes} to ${afterBytes}`);
      assert.deepEqual(await answersOf(index), before);
      await index.replaceFiles([fileOf("after.md", ["word after"])]);
      assert.equal((await index.stats()).chunks, 11);
      assertFine(await partOf(index, "upkeep").check());
    },
  },
  {
    name: "upkeep: a sample is of chunks that are there, each once, and no more than there are",
    needs: ["upkeep"],
    async run({ index }) {
      const upkeep = partOf(index, "upkeep");
      assert.deepEqual(await upkeep.sample(5), []);
      await live(index);
      await (await index.builds?.start("one"))?.replaceFiles([fileOf("next.md", ["word next"])]);
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
    async run({ index }) {
      await live(index);
      const seen = new Set<string>();
      // The chance that a fair draw leaves one out for so long is below 1 in 10^27.
      for (let draw = 0; draw < 200 && seen.size < texts.length; draw++) {
        const rows = await partOf(index, "upkeep").sample(3);
        assert.equal(rows.length, 3);
        for (const { text } of rows) seen.add(text);
      }
      assert.deepEqual([...seen].toSorted(), texts.toSorted());
    },
  },
  {
    name: "vector: the vector of a text can be had again, of its own space",
    needs: ["upkeep"],
    async run({ index }) {
      await live(index);
      await index.putVectors(two, [{ hash: sha256("word number 7"), vector: byNumber("70") }]);
      const { vectorOf } = partOf(index, "upkeep");
      const near = (found: Float32Array | undefined, wanted: Float32Array): void => {
        assert.equal(found?.length, dimensions);
        const product = wanted.reduce((sum, value, at) => sum + value * (found?.[at] ?? 0), 0);
        const likeness = product / Math.hypot(...(found ?? [1]));
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
    async run({ index }) {
      await live(index);
      const tables = await partOf(index, "upkeep").tables();
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
