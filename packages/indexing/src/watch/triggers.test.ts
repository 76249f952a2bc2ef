import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, watch as watchFolder, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createTriggers, type TriggerInput, type Triggers } from "./triggers.ts";
import type { WatchRoot } from "./watch-scope.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";

const open: Triggers[] = [];
const watchMaxFiles = 30_000;
afterEach(async () => {
  vi.useRealTimers();
  for (const triggers of open.splice(0)) await triggers.close();
});

interface Watching {
  triggers: Triggers;
  /** What the last run saw of the notes, by path. */
  seen(): Record<string, string>;
  runs: string[];
  changes(): number;
  lines: string[];
}

function ownRoots(workspace: string): WatchRoot[] {
  return [
    { path: path.join(workspace, "MEMORY.md"), kind: "file" },
    { path: path.join(workspace, "memory"), kind: "folder" },
  ];
}

/** Triggers whose run reads all notes, as a sync does, and refreshes, as its owner does. */
async function watching(
  workspace: string,
  { watchDebounceMs = 20, ...more }: Partial<TriggerInput> & { watchDebounceMs?: number } = {},
): Promise<Watching> {
  let seen: Record<string, string> = {};
  let changes = 0;
  const runs: string[] = [];
  const lines: string[] = [];
  const triggers = createTriggers({
    settings: { watch: true, watchDebounceMs, watchMaxFiles, intervalMinutes: 0 },
    roots: () => ownRoots(workspace),
    changed: () => changes++,
    run: async (reason) => {
      runs.push(reason);
      seen = notesOf(workspace);
      triggers.refresh();
    },
    notify: (line) => lines.push(line),
    ...more,
  });
  open.push(triggers);
  await eventually(() => triggers.state().mode !== "off", "the folders are watched");
  return { triggers, seen: () => seen, runs, changes: () => changes, lines };
}

function notesOf(workspace: string): Record<string, string> {
  const notes: Record<string, string> = {};
  for (const entry of readdirSync(workspace, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name.endsWith(".md"))
      notes[path.relative(workspace, file).replaceAll(path.sep, "/")] = readFileSync(file, "utf8");
  }
  return notes;
}

const patience = { timeout: 20_000, interval: 5 };

describe("a run follows", () => {
  const saves: [string, (folder: string) => void][] = [
    ["a save", (folder) => writeFileSync(path.join(folder, "memory/a.md"), "saved")],
    ["a truncation and a write", (folder) => truncateAndWrite(path.join(folder, "memory/a.md"))],
    ["a save by rename, as editors do it", (folder) => saveByRename(path.join(folder, "memory/a.md"))],
    ["a save of a note in a deeper folder", (folder) => writeFileSync(path.join(folder, "memory/x/y/b.md"), "saved")],
    ["a save of a note that is a root itself", (folder) => writeFileSync(path.join(folder, "MEMORY.md"), "saved")],
    ["a root that appears", (folder) => saveByRename(path.join(folder, "MEMORY.md"))],
    ["a deletion", (folder) => rmSync(path.join(folder, "memory/a.md"))],
    ["a renaming", (folder) => renameSync(path.join(folder, "memory/a.md"), path.join(folder, "memory/c.md"))],
    ["a note that is moved out of the tree", (folder) => renameSync(`${folder}/memory/a.md`, `${folder}/a.txt`)],
    ["a name in capitals", (folder) => writeFileSync(path.join(folder, "memory/A NOTE.MD"), "saved")],
    ["a deletion of a folder", (folder) => rmSync(path.join(folder, "memory/x"), { recursive: true })],
    ["a folder that is moved", (folder) => renameSync(`${folder}/memory/x/y`, `${folder}/memory/z`)],
    ["a folder that is moved away", (folder) => renameSync(`${folder}/memory/x`, `${folder}/elsewhere.txt`)],
  ];
  test.each(saves)("%s", async (_, change) => {
    const workspace = folderWith({ "memory/a.md": "a", "memory/x/y/b.md": "b" });
    const watch = await watching(workspace);
    const before = watch.changes();
    change(workspace);
    await eventually(() => watch.runs.length > 0, "a run");
    expect(watch.changes()).toBeGreaterThan(before);
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    expect(new Set(watch.runs)).toEqual(new Set(["watch"]));
  });

  test("a new folder with a note in it, made in one go, and what is saved in it later", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const watch = await watching(workspace);
    writeFiles(workspace, { "memory/new/deep/er/b.md": "b" });
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    for (const text of ["second", "third"]) {
      writeFileSync(path.join(workspace, "memory/new/deep/er/b.md"), text);
      await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    }
  });

  test("a folder that is moved in, whole", async () => {
    const outside = folderWith({ "tree/deep/b.md": "b" });
    const workspace = folderWith({ "memory/a.md": "a" });
    const watch = await watching(workspace);
    renameSync(path.join(outside, "tree"), path.join(workspace, "memory/tree"));
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    writeFileSync(path.join(workspace, "memory/tree/deep/b.md"), "later");
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
  });

  test("a root that comes later, is deleted, and is made again", async () => {
    const workspace = folderWith({ "MEMORY.md": "m" });
    const watch = await watching(workspace);
    for (const round of ["one", "two", "three"]) {
      writeFiles(workspace, { "memory/sub/a.md": round });
      await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
      writeFileSync(path.join(workspace, "memory/sub/a.md"), `${round}, changed`);
      await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
      rmSync(path.join(workspace, "memory"), { recursive: true });
      await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    }
  });

  test("a folder that is deleted and made again at once", async () => {
    const workspace = folderWith({ "memory/sub/a.md": "a" });
    const watch = await watching(workspace);
    for (const round of ["one", "two", "three"]) {
      rmSync(path.join(workspace, "memory/sub"), { recursive: true });
      writeFiles(workspace, { "memory/sub/a.md": round });
      await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
      writeFileSync(path.join(workspace, "memory/sub/a.md"), `${round}, changed`);
      await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    }
  });

  test("a root that is moved away, and another that takes its place", async () => {
    const workspace = folderWith({ "memory/a.md": "a", "other/deep/b.md": "b" });
    const watch = await watching(workspace);
    renameSync(path.join(workspace, "memory"), path.join(workspace, "old"));
    renameSync(path.join(workspace, "other"), path.join(workspace, "memory"));
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    writeFileSync(path.join(workspace, "memory/deep/b.md"), "changed");
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    // What is no longer a root is nobody's business: the root and its folder are.
    await eventually(() => watch.triggers.state().folders === 2, "the old root is let go");
  });

  test("a root whose parents come later too", async () => {
    const outside = folderWith();
    const root = path.join(outside, "not/yet/there");
    const watch = await watching(outside, { roots: () => [{ path: root, kind: "folder" }] });
    writeFiles(root, { "a.md": "a" });
    await expect.poll(watch.seen, patience).toEqual(notesOf(outside));
    writeFiles(root, { "a.md": "changed" });
    await expect.poll(watch.seen, patience).toEqual(notesOf(outside));
  });

  test("another set of roots, looked at after a run", async () => {
    const workspace = folderWith({ "memory/a.md": "a", "extra/b.md": "b" });
    const roots = ownRoots(workspace);
    const watch = await watching(workspace, { roots: () => roots });
    roots.push({ path: path.join(workspace, "extra"), kind: "folder" });
    watch.triggers.refresh();
    await eventually(() => watch.runs.length > 0, "a run for the new folder");
    writeFileSync(path.join(workspace, "extra/b.md"), "changed");
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    roots.pop();
    watch.triggers.refresh();
    await eventually(() => watch.triggers.state().folders === 1, "the folder is let go");
  });

  test("transcripts, where a root names their ending", async () => {
    const folder = folderWith({ "sessions/a.jsonl": "" });
    const root: WatchRoot = { path: path.join(folder, "sessions"), kind: "folder", extension: ".jsonl" };
    const watch = await watching(folder, { roots: () => [root] });
    writeFileSync(path.join(folder, "sessions/a.jsonl"), "{}");
    await expect.poll(() => watch.runs, patience).toEqual(["watch"]);
  });
});

describe("no run follows", () => {
  test("what is no note, and what lies in folders of tools", async () => {
    const workspace = folderWith({
      "memory/a.md": "a",
      "memory/.git/x.md": "x",
      "memory/node_modules/y.md": "y",
      "README.md": "r",
    });
    const watch = await watching(workspace);
    const before = watch.changes();
    let isTold = false;
    const own = watchFolder(workspace, (_, name) => (isTold ||= name === "last"));
    writeFiles(workspace, {
      "memory/picture.png": "p",
      "memory/.a.md.swp": "s",
      "memory/.git/x.md": "changed",
      "memory/node_modules/y.md": "changed",
      "memory/node_modules/deep/z.md": "z",
      "README.md": "changed",
      "src/other.md": "o",
    });
    rmSync(path.join(workspace, "memory/.a.md.swp"));
    renameSync(path.join(workspace, "memory/.git"), path.join(workspace, "memory/.hg"));
    // The system tells in the order in which things happen: after this, all else has been told.
    writeFileSync(path.join(workspace, "last"), "");
    await eventually(() => isTold, "the last event");
    own.close();
    expect(watch.changes()).toBe(before);
    expect(watch.runs).toEqual([]);
    writeFileSync(path.join(workspace, "memory/a.md"), "changed");
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
  });

  test("where watching is not wanted", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const triggers = createTriggers({
      settings: { watch: false, watchDebounceMs: 0, watchMaxFiles, intervalMinutes: 0 },
      roots: () => expect.fail("nobody looks"),
      changed: () => expect.fail("nothing is seen"),
      run: async () => expect.fail("nothing is run"),
      notify: () => expect.fail("nothing is said"),
    });
    triggers.refresh();
    writeFileSync(path.join(workspace, "memory/a.md"), "changed");
    expect(triggers.state()).toEqual({ mode: "off", reason: "sync.watch is false" });
    await triggers.close();
  });
});

test("many files at once, as a checkout writes them, lead to few runs", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const watch = await watching(workspace, { watchDebounceMs: 500 });
  const script = `
    const { mkdirSync, writeFileSync } = require("node:fs");
    for (let file = 0; file < 5000; file++) {
      const folder = process.argv[1] + "/memory/" + file % 50;
      mkdirSync(folder, { recursive: true });
      writeFileSync(folder + "/" + file + ".md", "text of " + file);
    }`;
  execFileSync(process.execPath, ["-e", script, workspace]);
  await eventually(() => Object.keys(watch.seen()).length === 5001, "a run sees all");
  expect(watch.runs.length).toBeLessThan(10);
  // All 50 new folders are watched.
  writeFileSync(path.join(workspace, "memory/49/49.md"), "changed");
  await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
});

describe("runs", () => {
  test("come one at a time, and what happens during one leads to one more", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let [started, atOnce, most] = [0, 0, 0];
    const run = async (): Promise<void> => {
      most = Math.max(most, ++atOnce);
      await gates[started++]?.promise;
      atOnce--;
    };
    const watch = await watching(workspace, { run, watchDebounceMs: 5 });
    writeFileSync(path.join(workspace, "memory/a.md"), "one");
    await eventually(() => started === 1, "the first run");
    const before = watch.changes();
    writeFileSync(path.join(workspace, "memory/a.md"), "two");
    await eventually(() => watch.changes() > before, "the second save is seen during the run");
    expect(started).toBe(1);
    gates[0]?.resolve();
    await eventually(() => started === 2, "the second run");
    gates[1]?.resolve();
    await eventually(() => atOnce === 0, "its end");
    expect(most).toBe(1);
  });

  test("that fail do not end the watching", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    let runs = 0;
    const run = async (): Promise<void> => {
      runs++;
      throw new Error("the disk is full");
    };
    await watching(workspace, { run });
    for (const count of [1, 2, 3]) {
      writeFileSync(path.join(workspace, "memory/a.md"), `${count}`);
      await eventually(() => runs >= count, `run ${count}`);
    }
    expect(runs).toBeGreaterThanOrEqual(3);
  });

  test("that are asked for during one lead to one more, at once", async () => {
    vi.useFakeTimers();
    const gates: PromiseWithResolvers<void>[] = [];
    const run = async (): Promise<void> => {
      const own = Promise.withResolvers<void>();
      gates.push(own);
      await own.promise;
    };
    const settings = { watch: false, watchDebounceMs: 0, watchMaxFiles, intervalMinutes: 1 };
    const triggers = createTriggers({ settings, roots: () => [], changed: () => {}, run, notify: () => {} });
    open.push(triggers);
    await vi.advanceTimersByTimeAsync(180_000);
    expect(gates).toHaveLength(1);
    gates[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(gates).toHaveLength(2);
    gates[1]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(gates).toHaveLength(2);
  });

  test("come at intervals as well", async () => {
    vi.useFakeTimers();
    const runs: string[] = [];
    const triggers = createTriggers({
      settings: { watch: false, watchDebounceMs: 0, watchMaxFiles, intervalMinutes: 2 },
      roots: () => [],
      changed: () => {},
      run: async (reason) => void runs.push(reason),
      notify: () => {},
    });
    open.push(triggers);
    await vi.advanceTimersByTimeAsync(119_999);
    expect(runs).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toEqual(["interval"]);
    await vi.advanceTimersByTimeAsync(240_000);
    expect(runs).toEqual(["interval", "interval", "interval"]);
  });

  test("end with close, which waits for the one on its way", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const held = Promise.withResolvers<void>();
    let [started, ended] = [0, 0];
    const run = async (): Promise<void> => {
      started++;
      await held.promise;
      ended++;
    };
    const watch = await watching(workspace, { run, watchDebounceMs: 0 });
    writeFileSync(path.join(workspace, "memory/a.md"), "one");
    await eventually(() => started === 1, "a run");
    writeFileSync(path.join(workspace, "memory/a.md"), "two");
    await eventually(() => watch.changes() >= 3, "another event");
    const closed = watch.triggers.close().then(() => ended);
    held.resolve();
    expect(await closed).toBe(1);
    watch.triggers.refresh();
    expect(started).toBe(1);
    expect(watch.triggers.state().mode).toBe("off");
  });
});

function truncateAndWrite(file: string): void {
  writeFileSync(file, "");
  writeFileSync(file, "written after the truncation");
}

function saveByRename(file: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}~tmp`, "saved by rename");
  renameSync(`${file}~tmp`, file);
}
