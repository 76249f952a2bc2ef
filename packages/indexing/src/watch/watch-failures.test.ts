import { execFileSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { type FSWatcher, lstatSync, mkdirSync, statfsSync, watch as watchFolder, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createFolderWatches } from "./folder-watches.ts";
import { type RootWatch, type RootWatchInput, watchRoots } from "./watch-roots.ts";
import { useTempFolders, writeFiles } from "../../test/support/temp-folder.ts";
import { until } from "../../test/support/until.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return { ...fs, statfsSync: vi.fn<typeof fs.statfsSync>(fs.statfsSync) };
});

const folderWith = useTempFolders();
const open: RootWatch[] = [];
afterEach(() => {
  for (const watch of open.splice(0)) watch.close();
});
const isLinux = process.platform === "linux";

interface Watching {
  watch: RootWatch;
  events: () => number;
  began: () => number;
  lines: string[];
}

function watching(workspace: string, more: Partial<RootWatchInput> = {}): Watching {
  let [events, began] = [0, 0];
  const lines: string[] = [];
  const watch = watchRoots({
    roots: () => [
      { path: path.join(workspace, "MEMORY.md"), kind: "file" },
      { path: path.join(workspace, "memory"), kind: "folder" },
    ],
    event: () => events++,
    began: () => began++,
    notify: (line) => lines.push(line),
    ...more,
  });
  open.push(watch);
  return { watch, events: () => events, began: () => began, lines };
}

/** An `fs.watch` that answers as the system does when it has run out, while it is told to. */
function failingWatch(
  code: string,
  after: number,
): { watch: typeof watchFolder; heal: () => void; live: () => number } {
  let isBroken = true;
  let calls = 0;
  const live = new Set<FSWatcher>();
  const watch = ((folder: string, options: object) => {
    if (isBroken && calls++ >= after)
      throw Object.assign(new Error(`${code}: of the test, watch '${folder}'`), { code });
    const watcher = watchFolder(folder, options);
    live.add(watcher);
    watcher.once("close", () => live.delete(watcher));
    return watcher;
  }) as typeof watchFolder;
  return { watch, heal: () => void (isBroken = false), live: () => live.size };
}

describe("when the system allows no more watches", () => {
  test.each([
    ["ENOSPC", /^the system allows no more watches \(ENOSPC\)$/, "fs.inotify.max_user_watches"],
    ["EMFILE", /^too many files are open.*\(EMFILE\)$/, "ulimit -n"],
    ["ENFILE", /^too many files are open.*\(ENFILE\)$/, "ulimit -n"],
    ["EIO", /cannot be watched: EIO/, "Check the folder"],
  ])("%s turns watching off: no watch is left, and it is said once, with the advice", async (code, reason, advice) => {
    const workspace = folderWith({ "memory/a/b/c.md": "c" });
    const system = failingWatch(code, 2);
    const { watch, began, lines } = watching(workspace, { watch: system.watch, retryMs: 0, recursive: false });
    await until(() => lines.length > 0, "the note");
    expect(watch.state()).toEqual({ mode: "off", reason: expect.stringMatching(reason) as string });
    expect(lines).toEqual([expect.stringContaining("Searches look at the files themselves") as string]);
    expect(lines[0]).toContain(advice);
    expect(lines[0]).toContain("sync.watch");
    await until(() => system.live() === 0, "all watches are closed");
    // What changed until now may have been seen by nobody.
    expect(began()).toBe(1);

    watch.refresh();
    await until(() => began() === 2, "it is tried again");
    expect(watch.state().mode).toBe("off");
    expect(lines).toHaveLength(1);

    system.heal();
    watch.refresh();
    await until(() => watch.state().mode === "folders", "it is on again");
    expect(watch.state()).toEqual({ mode: "folders", folders: 4 });
  });

  test("it is tried again only after a while", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const system = failingWatch("ENOSPC", 0);
    const { watch, lines } = watching(workspace, { watch: system.watch, recursive: false });
    await until(() => lines.length > 0, "the note");
    system.heal();
    watch.refresh();
    expect(watch.state().reason).toContain("ENOSPC");
  });

  test("later, for a new folder, the same happens", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const system = failingWatch("ENOSPC", 2);
    const { watch, lines } = watching(workspace, { watch: system.watch, recursive: false });
    await until(() => watch.state().mode === "folders", "it is on");
    writeFiles(workspace, { "memory/new/b.md": "b" });
    await until(() => watch.state().mode === "off", "it is off");
    expect(lines).toHaveLength(1);
  });
});

test("a watch that breaks later turns watching off", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const made: EventEmitter[] = [];
  const watch = ((folder: string, options: object) => {
    const watcher = watchFolder(folder, options);
    made.push(watcher);
    return watcher;
  }) as typeof watchFolder;
  const own = watching(workspace, { watch, recursive: false });
  await until(() => own.watch.state().mode === "folders", "it is on");
  made.at(-1)?.emit("error", Object.assign(new Error("EIO: of the test"), { code: "EIO" }));
  expect(own.watch.state()).toEqual({
    mode: "off",
    reason: `${path.join(workspace, "memory")} cannot be watched: EIO: of the test`,
  });
});

test("a watch that ends because its folder is gone, as on Windows, is no failure", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const made: EventEmitter[] = [];
  const watch = ((folder: string, options: object) => {
    const watcher = watchFolder(folder, options);
    made.push(watcher);
    return watcher;
  }) as typeof watchFolder;
  const own = watching(workspace, { watch, recursive: false });
  await until(() => own.watch.state().mode === "folders", "it is on");
  const before = own.events();
  made.at(-1)?.emit("error", Object.assign(new Error("EPERM: of the test"), { code: "EPERM" }));
  expect(own.events()).toBe(before + 1);
  await until(() => own.watch.state().folders === 2, "it is watched again");
  expect(own.lines).toEqual([]);
});

test("a root that appears is watched at once, with nobody asking", async () => {
  const workspace = folderWith({ "MEMORY.md": "m" });
  const { watch, events } = watching(workspace, { recursive: false });
  await until(() => watch.state().mode === "folders", "it is on");
  expect(watch.state().folders).toBe(1);
  mkdirSync(path.join(workspace, "memory"));
  await until(() => watch.state().folders === 2, "the root is watched");
  expect(events()).toBeGreaterThanOrEqual(2);
});

test("a path that means another folder now is watched anew", () => {
  const folder = folderWith({ "a/x.md": "", "b/x.md": "" });
  const folders = createFolderWatches({ event: () => {}, failed: () => {} });
  const target = { recursive: false, extensions: new Set([".md"]), names: new Set<string>() };
  const [a, b] = [path.join(folder, "a"), path.join(folder, "b")];
  expect(folders.set(a, target, lstatSync(a))).toBe(true);
  expect(folders.set(a, target, lstatSync(a))).toBe(false);
  expect(folders.set(a, target, lstatSync(b))).toBe(true);
  folders.clear();
});

test("more folders than a system can be asked to watch turn watching off", async () => {
  const workspace = folderWith();
  for (let folder = 0; folder < 30; folder++) mkdirSync(path.join(workspace, `memory/${folder}`), { recursive: true });
  const { watch, lines } = watching(workspace, { maxFolders: 30, recursive: false });
  await until(() => lines.length > 0, "the note");
  expect(watch.state()).toEqual({ mode: "off", reason: "there are more than 30 folders" });
  const enough = watching(workspace, { maxFolders: 32, recursive: false });
  await until(() => enough.watch.state().mode === "folders", "as many as are allowed");
  expect(enough.watch.state().folders).toBe(32);
});

test.runIf(isLinux)(
  "a file system that others write to from elsewhere is not watched, and the reason names it",
  async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const real = statfsSync(workspace);
    vi.mocked(statfsSync).mockReturnValue({ ...real, type: 0x6969 } as ReturnType<typeof statfsSync>);
    const { watch, lines } = watching(workspace);
    await until(() => lines.length > 0, "the note");
    vi.mocked(statfsSync).mockReset();
    expect(watch.state().reason).toBe(
      `${path.join(workspace, "memory")} is on a NFS file system, which does not tell of changes made elsewhere`,
    );
  },
);

describe("where the system watches whole trees", () => {
  test("one watch a root tells of all that is below, now and later", async () => {
    const workspace = folderWith({ "memory/x/y/a.md": "a", "memory/node_modules/b.md": "b" });
    const { watch, events } = watching(workspace, { recursive: true });
    await until(() => watch.state().mode === "recursive", "it is on");
    expect(watch.state().folders).toBe(2);
    const change = async (what: string, run: () => void): Promise<void> => {
      const before = events();
      run();
      await until(() => events() > before, what);
    };
    await change("a save", () => writeFileSync(path.join(workspace, "memory/x/y/a.md"), "changed"));
    await change("a root that appears", () => writeFileSync(path.join(workspace, "MEMORY.md"), "m"));
    await change("a new folder", () => writeFiles(workspace, { "memory/new/c.md": "c" }));
  });
});

describe.runIf(isLinux)("in a process with few open files", () => {
  const script = path.join(import.meta.dirname, "test/watch-process.ts");
  const inProcess = (limit: number, mode: string, folder: string): Record<string, unknown> => {
    const command = `ulimit -n ${limit}; exec "$0" --conditions=@memslot/source "$@"`;
    const output = execFileSync("sh", ["-c", command, process.execPath, script, mode, folder], { encoding: "utf8" });
    return JSON.parse(output) as Record<string, unknown>;
  };

  test("none left: watching is off with the reason, and begins when there are some again", () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    expect(inProcess(40, "exhausted", workspace)).toEqual({
      first: { mode: "off", reason: expect.stringContaining("EMFILE") as string },
      lines: [expect.stringContaining("files are not watched: too many files are open") as string],
      later: { mode: "folders", folders: 2 },
      seen: true,
    });
  });

  test("20,000 files in 200 folders under `ulimit -n 256` take at most 10 file descriptors", () => {
    const workspace = folderWith();
    for (let folder = 0; folder < 200; folder++) {
      mkdirSync(path.join(workspace, `memory/${folder}`), { recursive: true });
      for (let file = 0; file < 100; file++) writeFileSync(path.join(workspace, `memory/${folder}/${file}.md`), "x");
    }
    const result = inProcess(256, "many", workspace);
    expect(result).toMatchObject({ first: { mode: "folders", folders: 202 }, lines: [], seen: true });
    expect(result.descriptors).toBeLessThanOrEqual(10);
  }, 180_000);

  test("nothing keeps a process alive that has nothing else to do", () => {
    // It would run into the time limit of the test.
    expect(inProcess(256, "idle", folderWith({ "memory/a.md": "a" }))).toEqual({ ended: true });
  });
});
