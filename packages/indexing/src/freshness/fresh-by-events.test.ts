import { spawnSync } from "node:child_process";
import fs, { linkSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import type { RootWatch, WatchNews } from "./watch-roots.ts";
import { type FreshIndex, openFreshIndex } from "./test/fresh-index.ts";
import { walkAtRandom } from "./test/random-walk.ts";
import type { FolderNote } from "./folder-watches.ts";
import { identityOf } from "../scan/file-state.ts";
import { Freshness } from "./freshness.ts";
import { FolderView } from "./folder-listing-cache.ts";
import type { FolderLook } from "../scan/scan.ts";

const open: FreshIndex[] = [];
afterEach(async () => {
  for (const fresh of open.splice(0)) await fresh.close();
});
const isLinux = process.platform === "linux";

/** A workspace with a settled watcher: the last search scanned nothing. */
async function settled(
  files: Record<string, string>,
  more: Partial<Parameters<typeof openFreshIndex>[0]> = {},
): Promise<FreshIndex & { workspace: string; note: (name: string) => string }> {
  const workspace = folderWith(files);
  const fresh = await openFreshIndex({ workspace, stateDir: folderWith(), ...more });
  open.push(fresh);
  let looked;
  do {
    looked = fresh.index.facts().lastSync;
    await fresh.freshen();
  } while (looked === undefined || fresh.index.facts().lastSync !== looked);
  return { ...fresh, workspace, note: (name) => path.join(workspace, name) };
}

async function askedAbout(run: () => Promise<unknown>): Promise<string[]> {
  const asked = new Set<string>();
  const { lstatSync } = fs;
  const look = (...call: Parameters<typeof lstatSync>): unknown => {
    asked.add(path.basename(String(call[0])));
    return lstatSync(...call);
  };
  const restore = stubBuiltin(fs, { lstatSync: look as typeof lstatSync });
  await run();
  restore();
  return [...asked].filter((name) => name.endsWith(".md") && !/^(?:MEMORY|memory|USER)\.md$/.test(name));
}

const manyNotes = Object.fromEntries(
  Array.from({ length: 60 }, (_, number) => [`memory/${number % 30}/note${number}.md`, `word${number}`]),
);

describe.runIf(isLinux)("where the files are watched", () => {
  test("a search asks the file system about the notes that have changed, and about no other", async () => {
    const { freshen, note, held, whySwept } = await settled(manyNotes);
    expect(await askedAbout(freshen)).toEqual([]);
    writeFileSync(note("memory/7/note7.md"), "changed");
    expect(await askedAbout(freshen)).toEqual(["note7.md"]);
    writeFileSync(note("memory/3/new.md"), "new");
    rmSync(note("memory/4/note4.md"));
    expect(await askedAbout(freshen)).toEqual(["new.md"]);
    renameSync(note("memory/5"), note("memory/moved"));
    const moved = ["note5.md", "note35.md"];
    expect((await askedAbout(freshen)).toSorted()).toEqual(moved.toSorted());
    const { "memory/4/note4.md": gone, ...others } = await held();
    expect(gone).toBeUndefined();
    expect(others).toMatchObject({
      "memory/7/note7.md": "changed",
      "memory/3/new.md": "new",
      "memory/moved/note5.md": "word5",
    });
    expect(Object.keys(others)).toHaveLength(60);
    expect(whySwept()).toBeUndefined();
  });

  test("a note with another name elsewhere is asked about each time, as a change under that name is not reported", async () => {
    const elsewhere = folderWith({ "other.md": "one" });
    const workspace = folderWith({ "memory/a.md": "a", "memory/b.md": "b" });
    linkSync(path.join(elsewhere, "other.md"), path.join(workspace, "memory/linked.md"));
    const fresh = await openFreshIndex({ workspace, stateDir: folderWith() });
    open.push(fresh);
    for (const text of ["two", "six", "ten"]) {
      for (let search = 0; search < 3; search++) await fresh.freshen();
      writeFileSync(path.join(elsewhere, "other.md"), text);
      expect(await askedAbout(fresh.freshen)).toContain("linked.md");
      expect((await fresh.held())["memory/linked.md"]).toBe(text);
    }
  });

  test("a note that is a mounted file is asked about each time, as a change on its other path is not reported", async (task) => {
    const elsewhere = folderWith({ "other.md": "one" });
    const workspace = folderWith({ "memory/a.md": "a", "memory/mounted.md": "" });
    const [from, to] = [path.join(elsewhere, "other.md"), path.join(workspace, "memory/mounted.md")];
    const { status, stderr } = spawnSync("mount", ["--bind", from, to], { encoding: "utf8" });
    if (status !== 0) task.skip(`no file can be mounted here: ${stderr}`);
    try {
      const fresh = await openFreshIndex({ workspace, stateDir: folderWith() });
      open.push(fresh);
      for (const text of ["two", "six", "ten"]) {
        for (let search = 0; search < 3; search++) await fresh.freshen();
        writeFileSync(from, text);
        await fresh.freshen();
        expect((await fresh.held())["memory/mounted.md"]).toBe(text);
      }
      expect(fresh.whySwept()).toBeUndefined();
    } finally {
      spawnSync("umount", [to]);
    }
  });

  test("another process that writes to the index is noticed though no note has changed", async () => {
    const { freshen, store, held } = await settled({ "memory/a.md": "a" });
    await store.removeFiles([{ path: "memory/a.md", source: "memory" }]);
    expect(await held()).toEqual({});
    await freshen();
    expect(await held()).toEqual({ "memory/a.md": "a" });
  });

  test("a deleted sentinel is recreated", async () => {
    const stateDir = folderWith();
    const { freshen, note, held, whySwept } = await settled({ "memory/a.md": "a" }, { stateDir });
    const sentinels = path.join(stateDir, "watch");
    expect(readdirSync(sentinels)).toHaveLength(1);
    rmSync(sentinels, { recursive: true });
    writeFileSync(note("memory/a.md"), "b");
    await freshen();
    expect(await held()).toEqual({ "memory/a.md": "b" });
    expect(whySwept()).toBeUndefined();
  });

  test("a state folder that cannot be written leads to sweeps, with the reason", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const fresh = await openFreshIndex({ workspace, stateDir: folderWith({ watch: "a file" }) });
    open.push(fresh);
    await fresh.freshen();
    writeFileSync(path.join(workspace, "memory/a.md"), "b");
    await fresh.freshen();
    expect(await fresh.held()).toEqual({ "memory/a.md": "b" });
    expect(fresh.whySwept()).toMatch(/^the sentinel could not be written: E/);
  });
});

describe.runIf(isLinux)("all files are looked at", () => {
  test("when the sentinel is late, and until it has come", async () => {
    let isLate = false;
    const late: WatchNews = { lost: "the watcher was late", barred: false, thread: 1 };
    const news =
      (real: RootWatch["news"]): RootWatch["news"] =>
      async (folders) =>
        isLate ? late : await real(folders);
    const { freshen, note, held, whySwept } = await settled(manyNotes, { news });
    isLate = true;
    writeFileSync(note("memory/7/note7.md"), "changed");
    expect(await askedAbout(freshen)).toHaveLength(60);
    expect((await held())["memory/7/note7.md"]).toBe("changed");
    expect(whySwept()).toBe("the watcher was late");
    isLate = false;
    await freshen();
    await freshen();
    expect(await askedAbout(freshen)).toEqual([]);
    expect(whySwept()).toBeUndefined();
  });

  test("every few minutes, which finds what was not reported", async () => {
    let nowMs = 0;
    const deaf =
      (real: RootWatch["news"]): RootWatch["news"] =>
      async (folders) => {
        const told = await real(folders);
        return "notes" in told ? { ...told, notes: told.notes.filter(({ kind }) => kind === "watched") } : told;
      };
    const { freshen, note, held } = await settled({ "memory/a.md": "a" }, { news: deaf, now: () => nowMs });
    writeFileSync(note("memory/a.md"), "b");
    nowMs += 4 * 60_000;
    await freshen();
    expect(await held()).toEqual({ "memory/a.md": "a" });
    nowMs += 2 * 60_000;
    await freshen();
    expect(await held()).toEqual({ "memory/a.md": "b" });
  });

  test("when the watcher has ended", async () => {
    const { freshen, note, held, watch, whySwept } = await settled({ "memory/a.md": "a" });
    await watch.close();
    writeFileSync(note("memory/a.md"), "b");
    await freshen();
    expect(await held()).toEqual({ "memory/a.md": "b" });
    expect(whySwept()).toBe("the watcher has ended");
  });

  test("by a requested sync", async () => {
    const { sweepAgrees } = await settled(manyNotes);
    expect(await askedAbout(sweepAgrees)).toHaveLength(60);
  });
});

describe.runIf(isLinux)("any order of changes and searches", () => {
  test.each([1])("gives no stale answer that is called fresh, and ends as a sweep finds it (walk %i)", async (seed) => {
    const walked = await walkAtRandom({ place: folderWith(), seed, steps: 150 });
    expect(walked).toMatchObject({ stale: undefined, sweepAgrees: true });
    expect(walked.told).toBeGreaterThan(walked.searches / 2);
  });

  /** Faults of a watcher. The walk must detect each. */
  const wrong: [string, () => (real: RootWatch["news"]) => RootWatch["news"]][] = [
    ["loses every fifth event", () => losing()],
    ["does not wait for the sentinel", () => oneBehind()],
  ];
  test.each(wrong)("a watcher that %s is found out", async (_, news) => {
    const walked = await walkAtRandom({ place: folderWith(), seed: 1, steps: 2000, news: news() });
    expect(walked.stale).toBeDefined();
  });
});

function losing(): (real: RootWatch["news"]) => RootWatch["news"] {
  let events = 0;
  return (real) => async (folders) => {
    const told = await real(folders);
    if ("lost" in told) return told;
    return { ...told, notes: told.notes.filter(({ kind }) => kind === "watched" || ++events % 5 !== 0) };
  };
}

/** What a question would be given that is answered at once: what was told before it. */
function oneBehind(): (real: RootWatch["news"]) => RootWatch["news"] {
  let behind: WatchNews | undefined;
  return (real) => async (folders) => {
    const told = await real(folders);
    const before = behind ?? told;
    behind = told;
    return before === told && "notes" in told ? { ...told, notes: [] } : before;
  };
}

describe("a view of folders", () => {
  function watched(folder: string): FolderNote {
    return { kind: "watched", folder, identity: identityOf(folder) ?? "" };
  }

  function namesIn(view: FolderLook, folder: string): string[] {
    return view
      .list(folder)
      .map(({ name }) => name)
      .toSorted();
  }

  test("what was watched at a path that leads elsewhere again is not seen as watched", () => {
    const root = folderWith({ "memory/deep/one.md": "1" });
    const memory = path.join(root, "memory");
    const deep = path.join(memory, "deep");
    const view = new FolderView();
    view.take([watched(memory), { kind: "watched", folder: deep, identity: "another" }], new Set([memory]));
    expect(namesIn(view, deep)).toEqual(["one.md"]);
    writeFileSync(path.join(deep, "two.md"), "2");
    expect(namesIn(view, deep)).toEqual(["one.md", "two.md"]);
    expect(view.wanted(10).add).toEqual([deep]);
    view.take([watched(deep)], new Set([memory]));
    expect([namesIn(view, deep), view.hasChanged()]).toEqual([["one.md", "two.md"], true]);
    view.begin();
    view.take([{ kind: "watched", folder: deep, identity: "another" }], new Set([memory]));
    expect(view.hasChanged()).toBe(true);
    rmSync(path.join(deep, "one.md"));
    expect(namesIn(view, deep)).toEqual(["two.md"]);
  });

  test("a folder that is renamed is forgotten with all below it", () => {
    const root = folderWith({ "a/deep/one.md": "1", "b/deep/two.md": "2" });
    const [a, b, deep] = ["a", "b", "a/deep"].map((name) => path.join(root, name)) as [string, string, string];
    const view = new FolderView();
    view.take([watched(root), watched(a), watched(deep), watched(b)], new Set([root]));
    expect(namesIn(view, deep)).toEqual(["one.md"]);
    renameSync(a, path.join(root, "c"));
    renameSync(b, a);
    view.take([{ kind: "event", folder: root, name: "a", isRename: true }], new Set([root]));
    expect([namesIn(view, deep), view.hasChanged()]).toEqual([["two.md"], true]);
  });

  test("what another thread has watched is watched no more", async () => {
    const root = folderWith({ "a.md": "a" });
    let told: WatchNews = { notes: [watched(root)], thread: 1 };
    const asked: string[][] = [];
    const freshness = new Freshness({
      settings: { watch: true, watchDebounceMs: 0, watchMaxFiles: 10, intervalMinutes: 0 },
      notify: () => undefined,
      roots: () => [{ path: root, kind: "folder" }],
      news: async ({ add }) => {
        asked.push([...add]);
        return told;
      },
    });
    const look = async (): Promise<boolean> => {
      const isUnchanged = await freshness.isUnchanged();
      const foundAll = freshness.begin();
      namesIn(freshness.look, root);
      foundAll();
      return isUnchanged;
    };
    expect([await look(), await look()]).toEqual([false, false]);
    told = { notes: [], thread: 1 };
    expect(await look()).toBe(true);
    told = { notes: [], thread: 2 };
    expect(await look()).toBe(false);
    writeFileSync(path.join(root, "b.md"), "b");
    expect(namesIn(freshness.look, root)).toEqual(["a.md", "b.md"]);
    await look();
    expect(asked.at(-1)).toEqual([root]);
  });
});
