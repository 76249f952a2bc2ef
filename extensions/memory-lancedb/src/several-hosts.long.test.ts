import { expect, onTestFinished, test } from "vitest";
import { openLanceStore } from "@memslot/memory-lancedb";
import { startChild } from "@memslot/test-tools/child";
import { inBucket, open, startStorage, tempFolder } from "./test/places.ts";

test("two processes append 400 rows to one table: all are there, each once", { timeout: 300_000 }, async () => {
  const storage = await startStorage();
  const lance = inBucket(storage);
  const place = await open(lance);
  const table = await place.connection.createTable("rows", [{ name: "first" }]);
  const each = 200;
  const children = ["a", "b"].map((prefix) =>
    startChild(new URL("./test/append-rows.ts", import.meta.url), [JSON.stringify(lance), prefix, `${each}`]),
  );
  for (const child of children) await child.line("open");
  const refusedBefore = storage.stats().refusedWrites;
  for (const child of children) child.process.stdin?.write("go\n");
  for (const child of children) {
    expect(await child.ended, child.output()).toBe(0);
  }
  await table.checkoutLatest();
  const rows: { name: string }[] = await table.query().toArray();
  const wanted = ["a", "b"].flatMap((prefix) => Array.from({ length: each }, (_, index) => `${prefix}${index}`));
  expect(rows.map(({ name }) => name).toSorted()).toEqual(["first", ...wanted].toSorted());
  expect(storage.stats().refusedWrites, "they have met").toBeGreaterThan(refusedBefore);
});

test("two processes put 200 files each into one index: all are found", { timeout: 300_000 }, async () => {
  const storage = await startStorage();
  const lance = inBucket(storage);
  const each = 200;
  const children = await Promise.all(
    ["a", "b"].map(async (prefix) =>
      startChild(new URL("../test/support/put-files.ts", import.meta.url), [
        JSON.stringify(lance),
        prefix,
        `${each}`,
        await tempFolder(),
      ]),
    ),
  );
  for (const child of children) await child.line("open");
  for (const child of children) child.process.stdin?.write("go\n");
  for (const child of children) {
    expect(await child.ended, child.output()).toBe(0);
  }
  const { store } = await openLanceStore({
    lance,
    agentId: "main",
    stateDir: await tempFolder(),
    mayCreate: false,
    signal: AbortSignal.timeout(60_000),
  });
  onTestFinished(() => store.close());
  const wanted = ["a", "b"].flatMap((prefix) => Array.from({ length: each }, (_, index) => `${prefix}${index}`));
  const listed = (await store.listFiles()).map(({ path }) => path);
  expect(listed.toSorted()).toEqual(wanted.map((word) => `memory/${word}.md`).toSorted());
  const terms = [{ term: "every", prefix: false }];
  const { rows } = await store.searchKeyword({ terms, sources: ["memory"], limit: 1000 });
  expect(rows.map(({ path }) => path).toSorted()).toEqual(wanted.map((word) => `memory/${word}.md`).toSorted());
  for (const word of ["a0", "b0", "a199", "b199"]) {
    const found = await store.searchKeyword({ terms: [{ term: word, prefix: false }], sources: ["memory"], limit: 5 });
    expect(found.rows.map(({ path }) => path)).toEqual([`memory/${word}.md`]);
  }
});

test("a host that dies while it writes leaves whole files, and the others go on", { timeout: 120_000 }, async () => {
  const storage = await startStorage();
  const lance = inBucket(storage);
  const script = new URL("../test/support/put-files.ts", import.meta.url);
  const child = startChild(script, [JSON.stringify(lance), "a", "1000", await tempFolder()]);
  await child.line("open");
  child.process.stdin?.write("go\n");
  await expect.poll(() => storage.keys("notes", "").length, { timeout: 60_000 }).toBeGreaterThan(60);
  child.process.kill("SIGKILL");
  await child.ended;
  const signal = AbortSignal.timeout(60_000);
  const { store } = await openLanceStore({ lance, agentId: "main", stateDir: "/nowhere", mayCreate: true, signal });
  onTestFinished(() => store.close());
  const listed = (await store.listFiles()).map(({ path }) => path);
  expect(listed.length % 5, "each call is whole or not at all").toBe(0);
  const chunk = { startLine: 1, endLine: 1, text: "b", context: "", terms: "every b", hash: "b" };
  await store.replaceFiles([{ path: "memory/b.md", source: "memory", hash: "b", recipe: "1", chunks: [chunk] }]);
  const terms = [{ term: "every", prefix: false }];
  const { rows } = await store.searchKeyword({ terms, sources: ["memory"], limit: 2000 });
  expect(rows.map(({ path }) => path).toSorted()).toEqual([...listed, "memory/b.md"].toSorted());
});

test("what one host writes the other one sees with its next read", async () => {
  const storage = await startStorage();
  const mine = await open(inBucket(storage));
  const table = await mine.connection.createTable("rows", [{ name: "first" }]);
  const theirs = await open(inBucket(storage));
  const same = await theirs.connection.openTable("rows");
  for (let count = 2; count <= 5; count++) {
    await (count % 2 === 0 ? table : same).add([{ name: `${count}` }]);
    await Promise.all([table.checkoutLatest(), same.checkoutLatest()]);
    expect([await table.countRows(), await same.countRows()]).toEqual([count, count]);
  }
});

test("each agent has its own prefix in one bucket", async () => {
  const storage = await startStorage();
  const main = await open(inBucket(storage));
  const work = await open(inBucket(storage), { agentId: "work" });
  await main.connection.createTable("rows", [{ name: "of main" }]);
  expect(await work.connection.tableNames()).toEqual(["v2_leases"]);
  expect(work.location).toBe("s3://notes/team/work");
  expect(storage.keys("notes", "team/work/").length).toBeGreaterThan(0);
});
