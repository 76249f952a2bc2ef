import type { ChunkStore } from "@memslot/indexing";
import { expect, test } from "vitest";
import { startChild } from "@memslot/test-tools/child";
import { find, open, tempFolder } from "./support/stores.ts";
import { partsOfVersion, space, vectorFor } from "./support/versions.ts";

const kills = 6;

/** Every file that is listed has the chunks of one version, the one that it is listed with. */
async function expectWholeFiles(store: ChunkStore): Promise<number> {
  const files = await store.listFiles();
  const texts = await find(store, "of");
  for (const { path, hash } of files) {
    const own = texts.filter((text) => text.startsWith(`of ${path} `)).toSorted();
    const version = hash.replace("hash", "version");
    expect(own).toEqual(Array.from({ length: partsOfVersion }, (_, part) => `of ${path} ${version} part${part}`));
  }
  expect(texts).toHaveLength(files.length * partsOfVersion);
  return files.length;
}

test(
  "a process that is killed while it writes leaves whole files, and the next one goes on",
  { timeout: 120_000 },
  async () => {
    const stateDir = await tempFolder();
    for (let kill = 0; kill < kills; kill++) {
      const child = startChild(new URL("./support/write-files.ts", import.meta.url), [stateDir, `k${kill}-`]);
      // The first one is killed while it makes the tables.
      await child.line(kill === 0 ? "open" : "wrote");
      child.process.kill("SIGKILL");
      await child.ended;
      const store = await open(stateDir);
      await expectWholeFiles(store);
      await store.close();
    }
    expect((await (await open(stateDir)).listFiles()).length).toBeGreaterThanOrEqual((kills - 1) * 5);
  },
);

test(
  "a rebuild that is killed again and again changes no answer, and is gone on with",
  { timeout: 120_000 },
  async () => {
    const stateDir = await tempFolder();
    const first = startChild(new URL("./support/write-files.ts", import.meta.url), [stateDir, "old-", "2"]);
    expect(await first.ended).toBe(0);
    for (let kill = 0; kill < 3; kill++) {
      const child = startChild(new URL("./support/write-files.ts", import.meta.url), [
        stateDir,
        `new${kill}-`,
        "0",
        "build",
      ]);
      await child.line("wrote");
      child.process.kill("SIGKILL");
      await child.ended;
      const store = await open(stateDir);
      expect(await expectWholeFiles(store)).toBe(5);
      await store.close();
    }
    const store = await open(stateDir);
    const build = await store.build("a rebuild");
    expect(await build.listFiles()).toHaveLength(15);
    await build.finish();
    expect(await expectWholeFiles(store)).toBe(15);
    expect(await find(store, "old-0.md")).toEqual([]);
  },
);

test("two processes that write at the same time both find all of it there", { timeout: 120_000 }, async () => {
  const stateDir = await tempFolder();
  const children = ["a-", "b-"].map((prefix) =>
    startChild(new URL("./support/write-files.ts", import.meta.url), [stateDir, prefix, "12"]),
  );
  expect(await Promise.all(children.map((child) => child.ended))).toEqual([0, 0]);
  const store = await open(stateDir);
  expect(await expectWholeFiles(store)).toBe(10);
  expect((await store.listFiles()).every(({ hash }) => hash === "hash11")).toBe(true);
  const vector = vectorFor("any");
  const { rows } = await store.searchVector({ space, vector, sources: ["memory"], limit: 1000 });
  expect(rows).toHaveLength(10 * partsOfVersion);
});

test("what one process writes the other finds with its next search", async () => {
  const stateDir = await tempFolder();
  const store = await open(stateDir);
  expect(await find(store, "part0")).toEqual([]);
  const child = startChild(new URL("./support/write-files.ts", import.meta.url), [stateDir, "a-", "3"]);
  expect(await child.ended).toBe(0);
  expect(await find(store, "part0")).toHaveLength(5);
});
