import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, rmSync, watch as watchFolder, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Freshness, type FreshnessInput, type FreshnessWork } from "./freshness.ts";
import type { WatchRoot } from "./watch-scope.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";
import tables from "./test/watched.json" with { type: "json" };

const open: Freshness[] = [];
const watchMaxFiles = 30_000;
afterEach(async () => {
  vi.useRealTimers();
  for (const freshness of open.splice(0)) await freshness.close();
});

interface Watching {
  freshness: Freshness;
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
  { watchDebounceMs = 20, ...more }: Partial<FreshnessInput & FreshnessWork> & { watchDebounceMs?: number } = {},
): Promise<Watching> {
  let seen: Record<string, string> = {};
  let changes = 0;
  const runs: string[] = [];
  const lines: string[] = [];
  const freshness = new Freshness({
    settings: { watch: true, watchDebounceMs, watchMaxFiles, intervalMinutes: 0 },
    roots: () => ownRoots(workspace),
    notify: (line) => lines.push(line),
    ...more,
  });
  const run: FreshnessWork["run"] = async (reason) => {
    runs.push(reason);
    seen = notesOf(workspace);
  };
  freshness.start({ changed: () => changes++, run, ...more });
  open.push(freshness);
  await eventually(() => freshness.watching().mode !== "off", "the folders are watched");
  return { freshness, seen: () => seen, runs, changes: () => changes, lines };
}

function notesOf(workspace: string): Record<string, string> {
  const notes: Record<string, string> = {};
  for (const entry of readdirSync(workspace, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile() && /\.md$/iu.test(entry.name))
      notes[path.relative(workspace, file).replaceAll(path.sep, "/")] = readFileSync(file, "utf8");
  }
  return notes;
}

const patience = { timeout: 20_000, interval: 5 };

describe("a run follows", () => {
  test("the beginning, where searches do not scan: what changed before that is not known", async () => {
    const settings = { watch: true, watchDebounceMs: 20, watchMaxFiles, intervalMinutes: 0, onSearch: false as const };
    const { runs } = await watching(folderWith({ "memory/a.md": "a" }), { settings });
    await expect.poll(() => runs, patience).toEqual(["watch"]);
  });

  test("every kind of change, one after the other", async () => {
    const outside = folderWith({ "tree/deep/t.md": "t" });
    const workspace = folderWith({ "memory/a.md": "a", "memory/x/y/b.md": "b", "other/deep/o.md": "o" });
    const at = (name: string): string => path.join(workspace, name);
    const save = (name: string) => (): void => writeFiles(workspace, { [name]: `saved ${name} ${++saves}` });
    const move = (from: string, to: string) => (): void => renameSync(at(from), at(to));
    const remove = (name: string) => (): void => rmSync(at(name), { recursive: true });
    const saveByRename = (name: string) => (): void => {
      save(`${name}~tmp`)();
      renameSync(at(`${name}~tmp`), at(name));
    };
    let saves = 0;
    const changes: [string, ...(() => void)[]][] = [
      ["a save", save("memory/a.md")],
      ["a truncation and a write", () => writeFileSync(at("memory/a.md"), ""), save("memory/a.md")],
      ["a save by rename, as editors do it", saveByRename("memory/a.md")],
      ["a save of a note in a deeper folder", save("memory/x/y/b.md")],
      ["a root that appears", saveByRename("MEMORY.md")],
      ["a save of a note that is a root itself", save("MEMORY.md")],
      ["a name in capitals", save("memory/A NOTE.MD")],
      ["a new folder with a note in it, made in one go", save("memory/new/deep/er/b.md")],
      ["what is saved in it later", save("memory/new/deep/er/b.md")],
      ["a folder that is moved in, whole", () => renameSync(path.join(outside, "tree"), at("memory/tree"))],
      ["what is saved in it later", save("memory/tree/deep/t.md")],
      ["a folder that is deleted and made again at once", remove("memory/tree"), save("memory/tree/deep/t.md")],
      ["what is saved in it later", save("memory/tree/deep/t.md")],
      ["a renaming", move("memory/a.md", "memory/c.md")],
      ["a note that is moved out of the tree", move("memory/c.md", "c.txt")],
      ["a folder that is moved", move("memory/x/y", "memory/z")],
      ["a folder that is moved away", move("memory/z", "elsewhere.txt")],
      ["a deletion", remove("memory/A NOTE.MD")],
      ["a deletion of a folder", remove("memory/new")],
      ["a deletion of a root", remove("memory")],
      ["a root that is made again", save("memory/sub/a.md")],
      ["what is saved in it later", save("memory/sub/a.md")],
      ["a root that is moved away, and another in its place", move("memory", "old"), move("other", "memory")],
      ["what is saved in it later", save("memory/deep/o.md")],
    ];
    const watch = await watching(workspace);
    const before = watch.changes();
    for (const [what, ...steps] of changes) {
      // A run that follows late from the step before would see this one's change, too.
      let runs = -1;
      while (runs !== watch.runs.length) [runs] = [watch.runs.length, await sleep(60)];
      for (const step of steps) step();
      await expect.poll(watch.seen, { ...patience, message: what }).toEqual(notesOf(workspace));
      expect(watch.runs.length, what).toBeGreaterThan(runs);
    }
    expect(watch.changes()).toBeGreaterThan(before);
    expect(new Set(watch.runs)).toEqual(new Set(["watch"]));
    await eventually(() => watch.freshness.watching().folders === 2, "the old root is let go");
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
    watch.freshness.refresh();
    await eventually(() => watch.runs.length > 0, "a run for the new folder");
    writeFileSync(path.join(workspace, "extra/b.md"), "changed");
    await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
    roots.pop();
    watch.freshness.refresh();
    await eventually(() => watch.freshness.watching().folders === 1, "the folder is let go");
  });
});

test("no run follows what is no note, and what lies in folders of tools", async () => {
  const workspace = folderWith(tables.quietFolder);
  const watch = await watching(workspace);
  const before = watch.changes();
  let isTold = false;
  const own = watchFolder(workspace, (_, name) => (isTold ||= name === "last"));
  writeFiles(workspace, tables.quietWrites);
  rmSync(path.join(workspace, "memory/.a.md.swp"));
  renameSync(path.join(workspace, "memory/.git"), path.join(workspace, "memory/.hg"));
  writeFileSync(path.join(workspace, "last"), "");
  await eventually(() => isTold, "the last event");
  own.close();
  expect(watch.changes()).toBe(before);
  expect(watch.runs).toEqual([]);
  writeFileSync(path.join(workspace, "memory/a.md"), "changed");
  await expect.poll(watch.seen, patience).toEqual(notesOf(workspace));
});

test("many files at once, as a checkout writes them, lead to few runs", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const watch = await watching(workspace, { watchDebounceMs: 500 });
  execFileSync(process.execPath, ["-e", tables.checkout.join("\n"), workspace]);
  await eventually(() => Object.keys(watch.seen()).length === 1001, "a run sees all");
  expect(watch.runs.length).toBeLessThan(10);
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

  test("come at intervals as well", async () => {
    vi.useFakeTimers();
    const runs: string[] = [];
    const freshness = new Freshness({
      settings: { watch: false, watchDebounceMs: 0, watchMaxFiles, intervalMinutes: 2 },
      roots: () => [],
      notify: () => {},
    });
    freshness.start({ changed: () => {}, run: async (reason) => void runs.push(reason) });
    open.push(freshness);
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
    const closed = watch.freshness.close().then(() => ended);
    held.resolve();
    expect(await closed).toBe(1);
    watch.freshness.refresh();
    expect(started).toBe(1);
    expect(watch.freshness.watching().mode).toBe("off");
  });
});
