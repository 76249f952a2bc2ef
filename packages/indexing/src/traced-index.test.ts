import { describe, expect, test } from "vitest";
import { createFakeStore } from "../test/support/fake-store.ts";
import type { IndexedFile } from "./index-row-types.ts";
import type { VectorSpace } from "./chunk-store.ts";
import { listen } from "./test/listen.ts";
import { tracedIndex } from "./traced-index.ts";
import { never, syncParams } from "../test/support/context.ts";
import { createFakeSource } from "../test/support/fake-source.ts";
import { createIndexSync } from "./sync/index-sync.ts";

const names = { agentId: "main", backend: "fake" };
const space: VectorSpace = { provider: "p", model: "m", providerKey: "", dimensions: 2 };
const secret = "WORDOFNOTE";
const file: IndexedFile = {
  path: `memory/${secret}.md`,
  source: "memory",
  hash: "1",
  mtimeMs: 1,
  size: 1,
  recipe: "r",
  chunks: [{ startLine: 1, endLine: 1, text: secret, context: secret, terms: "wordofnot", hash: "h" }],
};

describe("a traced store", () => {
  test("tells of each call once, how much went in and how much came out", async () => {
    const seen = listen("store");
    const store = tracedIndex(createFakeStore(), names);
    await store.replaceFiles([file, { ...file, path: "b.md" }]);
    const query = { terms: [{ term: "wordofnot", prefix: false }], sources: ["memory"], limit: 9 };
    expect((await store.searchKeyword(query)).rows).toHaveLength(2);
    await store.putVectors(space, [{ hash: "h", vector: Float32Array.of(1, 0) }]);
    const next = await store.startBuild?.("next");
    await next?.replaceFiles([file]);
    expect(await store.leases?.acquire("files", secret)).toBe(true);
    const told = { ...names, outcome: "ok", tookMs: expect.any(Number) };
    expect(seen).toEqual([
      { ...told, operation: "replaceFiles", given: 2 },
      { ...told, operation: "searchKeyword", given: 1, found: 2 },
      { ...told, operation: "putVectors", given: 1 },
      { ...told, operation: "startBuild" },
      { ...told, operation: "builds.replaceFiles", given: 1 },
      { ...told, operation: "leases.acquire" },
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/wordofnot/iu);
  });

  test("tells of a failure by its code", async () => {
    const seen = listen("store");
    const fake = createFakeStore();
    const store = tracedIndex(fake, names);
    fake.fail("stats", () => Object.assign(new Error(secret), { code: "SQLITE_IOERR" }));
    await expect(store.stats()).rejects.toThrow(secret);
    expect(seen).toMatchObject([{ operation: "stats", outcome: "failed", errorCode: "SQLITE_IOERR" }]);
    expect(JSON.stringify(seen)).not.toContain(secret);
  });
});

test("each scan that an index starts is reported once; the guard reports what an application asks for", async () => {
  const seen = listen("sync");
  const store = createFakeStore();
  const source = createFakeSource({ "a.md": "alpha", "b.md": "beta" });
  const index = await createIndexSync({ store, sources: [source], onSearch: true, vectors: undefined, names });
  await index.sync(syncParams({ reason: "application" }));
  expect(seen).toEqual([]);
  await index.freshen(never);
  store.leaseHeldByOther("files", { pid: 1 });
  source.write("a.md", "gamma");
  await index.scan("watch");
  store.leaseHeldByOther("files", undefined);
  store.fail("replaceFiles", () => new Error("WORDOFNOTE"));
  await index.scan("interval");
  await index.close();
  const told = { ...names, force: false, tookMs: expect.any(Number) };
  const none = { added: 0, changed: 0, removed: 0, failed: 0 };
  expect(seen).toEqual([
    { ...told, reason: "search", ...none, unchanged: 2, outcome: "ok" },
    { ...told, reason: "watch", outcome: "failed", errorCode: "BUSY" },
    { ...told, reason: "interval", outcome: "failed", errorCode: "UNKNOWN" },
  ]);
});
