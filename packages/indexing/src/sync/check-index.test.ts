import { describe, expect, test } from "vitest";
import { checkIndex } from "./check-index.ts";
import { createEmbedder, type Embedder } from "../embedding/embedder.ts";
import { createNotesSource } from "../files/notes-source.ts";
import { createStoredListing } from "./stored-files.ts";
import { syncFiles } from "./sync.ts";
import { never, settingsWith, syncParams } from "../../test/support/context.ts";
import { fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import { createFakeStore, type FakeStore } from "../../test/support/fake-store.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

const settings = settingsWith();

/** A store that holds some notes, with their vectors where there is a provider. */
async function filled(withVectors = false): Promise<{ store: FakeStore; vectors: Embedder | undefined }> {
  const workspaceDir = folderWith({
    "MEMORY.md": "The kitten is called Mia.",
    "memory/a.md": "The budget is 40,000 euro.",
    "memory/b.md": "The server stands in the lab.",
  });
  const store = createFakeStore();
  await syncFiles({
    table: store,
    listing: createStoredListing(store),
    sources: [createNotesSource({ workspaceDir, settings })],
    recipeCounts: true,
    params: syncParams(),
    withRight: (write) => write(),
  });
  if (!withVectors) return { store, vectors: undefined };
  const provider = fakeEmbeddings();
  const choice = { provider, requested: "fake", reason: "asked for by the test", degraded: false };
  const stateDir = folderWith({});
  const vectors = createEmbedder({ store, provider, choice, settings, agentId: "main", stateDir, notify: () => {} });
  await vectors.embedMissing({ reason: "test", asked: true, force: false, signal: never, progress: () => {} });
  return { store, vectors };
}

describe("a check of the index", () => {
  test("of a sound one says what was looked at, with figures", async () => {
    const check = await checkIndex({ sources: [], ...(await filled(true)), fix: false, signal: never });
    expect(check.ok).toBe(true);
    expect(check.findings).toContainEqual({
      name: "sample by words",
      ok: true,
      message: "3 of 3 chunks found themselves",
    });
    expect(check.findings).toContainEqual({
      name: "sample by vectors",
      ok: true,
      message: "3 of 3 chunks found themselves",
    });
  });

  test("shows chunks that their own words do not find", async () => {
    const { store } = await filled();
    const search = store.searchKeyword.bind(store);
    store.searchKeyword = async (query) => {
      const answer = await search(query);
      return { ...answer, rows: answer.rows.filter(({ path }) => path !== "memory/a.md") };
    };
    const { ok, findings } = await checkIndex({ sources: [], store, vectors: undefined, fix: false, signal: never });
    expect(ok).toBe(false);
    expect(findings.find(({ name }) => name === "sample by words")).toMatchObject({
      ok: false,
      message: "2 of 3 chunks found themselves; not found: memory/a.md#L1-L1",
    });
  });

  test("shows chunks that their own vectors do not find", async () => {
    const { store, vectors } = await filled(true);
    const search = store.searchVector.bind(store);
    store.searchVector = async (query) => {
      const answer = await search(query);
      return { rows: answer.rows.filter(({ path }) => path !== "memory/b.md") };
    };
    const { findings } = await checkIndex({ sources: [], store, vectors, fix: false, signal: never });
    expect(findings.find(({ name }) => name === "sample by vectors")).toMatchObject({ ok: false });
  });

  test("mends only where that was asked for, and says what was done", async () => {
    const { store } = await filled();
    store.setFindings([{ name: "words", ok: false, message: "2 of 3 chunks are in the index of words" }]);
    expect(await checkIndex({ sources: [], store, vectors: undefined, fix: false, signal: never })).toMatchObject({
      ok: false,
    });
    expect(store.calls.some(({ method }) => method === "upkeep.repair")).toBe(false);
    const fixed = await checkIndex({ sources: [], store, vectors: undefined, fix: true, signal: never });
    expect(fixed.ok).toBe(true);
    expect(fixed.findings.find(({ name }) => name === "words")?.fixed).toBeDefined();
  });
});
