import assert from "node:assert/strict";
import type { LeaseName } from "@memslot/indexing";
import { assertPlainData } from "../plain-data.ts";
import { type IndexCheck, fileOf, partOf, textsWith } from "../lab.ts";

const both: readonly LeaseName[] = ["files", "build"];

/** Who may work on the index. Two indexes on one place stand for two processes. */
export const leaseChecks: readonly IndexCheck[] = [
  {
    name: "leases: one that is free is given, has a holder, and is free again after release",
    needs: ["leases"],
    async run({ index }) {
      const leases = partOf(index, "leases");
      for (const name of both) {
        assert.equal(await leases.holder(name), undefined);
        assert.equal(await leases.acquire(name, `a check of "${name}"`), true);
        const holder = (await leases.holder(name)) ?? assert.fail(`nobody is said to hold "${name}"`);
        assertPlainData(holder, "holder");
        assert.deepEqual([holder.pid, holder.reason], [process.pid, `a check of "${name}"`]);
        assert.equal(new Date(holder.since).toISOString(), holder.since, "since is ISO 8601, in UTC");
        await leases.release(name);
        assert.equal(await leases.holder(name), undefined);
        await leases.release(name);
      }
    },
  },
  {
    name: "leases: what one store holds, another one on the same place is refused, until it is released",
    needs: ["leases", "reopens"],
    async run({ index, openBeside }) {
      const mine = partOf(index, "leases");
      const theirs = partOf(await openBeside(), "leases");
      for (const name of both) {
        assert.equal(await mine.acquire(name, "mine"), true);
        assert.equal(await theirs.acquire(name, "theirs"), false);
        assert.equal((await theirs.holder(name))?.reason, "mine");
        await theirs.release(name);
        assert.equal(await theirs.acquire(name, "theirs"), false, "nobody releases what he does not hold");
        await mine.release(name);
        assert.equal(await theirs.holder(name), undefined);
        assert.equal(await theirs.acquire(name, "theirs"), true);
        assert.equal(await mine.acquire(name, "mine"), false);
        assert.equal((await mine.holder(name))?.reason, "theirs");
        await theirs.release(name);
      }
    },
  },
  {
    name: "leases: each is given by itself",
    needs: ["leases", "reopens"],
    async run({ index, openBeside }) {
      const mine = partOf(index, "leases");
      const theirs = partOf(await openBeside(), "leases");
      assert.equal(await mine.acquire("build", "a rebuild"), true);
      assert.equal(await theirs.acquire("files", "a sync"), true);
      assert.deepEqual(
        [(await mine.holder("files"))?.reason, (await theirs.holder("build"))?.reason],
        ["a sync", "a rebuild"],
      );
    },
  },
  {
    name: "leases: a store that is closed, and one that is opened after a reopen, holds none",
    needs: ["leases", "reopens"],
    async run({ index, reopen, openBeside }) {
      for (const name of both) assert.equal(await partOf(index, "leases").acquire(name, "before"), true);
      const again = await reopen();
      const theirs = partOf(await openBeside(), "leases");
      for (const name of both) {
        assert.equal(await theirs.holder(name), undefined);
        assert.equal(await theirs.acquire(name, "theirs"), true);
        assert.equal(await partOf(again, "leases").acquire(name, "mine"), false);
      }
    },
  },
  {
    name: "leases: of many that ask at once one gets it",
    needs: ["leases", "reopens"],
    async run({ index, openBeside }) {
      const indexes = [index, await openBeside(), await openBeside()];
      for (let round = 0; round < 5; round++) {
        const given = await Promise.all(indexes.map((each) => partOf(each, "leases").acquire("build", "a race")));
        assert.equal(given.filter(Boolean).length, 1, given.join(", "));
        await partOf(indexes[given.indexOf(true)] ?? index, "leases").release("build");
      }
    },
  },
  {
    name: "leases: how far the holder of the build is, another store can read",
    needs: ["leases", "reopens"],
    async run({ index, openBeside }) {
      const mine = partOf(index, "leases");
      const theirs = partOf(await openBeside(), "leases");
      await mine.acquire("build", "a rebuild");
      assert.equal((await theirs.holder("build"))?.completed, undefined);
      for (let completed = 1; completed <= 50; completed++)
        await mine.report({ completed, total: 50, label: `memory/笔记 ${completed}.md` });
      const { completed, total, label, reason } = (await theirs.holder("build")) ?? assert.fail("nobody holds it");
      assert.equal(reason, "a rebuild");
      assert.equal(total, 50);
      // A store may leave out what follows too fast.
      assert.ok(completed !== undefined && completed >= 1 && completed <= 50, String(completed));
      assert.equal(label, `memory/笔记 ${completed}.md`);
      await mine.release("build");
      await theirs.acquire("build", "another");
      const next = await mine.holder("build");
      assert.deepEqual([next?.reason, next?.completed, next?.label], ["another", undefined, undefined]);
    },
  },
  {
    name: "leases: searches need none",
    needs: ["leases", "reopens"],
    async run({ index, openBeside }) {
      await index.replaceFiles([fileOf("a.md", ["word one"])]);
      const other = await openBeside();
      for (const name of both) assert.equal(await partOf(other, "leases").acquire(name, "theirs"), true);
      assert.deepEqual(await textsWith(index, "word"), ["word one"]);
      assert.equal((await index.listFiles()).length, 1);
      assert.equal((await index.stats()).files, 1);
    },
  },
];
