import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { checkIndex } from "./check-index.ts";
import { Embedder } from "../embedding/embedder.ts";
import { createNotesSource } from "../scan/read-note.ts";
import { isAsStored, syncFiles } from "./sync.ts";
import { never, settingsWith, syncParams } from "../../test/support/context.ts";
import { fakeEmbeddings } from "../../test/support/fake-embeddings.ts";
import { type FakeStore, createFakeStore } from "../../test/support/fake-store.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import type { SyncProgress, SyncRecord } from "@memslot/core";
import { SyncHistory, withWriteRight } from "./sync-state.ts";
import { createProgressTeller } from "./rebuild-and-embed.ts";
import type { FileRecord, IndexedFile } from "../index-row-types.ts";
import type { IndexLeases } from "../ledger/ledger.ts";
import type { ScannedFile } from "../scan/scan.ts";
import type { IndexedSource, StoredFiles } from "../indexed-source.ts";
import { rm } from "node:fs/promises";
import { randomFrom } from "@memslot/test-tools/random";
import type { NoteIndex } from "../note-index.ts";
import { fileOf, open, tempPath } from "../ledger/test/ledgers.ts";
import { StoredListing } from "./stored-files.ts";

const settings = settingsWith();

async function filled(withVectors = false): Promise<{ store: FakeStore; vectors: Embedder | undefined }> {
  const workspaceDir = folderWith({
    "MEMORY.md": "The kitten is called Mia.",
    "memory/a.md": "The budget is 40,000 euro.",
    "memory/b.md": "The server stands in the lab.",
  });
  const store = createFakeStore();
  await syncFiles({
    table: store,
    sources: [createNotesSource({ workspaceDir, settings })],
    params: syncParams(),
  });
  if (!withVectors) return { store, vectors: undefined };
  const provider = fakeEmbeddings();
  const choice = { provider, requested: "fake", reason: "asked for by the test", degraded: false };
  const stateDir = folderWith({});
  const vectors = new Embedder({ store, provider, choice, settings, agentId: "main", stateDir, notify: () => {} });
  await vectors.embedMissing({ reason: "test", asked: true, force: false, signal: never, progress: () => {} });
  return { store, vectors };
}

test.each<[string, number | undefined, number, number]>([
  ["after this host has slept past its right is tried once more, and reported", 600_000, 1, 2],
  ["twice is given up", 600_000, 2, 2],
  ["while it was awake is not tried again", undefined, 1, 1],
])("work that fails %s", async (_what, sleptMs, failures, tries) => {
  const calls: string[] = [];
  const leases: IndexLeases = {
    acquire: async () => calls.push("acquire") > 0,
    release: async () => void calls.push("release"),
    slept: () => sleptMs,
    report: async () => {},
    holder: async () => undefined,
  };
  const labels: unknown[] = [];
  const options = {
    reason: "cli",
    waitMs: () => 0,
    signal: never,
    progress: ({ label }: SyncProgress) => labels.push(label),
  };
  let tried = 0;
  const outcome = await withWriteRight({ leases }, "build", options, async () => {
    if (++tried <= failures) throw new Error("another process has ended this rebuild");
    return "done";
  }).catch(String);
  expect([tried, outcome === "done"]).toEqual([tries, failures < tries]);
  expect(calls).toEqual(Array.from({ length: tries }, () => ["acquire", "release"]).flat());
  const said = "this machine slept for 10 min in the middle of it; it is tried once more";
  expect(labels).toEqual(sleptMs === undefined ? [] : [said]);
});

test("a host that waits for the lease of another host does not send requests all the time", async () => {
  let requests = 0;
  const leases: IndexLeases = {
    acquire: async () => ++requests < 0,
    release: async () => {},
    slept: () => undefined,
    report: async () => {},
    holder: async () => ({ pid: 77, reason: "cli", since: "2026-05-04T10:00:00.000Z" }),
  };
  const options = { reason: "cli", waitMs: () => 1500, signal: never };
  await expect(withWriteRight({ leases }, "files", options, async () => {})).rejects.toMatchObject({ code: "BUSY" });
  // A slow machine sends fewer; without the longer pauses they are 31.
  expect(requests).toBeLessThan(12);
});

describe("a check of the index", () => {
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
      message: "2 of 3 chunks found by their own content; not found: memory/a.md#L1-L1",
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

  test("repairs only on request, and reports what was done", async () => {
    const { store } = await filled();
    store.setFindings([{ name: "words", ok: false, message: "2 of 3 chunks are in the index of words" }]);
    expect(await checkIndex({ sources: [], store, vectors: undefined, fix: false, signal: never })).toMatchObject({
      ok: false,
    });
    expect(store.calls.some(({ method }) => method === "repair")).toBe(false);
    const fixed = await checkIndex({ sources: [], store, vectors: undefined, fix: true, signal: never });
    expect(fixed.ok).toBe(true);
    expect(fixed.findings.find(({ name }) => name === "words")?.fixed).toBeDefined();
  });
});

describe("the history of syncs", () => {
  function smallFacts() {
    let kept: string | undefined;
    const facts = {
      fail: false,
      note: async (_name: string, value: string | undefined) => {
        if (facts.fail) throw new Error("the disk is full");
        kept = value;
      },
      noted: async () => kept,
      value: () => kept,
    };
    return facts;
  }

  function record(minute: number): SyncRecord {
    const finishedAt = new Date(Date.UTC(2026, 2, 5, 9, minute)).toISOString();
    return { reason: "cli", finishedAt, durationMs: minute, added: 1 };
  }

  test("a hundred are kept, the latest", async () => {
    const facts = smallFacts();
    const history = new SyncHistory(facts);
    for (let minute = 0; minute < 130; minute++) history.add(record(minute));
    const listed = await new SyncHistory(facts).list();
    await history.settle();
    const kept = await new SyncHistory(facts).list();
    expect(listed.length).toBeLessThanOrEqual(100);
    expect([kept.length, kept[0]?.durationMs, kept.at(-1)?.durationMs]).toEqual([100, 129, 30]);
  });

  test("what cannot be kept is known to this process, and kept with the next one that can", async () => {
    const facts = smallFacts();
    const history = new SyncHistory(facts);
    facts.fail = true;
    history.add(record(1));
    expect(await history.list()).toEqual([record(1)]);
    expect(facts.value()).toBeUndefined();
    facts.fail = false;
    history.add(record(2));
    await history.settle();
    expect(await new SyncHistory(facts).list()).toEqual([record(2), record(1)]);
    expect(await history.list()).toEqual([record(2), record(1)]);
  });

  test("damaged records are skipped", async () => {
    const facts = smallFacts();
    await facts.note("syncs", JSON.stringify([record(1), { reason: 5 }, "x", { ...record(2), finishedAt: "soon" }]));
    expect(await new SyncHistory(facts).list()).toEqual([record(1)]);
    await facts.note("syncs", "{");
    expect(await new SyncHistory(facts).list()).toEqual([]);
  });
});

describe("progress for others", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const total = 2000;

  test("of 2,000 files at once the first is reported at once, the last half a second later", async () => {
    const told: number[] = [];
    const tell = createProgressTeller(async ({ completed }) => void told.push(completed));
    for (let completed = 1; completed <= total; completed++) {
      tell({ completed, total });
      await Promise.resolve();
    }
    expect(told).toEqual([1]);
    await vi.advanceTimersByTimeAsync(499);
    expect(told).toEqual([1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual([1, total]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([1, total]);
    expect(vi.getTimerCount()).toBe(0);
    // Work that begins later is reported at once again.
    tell({ completed: 7, total });
    expect(told).toEqual([1, total, 7]);
  });
});

describe("a file as it is stored", () => {
  const stored: FileRecord = { path: "a.md", source: "memory", hash: "h", mtimeMs: 7, size: 3, recipe: "r" };
  const found: ScannedFile = { path: "a.md", absolutePath: "/a.md", mtimeMs: 7, size: 3 };
  /** One that tells of its files by time and size alone, as transcripts do. */
  const source = { source: "sessions" } as IndexedSource;

  test("time and size both count", () => {
    expect(isAsStored(found, stored, source)).toBe(true);
    expect(isAsStored({ ...found, size: 4 }, stored, source)).toBe(false);
    expect(isAsStored({ ...found, mtimeMs: 8 }, stored, source)).toBe(false);
  });
});

function listingOf(index: Pick<NoteIndex, "listFiles" | "revision">) {
  let lists = 0;
  const listFiles = async (): Promise<FileRecord[]> => {
    lists++;
    return await index.listFiles();
  };
  return {
    listing: new StoredListing({ listFiles, revision: () => index.revision?.() ?? Promise.reject() }),
    lists: () => lists,
  };
}

function plain(files: StoredFiles): FileRecord[] {
  return inOrder([...files.values()].flatMap((own) => [...own.values()]));
}

function inOrder(files: readonly FileRecord[]): FileRecord[] {
  return files.map((file) => ({ ...file, cursor: file.cursor })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Like scanned notes: fractional times, with and without state. */
function noteOf(path: string, version: number): IndexedFile {
  const file = fileOf(path, [`${path} ${version}`]);
  return {
    ...file,
    mtimeMs: 1.7e12 + version + 0.123456,
    size: version,
    cursor: version % 3 === 0 ? undefined : `state ${version}`,
  };
}

test("what we write ourselves is listed without reading all files, and what others write by reading them once", async () => {
  const path = tempPath();
  const [own, other] = [await open(path), await open(path)];
  const { listing, lists } = listingOf(own);
  const table = listing.follow(own);
  const { pick, chance, below } = randomFrom(7);
  const names = Array.from({ length: 12 }, (_, number) => `memory/${number}.md`);
  await listing.files();
  let othersWrote = 0;
  let isOthers = false;
  for (let step = 1; step <= 200; step++) {
    const isOther = chance(0.15);
    const writer = isOther ? other : table;
    const chosen = [...new Set([pick(names), pick(names)])];
    const kind = below(4);
    const before = plain(await new StoredListing(own).files());
    if (kind < 2) await writer.replaceFiles(chosen.map((name) => noteOf(name, step)));
    else if (kind === 2) await writer.removeFiles(chosen.map((name) => ({ path: name, source: "memory" })));
    else {
      const touched = chosen.map((name) => noteOf(name, step)).map(({ chunks: _chunks, ...file }) => file);
      await writer.touchFiles(touched);
    }
    isOthers ||= isOther;
    if (chance(0.4)) continue;
    if (isOthers) othersWrote++;
    isOthers = false;
    const now = inOrder(await own.listFiles());
    expect(plain(await listing.files()), `step ${step}, after ${before.length} files`).toEqual(now);
    expect(lists()).toBe(1 + othersWrote);
    expect(await listing.isCurrent()).toBe(true);
  }
  expect(othersWrote).toBeGreaterThan(8);
});

test("a list in use stays as it was when more is written", async () => {
  const own = await open(tempPath());
  const { listing } = listingOf(own);
  await listing.follow(own).replaceFiles([noteOf("a.md", 1)]);
  const before = await listing.files();
  await listing.follow(own).replaceFiles([noteOf("b.md", 1)]);
  expect(plain(await listing.files()).map(({ path }) => path)).toEqual(["a.md", "b.md"]);
  expect(plain(before).map(({ path }) => path)).toEqual(["a.md"]);
});

test("a file of the index that is recreated has not the numbers of the one before", async () => {
  const path = tempPath();
  const own = await open(path);
  const { listing } = listingOf(own);
  await listing.follow(own).replaceFiles([noteOf("a.md", 1)]);
  await listing.files();

  for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });
  await listing.follow(own).replaceFiles([noteOf("b.md", 2)]);
  expect(plain(await listing.files()).map((file) => file.path)).toEqual(["b.md"]);
});
