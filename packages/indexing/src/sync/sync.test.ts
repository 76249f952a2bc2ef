import { appendFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { SyncReport } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { createNotesSource } from "../scan/read-note.ts";
import { StoredListing } from "./stored-files.ts";
import { syncFiles, type SyncOutcome } from "./sync.ts";
import { settingsWith, syncParams } from "../../test/support/context.ts";
import { createFakeStore, type FakeStore } from "../../test/support/fake-store.ts";
import { letRest } from "../../test/support/let-rest.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

function notes(count: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`memory/note-${index}.md`, `note number ${index}\n`]),
  );
}

/**
 * Makes the files old, and lets that be a while ago: one that was changed just now is always compared by its content.
 */
function settle(workspace: string, ...files: string[]): void {
  for (const file of files) utimesSync(path.join(workspace, file), new Date(2020, 0, 1), new Date(2020, 0, 1));
  letRest(...files.map((file) => path.join(workspace, file)));
}

async function sync(
  workspaceDir: string,
  store: FakeStore,
  change: Parameters<typeof syncParams>[0] & {
    settings?: Parameters<typeof settingsWith>[0];
  } = {},
): Promise<SyncOutcome> {
  const { settings, ...params } = change;
  return await syncFiles({
    table: store,
    listing: new StoredListing(store),
    sources: [createNotesSource({ workspaceDir, settings: settingsWith(settings) })],
    params: syncParams(params),
  });
}

async function reportOf(...call: Parameters<typeof sync>): Promise<SyncReport> {
  return (await sync(...call)).report;
}

function written(store: FakeStore): string[] {
  return store.calls
    .filter(({ method }) => method === "replaceFiles")
    .flatMap(({ argument }) => (argument as { path: string }[]).map((file) => file.path))
    .toSorted();
}

describe("what has changed", () => {
  test("shows in what the file system tells, also where size and modification time are the same", async () => {
    const workspace = folderWith({ "memory/a.md": "one" });
    settle(workspace, "memory/a.md");
    const store = createFakeStore();
    await sync(workspace, store);
    writeFileSync(path.join(workspace, "memory/a.md"), "two");
    settle(workspace, "memory/a.md");
    expect(await reportOf(workspace, store)).toMatchObject({ changed: 1, unchanged: 0 });
    expect(store.chunksOf("memory/a.md")).toMatchObject([{ text: "two" }]);
  });

  test("a file that was only touched is read, not cut again, and its new time is kept", async () => {
    const workspace = folderWith({ "memory/a.md": "one" });
    settle(workspace, "memory/a.md");
    const store = createFakeStore();
    await sync(workspace, store);
    const touched = new Date(2021, 5, 5);
    utimesSync(path.join(workspace, "memory/a.md"), touched, touched);
    letRest(path.join(workspace, "memory/a.md"));
    store.calls.length = 0;
    expect(await reportOf(workspace, store)).toMatchObject({ changed: 0, unchanged: 1 });
    expect(written(store)).toEqual([]);
    expect(await store.listFiles()).toMatchObject([{ mtimeMs: touched.getTime() }]);
    store.calls.length = 0;
    await sync(workspace, store);
    expect(store.calls.map(({ method }) => method)).toEqual(["revision", "listFiles"]);
  });

  test("a change within the same time stamp is seen, when the file was saved just before the first look", async () => {
    const workspace = folderWith({ "memory/a.md": "one" });
    const store = createFakeStore();
    const saved = new Date();
    utimesSync(path.join(workspace, "memory/a.md"), saved, saved);
    await sync(workspace, store);
    writeFileSync(path.join(workspace, "memory/a.md"), "two");
    utimesSync(path.join(workspace, "memory/a.md"), saved, saved);
    expect(await reportOf(workspace, store)).toMatchObject({ changed: 1 });
  });
});

describe("one bad file", () => {
  test("that turns bad between scan and read is reported by name, and keeps what is indexed of it", async () => {
    const workspace = folderWith({ "memory/a.md": "first", "memory/b.md": "b" });
    const store = createFakeStore();
    await sync(workspace, store);
    const file = path.join(workspace, "memory/a.md");
    appendFileSync(file, " more");
    store.before("listFiles", () => {
      rmSync(file);
      symlinkSync(path.join(workspace, "memory/b.md"), file);
    });
    const report = await reportOf(workspace, store);
    expect(report.failed).toMatchObject([{ path: "memory/a.md", reason: "is a symbolic link, which is not followed" }]);
    expect(report).toMatchObject({ removed: 0, unchanged: 1 });
    expect(store.chunksOf("memory/a.md")).toMatchObject([{ text: "first" }]);
  });

  test("that goes away between scan and read is gone, not failed", async () => {
    const workspace = folderWith(notes(3));
    const store = createFakeStore();
    await sync(workspace, store);
    appendFileSync(path.join(workspace, "memory/note-0.md"), " more");
    store.before("listFiles", () => rmSync(path.join(workspace, "memory/note-0.md"), { force: true }));
    expect(await reportOf(workspace, store)).toEqual({ added: 0, changed: 0, removed: 1, unchanged: 2, failed: [] });
    expect(store.paths()).toHaveLength(2);
  });
});

test("a place that cannot be looked at keeps what is indexed of it", async () => {
  const workspace = folderWith({ "memory/a.md": "a", "docs/sub/b.md": "b" });
  const store = createFakeStore();
  const settings = { extraPaths: ["docs/sub"] };
  await sync(workspace, store, { settings });
  expect(store.paths()).toEqual(["docs/sub/b.md", "memory/a.md"]);
  rmSync(path.join(workspace, "docs"), { recursive: true });
  writeFileSync(path.join(workspace, "docs"), "now a file");
  expect(await reportOf(workspace, store, { settings })).toMatchObject({ removed: 0, unchanged: 1 });
  expect(store.paths()).toEqual(["docs/sub/b.md", "memory/a.md"]);
});

describe("a store that fails", () => {
  test.each(["listFiles", "replaceFiles", "touchFiles", "removeFiles"] as const)(
    "in %s ends the sync with its own error",
    async (method) => {
      const workspace = folderWith(notes(3));
      settle(workspace, ...Object.keys(notes(3)));
      const store = createFakeStore();
      await sync(workspace, store);
      appendFileSync(path.join(workspace, "memory/note-0.md"), " more");
      utimesSync(path.join(workspace, "memory/note-1.md"), new Date(2021, 0, 1), new Date(2021, 0, 1));
      rmSync(path.join(workspace, "memory/note-2.md"));
      const error = new Error("disk full");
      store.fail(method, () => error);
      await expect(sync(workspace, store)).rejects.toBe(error);
      store.fail(method, undefined);
      expect(await reportOf(workspace, store)).toMatchObject({ failed: [] });
      expect(store.paths()).toEqual(["memory/note-0.md", "memory/note-1.md"]);
    },
  );

  test("large files are not gathered without end", async () => {
    const workspace = folderWith(
      Object.fromEntries(
        Array.from({ length: 8 }, (_, index) => [`memory/${index}.md`, `${index} some words\n`.repeat(15_000)]),
      ),
    );
    const store = createFakeStore();
    await sync(workspace, store);
    const writes = store.calls.filter(({ method }) => method === "replaceFiles");
    const sizes = writes.map(({ argument }) => (argument as unknown[]).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  });
});
