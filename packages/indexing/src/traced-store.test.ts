import { describe, expect, test } from "vitest";
import { createFakeStore } from "../test/support/fake-store.ts";
import type { ChunkIndex, IndexedFile } from "./chunk-index.ts";
import type { VectorSpace } from "./chunk-store.ts";
import { withoutVectors } from "./search/keyword-store.ts";
import { listen } from "./test/listen.ts";
import { tracedStore } from "./traced-store.ts";

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

/** What the fake has besides the contract. */
const ofTests: ReadonlySet<string> = new Set(
  [
    "fail",
    "before",
    "setHealth",
    "setStats",
    "setFindings",
    "chunksOf",
    "paths",
    "leaseHeldByOther",
    "heldLeases",
  ].concat(["leases.held", "leases.heldByOther", "leases.releaseAll"]),
);

describe("a traced store", () => {
  test("tells of each call once, how much went in and how much came out", async () => {
    const seen = listen("store");
    const store = tracedStore(createFakeStore(), names);
    await store.replaceFiles([file, { ...file, path: "b.md" }]);
    const query = { terms: [{ term: "wordofnot", prefix: false }], sources: ["memory"], limit: 9 };
    expect((await store.searchKeyword(query)).rows).toHaveLength(2);
    await store.putVectors(space, [{ hash: "h", vector: Float32Array.of(1, 0) }]);
    const next = await store.builds?.start("next");
    await next?.replaceFiles([file]);
    expect(await store.leases?.acquire("files", secret)).toBe(true);
    const told = { ...names, outcome: "ok", tookMs: expect.any(Number) };
    expect(seen).toEqual([
      { ...told, operation: "replaceFiles", given: 2 },
      { ...told, operation: "searchKeyword", given: 1, found: 2 },
      { ...told, operation: "putVectors", given: 1 },
      { ...told, operation: "builds.start" },
      { ...told, operation: "builds.replaceFiles", given: 1 },
      { ...told, operation: "leases.acquire" },
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/wordofnot/iu);
  });

  test("tells of a failure by its code", async () => {
    const seen = listen("store");
    const fake = createFakeStore();
    const store = tracedStore(fake, names);
    fake.fail("stats", () => Object.assign(new Error(secret), { code: "SQLITE_IOERR" }));
    await expect(store.stats()).rejects.toThrow(secret);
    expect(seen).toMatchObject([{ operation: "stats", outcome: "failed", errorCode: "SQLITE_IOERR" }]);
    expect(JSON.stringify(seen)).not.toContain(secret);
  });

  test.each<[string, ChunkIndex]>([
    ["all of the contract", createFakeStore()],
    ["words alone", withoutVectors(createFakeStore())],
    ["the least", { ...createFakeStore(), builds: undefined, leases: undefined, upkeep: undefined }],
  ])("has what the store has that keeps %s", (_, store) => {
    const traced = tracedStore(store, names);
    const members = (given: object): string[] =>
      Object.entries(given).flatMap(([name, value]) => {
        if (typeof value !== "object" || value === null) return value === undefined ? [] : [name];
        return Object.keys(value as object).map((inner) => `${name}.${inner}`);
      });
    const ofStore = members(store).filter((name) => !ofTests.has(name) && !/^(?:calls|next)\b/u.test(name));
    expect(members(traced).toSorted()).toEqual(ofStore.toSorted());
    expect(traced.health()).toEqual(store.health());
    expect(traced.keepsVectors).toBe(store.keepsVectors);
  });
});
