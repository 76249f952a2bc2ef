import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { type FolderNews, type FolderNote, FolderWatches } from "./folder-watches.ts";
import { createMountCheck, whyNotInOrder } from "./mounts.ts";
import { createBurst } from "./freshness.ts";
import { createWatchScope } from "./watch-scope.ts";
import tables from "./test/watched.json" with { type: "json" };

const mounted: string[] = [];
afterEach(() => {
  for (const place of mounted.splice(0)) spawnSync("umount", ["-l", place]);
});

function watching(folder: string): { watches: FolderWatches; ask: () => Promise<FolderNews> } {
  const watches = new FolderWatches({ roots: [folder], endings: [".md"], sentinelDir: path.join(folderWith(), "own") });
  return { watches, ask: () => new Promise((resolve) => watches.ask(resolve)) };
}

function notesOf(news: FolderNews): FolderNote[] {
  if ("lost" in news) throw new Error(`lost: ${news.lost}`);
  return news.notes;
}

function eventsOf(news: FolderNews): string[] {
  return notesOf(news).flatMap((note) => (note.kind === "event" ? (note.name ?? "") : []));
}

function mount(place: string, ...options: string[]): boolean {
  const isMounted = spawnSync("mount", [...options, place]).status === 0;
  if (isMounted) mounted.push(place);
  return isMounted;
}

const noMount = "nothing may be mounted here";

describe.runIf(process.platform === "linux")("folders that are watched", () => {
  test("tell all that was done before the question, in order, and nothing twice", async () => {
    const folder = folderWith({ "sub/a.md": "a" });
    const { watches, ask } = watching(folder);
    watches.place(folder);
    watches.place(path.join(folder, "sub"));
    for (let round = 0; round < 20; round++) {
      writeFileSync(path.join(folder, `n${round}.md`), "n");
      writeFileSync(path.join(folder, "sub/a.md"), `${round}`);
      writeFileSync(path.join(folder, "sub/picture.png"), `${round}`);
      const names = eventsOf(await ask());
      expect(names).toContain(`n${round}.md`);
      expect(names).toContain("a.md");
      expect(names.filter((name) => name === "picture.png")).toHaveLength(round === 0 ? 1 : 0);
    }
    expect(eventsOf(await ask())).toEqual([]);
  });

  test("tell of nothing any more when they are let go, and again when they are watched again", async () => {
    const folder = folderWith({ "a.md": "a" });
    const { watches, ask } = watching(folder);
    watches.place(folder);
    // What was watched since the last answer must not be dropped by a caller that knows only the earlier answer.
    watches.remove(folder);
    writeFileSync(path.join(folder, "a.md"), "b");
    expect(eventsOf(await ask())).toEqual(["a.md"]);
    watches.remove(folder);
    writeFileSync(path.join(folder, "a.md"), "c");
    expect(eventsOf(await ask())).toEqual([]);
    watches.place(folder);
    expect(notesOf(await ask())).toMatchObject([{ kind: "watched", folder }]);
  });

  test("say that one is not watched any more which was not there when it was to be watched again", async () => {
    const folder = folderWith({ "above/sub/a.md": "a" });
    const [above, aside] = [path.join(folder, "above"), path.join(folder, "aside")];
    const sub = path.join(above, "sub");
    const { watches, ask } = watching(folder);
    watches.place(sub);
    await ask();
    // Changes of the parent folder are not reported.
    renameSync(above, aside);
    watches.place(sub);
    renameSync(aside, above);
    writeFileSync(path.join(sub, "a.md"), "b");
    expect(notesOf(await ask())).toEqual([{ kind: "event", folder: sub, name: undefined, isRename: true }]);
    watches.place(path.join(folder, "missing"));
    expect(notesOf(await ask())).toEqual([]);
  });

  test("say that something was lost when more happened than the system keeps, and only then", async () => {
    const folder = folderWith({ "a.md": "a", "b.md": "b" });
    const { watches, ask } = watching(folder);
    watches.place(folder);
    // The event loop does not go on while this runs: nothing is taken out of the queue. Two by turns are not merged.
    const change = (times: number): void => {
      for (let time = 0; time < times; time++)
        utimesSync(path.join(folder, time % 2 === 0 ? "a.md" : "b.md"), time, time);
    };
    change(1000);
    expect(new Set(eventsOf(await ask()))).toEqual(new Set(["a.md", "b.md"]));
    change(20_000);
    // Were it not dropped, it would be told.
    writeFileSync(path.join(folder, "new.md"), "n");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await ask()).toEqual({ lost: "more has happened at once than the system keeps", barred: false });
    change(10);
    expect(eventsOf(await ask())).toHaveLength(2);
  });

  test("are lost when something was mounted over one of them", async ({ skip }) => {
    const folder = folderWith({ "sub/a.md": "a" });
    const { watches, ask } = watching(folder);
    watches.place(folder);
    await ask();
    if (!mount(path.join(folder, "sub"), "-t", "tmpfs", "none")) skip(noMount);
    expect(await ask()).toEqual({ lost: "something was mounted or unmounted", barred: false });
    expect(await ask()).toEqual({ notes: [] });
    spawnSync("umount", [path.join(folder, "sub")]);
    expect(await ask()).toMatchObject({ lost: "something was mounted or unmounted" });
  });

  test("are barred on a file system that is not known to tell all", async ({ skip }) => {
    const folder = folderWith({ "lower/a.md": "a" });
    expect(whyNotInOrder("/proc")).toBe("/proc is on an unknown (0x9fa0) file system");
    writeFiles(folder, { "upper/x": "", "work/x": "" });
    const merged = path.join(folder, "merged");
    mkdirSync(merged);
    const layers = `lowerdir=${folder}/lower,upperdir=${folder}/upper,workdir=${folder}/work`;
    if (!mount(merged, "-t", "overlay", "overlay", "-o", layers)) skip(noMount);
    const { watches, ask } = watching(merged);
    watches.place(merged);
    expect(await ask()).toEqual({ lost: `${merged} is on an overlay file system`, barred: true });
  });

  test("keep one sentinel, under another name each time, and take away what others have left behind", async () => {
    const parent = folderWith({ "old/7": "", "young/7": "" });
    utimesSync(path.join(parent, "old"), 1000, 1000);
    const sentinelDir = path.join(parent, "own");
    const watches = new FolderWatches({ roots: [], endings: [".md"], sentinelDir });
    const ask = (): Promise<FolderNews> => new Promise((resolve) => watches.ask(resolve));
    for (let round = 0; round < 20; round++) await ask();
    expect(readdirSync(parent).toSorted()).toEqual(["own", "young"]);
    expect(readdirSync(sentinelDir)).toEqual(["20"]);
    watches.close();
    expect(readdirSync(parent), "their own goes with them").toEqual(["young"]);
  });
});

test("what is mounted elsewhere makes no difference", () => {
  const line = (place: string): string => `36 35 98:0 / ${place} rw - ext4 /dev/sda rw`;
  let table = [line("/"), line("/home")].join("\n");
  const hasMounted = createMountCheck(["/home/me/my notes"], () => table);
  expect(hasMounted()).toBe(false);
  const steps: [string, boolean][] = tables.mountSteps as [string, boolean][];
  for (const [place, matters] of steps) {
    table += `\n${line(place)}`;
    expect([place, hasMounted()]).toEqual([place, matters]);
    expect(hasMounted()).toBe(false);
  }
});

test("a burst of events that never ends is cut at the ceiling, again and again", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const start = performance.now();
  const ends: number[] = [];
  const ended = (): void => void ends.push(performance.now() - start);
  const burst = createBurst({ quietMs: 100, ceilingMs: 1000, began: () => undefined, ended });
  for (let at = 0; at < 2500; at += 10) {
    burst.touch();
    vi.advanceTimersByTime(10);
  }
  expect(ends).toHaveLength(2);
  expect(ends[0]).toBeLessThanOrEqual(1000);
  expect(ends[0]).toBeGreaterThan(800);
});

test("what a folder of notes leaves out is not watched, unless another root lies in it", () => {
  const folder = folderWith(tables.ignoringFolder);
  const at = (name: string): string => path.join(folder, name);
  const scope = createWatchScope([
    { path: folder, kind: "folder", notesBut: at("state") },
    { path: at("private/shared"), kind: "folder" },
  ]);
  const looked = (name: string): string => scope.lookAt(at(name), statSync(at(name)));
  expect(["notes", "notes/deep", "private", "private/shared"].map(looked)).toEqual(Array(4).fill("watched"));
  expect(["build", ".hidden", "node_modules", "state"].map(looked)).toEqual(Array(4).fill("elsewhere"));
  expect(looked("notes/deep/b.md")).toBe("reported");
  expect(["a.mdx", "b.MARKDOWN", ".gitignore", "c.png"].map((name) => scope.concerns(folder, name))).toEqual(
    tables.watchedNames,
  );
  expect(["notes/.gitignore", "a.md"].map((name) => scope.changesRules(folder, name))).toEqual([true, false]);
});
