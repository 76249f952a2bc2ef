import { describe, expect, test } from "vitest";
import { isAsked } from "../chunk-store.ts";
import { type KeywordStore, withoutVectors } from "./keyword-store.ts";
import { manageIndex } from "../manager.ts";
import { contextFor, never, searchOptions, syncParams } from "../../test/support/context.ts";
import { fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import { createFakeStore } from "../../test/support/fake-store.ts";
import { useTempFolders } from "../../test/support/temp-folder.ts";

const folderWith = useTempFolders();

/** Only what a store that finds by words has to have. */
function wordsOnly(): KeywordStore {
  const { listFiles, listChunks, replaceFiles, touchFiles, removeFiles, searchKeyword, stats, health, close } =
    createFakeStore();
  return { listFiles, listChunks, replaceFiles, touchFiles, removeFiles, searchKeyword, stats, health, close };
}

describe("a store that finds by words alone", () => {
  test("answers whatever provider the configuration names, and asks it for nothing", async () => {
    const embeddings = fakeEmbeddings();
    const workspace = folderWith({ "MEMORY.md": "The budget is 40,000 euro." });
    const context = contextFor(workspace, { provider: embeddings });
    const manager = await manageIndex({ index: withoutVectors(wordsOnly()), context, backend: "words" });
    expect(manager.capabilities).toEqual({ keyword: true, vector: false, ownsIndex: true });
    expect(await manager.sync?.(syncParams())).toMatchObject({ added: 1, failed: [] });
    const options = searchOptions();
    expect(await manager.search("budget", options)).toMatchObject([{ path: "MEMORY.md" }]);
    expect(options.reports).toMatchObject([{ mode: "keyword", state: "ok" }]);
    expect(manager.status()).toMatchObject({ provider: "none", embedding: { reason: "words finds by words alone" } });
    expect(await manager.probeEmbeddingAvailability(never)).toMatchObject({ ok: false });
    expect(await manager.probeVectorAvailability(never)).toBe(false);
    expect([embeddings.sent, embeddings.queries]).toEqual([[], []]);
    await manager.close?.();
  });
});

describe("isAsked", () => {
  const file = { path: "memory/a.md", source: "memory" };
  test.each([
    [undefined, true],
    [{ within: [""], without: [] }, true],
    [{ within: ["memory/"], without: [] }, true],
    [{ within: ["memory/a.md"], without: [] }, true],
    [{ within: ["memory"], without: [] }, false],
    [{ within: ["memory/a"], without: [] }, false],
    [{ within: ["memory/"], without: ["memory/a.md"] }, false],
    [{ within: [], without: [] }, false],
  ])("with the scope %j is %s for memory/a.md", (scope, wanted) => {
    expect(isAsked(file, { sources: ["memory"], scope })).toBe(wanted);
    expect(isAsked(file, { sources: ["sessions"], scope })).toBe(false);
  });
});
