import fs, { mkdirSync, readdirSync, readlinkSync, statfsSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SystemFault } from "./test/failing-thread.ts";
import { stubBuiltin } from "../../test/support/stub-builtin.ts";
import { type RootWatch, type RootWatchInput, watchRoots } from "./watch-roots.ts";
import { tempFolder as folderWith, writeFiles } from "@memslot/test-tools/files";
import { eventually } from "@memslot/test-tools/wait";

const open: RootWatch[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const watch of open.splice(0)) await watch.close();
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
    maxFiles: 1000,
    recursive: false,
    event: () => events++,
    began: () => began++,
    notify: (line) => lines.push(line),
    ...more,
  });
  open.push(watch);
  return { watch, events: () => events, began: () => began, lines };
}

/** A system that has a fault until it is healed. */
function failingSystem(fault: SystemFault): { thread: () => URL; heal: () => void } {
  const entry = JSON.stringify(new URL("test/failing-thread.ts", import.meta.url).href);
  let own = fault;
  return {
    thread: () => {
      const code = `import { watchWith } from ${entry}; await watchWith(${JSON.stringify(own)})`;
      return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    },
    heal: () => void (own = {}),
  };
}

/** Descriptors that this process watches files with: each thread that watches has one. */
function watchDescriptors(): number {
  if (!isLinux) return 0;
  return readdirSync("/proc/self/fd").filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).includes("inotify");
    } catch {
      return false;
    }
  }).length;
}

describe("when the system allows no more watches", () => {
  test.each([
    ["ENOSPC", /^the system allows no more watches \(ENOSPC\)$/, "fs.inotify.max_user_watches"],
    ["EMFILE", /^too many files are open.*\(EMFILE\)$/, "ulimit -n"],
    ["EIO", /cannot be watched: EIO/, "Check the folder"],
  ])("%s turns watching off: no watch is left, with one notice and advice", async (code, reason, advice) => {
    const workspace = folderWith({ "memory/a/b/c.md": "c" });
    const system = failingSystem({ code, after: 2 });
    const before = watchDescriptors();
    const { watch, began, lines } = watching(workspace, { thread: system.thread, retryMs: 0 });
    await eventually(() => lines.length > 0, "the note");
    expect(watch.state()).toEqual({ mode: "off", reason: expect.stringMatching(reason) as string });
    expect(lines).toEqual([expect.stringContaining("Searches look at the files themselves") as string]);
    expect(lines[0]).toContain(advice);
    expect(lines[0]).toContain("sync.watch");
    await eventually(() => watchDescriptors() <= before, "all watches are closed");
    expect(began()).toBe(1);

    watch.refresh();
    await eventually(() => began() === 2, "it is tried again");
    expect(watch.state().mode).toBe("off");
    expect(lines).toHaveLength(1);

    system.heal();
    watch.refresh();
    await eventually(() => watch.state().mode === "folders", "it is on again");
    expect(watch.state()).toEqual({ mode: "folders", folders: 3 });
    expect(began()).toBe(3);
    await watch.close();
    // Those of the test before may have been closed meanwhile.
    expect(watchDescriptors()).toBeLessThanOrEqual(before);
  });
});

describe("when a link has become a folder while it was looked at", () => {
  const changing: SystemFault = { code: "EINVAL", after: 2, asked: "readlink" };

  function changingSystem(times: number): { thread: () => URL; threads: () => number } {
    let threads = 0;
    const [failing, sound] = [failingSystem(changing), failingSystem({})];
    return { thread: () => (++threads > times ? sound : failing).thread(), threads: () => threads };
  }

  test("watching restarts by itself, without a notice", async () => {
    const workspace = folderWith({ "memory/a/b/c.md": "c" });
    const system = changingSystem(3);
    const before = watchDescriptors();
    const { watch, began, lines } = watching(workspace, { thread: system.thread, quickRetryMs: 1 });
    await eventually(() => watch.state().mode === "folders", "it is on");
    // What changed in between is to be looked for: once for each failure, and once when it is on.
    expect([system.threads(), began(), lines]).toEqual([4, 4, []]);
    await watch.close();
    // Those of the test before may have been closed meanwhile.
    expect(watchDescriptors()).toBeLessThanOrEqual(before);
  });

  test("it is off after three tries, as for any other reason, until it is asked for when some time has passed", async () => {
    const workspace = folderWith({ "memory/a/b/c.md": "c" });
    const system = changingSystem(4);
    const { watch, lines } = watching(workspace, { thread: system.thread, quickRetryMs: 1, retryMs: 0 });
    await eventually(() => lines.length > 0, "the note");
    expect(watch.state().reason).toContain("EINVAL");
    expect(system.threads()).toBe(4);
    watch.refresh();
    await eventually(() => watch.state().mode === "folders", "it is on");
    expect([system.threads(), lines.length]).toEqual([5, 1]);
  });
});

test("a watch that breaks later turns watching off", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const { watch } = watching(workspace, { thread: failingSystem({ breaks: true }).thread });
  await eventually(() => watch.state().mode === "folders", "it is on");
  writeFileSync(path.join(workspace, "memory/a.md"), "changed");
  await eventually(() => watch.state().mode === "off", "it is off");
  expect(watch.state()).toEqual({ mode: "off", reason: "files cannot be watched: EIO: of the test" });
});

test("a thread that ends turns watching off", async () => {
  const workspace = folderWith({ "memory/a.md": "a" });
  const thread = (): URL => new URL("data:text/javascript,process.exit(7)");
  const { watch, lines } = watching(workspace, { thread });
  await eventually(() => lines.length > 0, "the note");
  expect(watch.state().reason).toBe("files cannot be watched: the thread that watches has ended with code 7");
});

describe("more files and folders than are allowed", () => {
  test("turn watching off, and the reason names the setting", async () => {
    const workspace = folderWith();
    // 31 folders and 30 files; what is in folders of tools is not looked at.
    for (let folder = 0; folder < 30; folder++) writeFiles(workspace, { [`memory/${folder}/note.md`]: "x" });
    for (let file = 0; file < 50; file++) writeFiles(workspace, { [`memory/node_modules/${file}.md`]: "x" });
    const { watch, lines } = watching(workspace, { maxFiles: 60 });
    await eventually(() => lines.length > 0, "the note");
    const reason = "there are more than 60 files and folders (sync.watchMaxFiles)";
    expect(watch.state()).toEqual({ mode: "off", reason });
    expect(lines).toEqual([expect.stringContaining("Raise sync.watchMaxFiles") as string]);
    const another = watching(workspace, { maxFiles: 60 });
    await eventually(
      () => another.lines.length > 0,
      "a memory with too many files reports it, whatever others have reported",
    );
    const enough = watching(workspace, { maxFiles: 61 });
    await eventually(() => enough.watch.state().mode === "folders", "as many as are allowed");
    expect(enough.watch.state().folders).toBe(31);
  });

  test("do so as well when folders come later; files do not, which cost nothing then", async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const { watch, events } = watching(workspace, { maxFiles: 12 });
    await eventually(() => watch.state().mode === "folders", "it is on");
    for (let file = 0; file < 20; file++) writeFiles(workspace, { [`memory/${file}.md`]: "x" });
    await eventually(() => events() > 0, "they are seen");
    expect(watch.state()).toEqual({ mode: "folders", folders: 1 });
    for (let folder = 0; folder < 20; folder++) mkdirSync(path.join(workspace, `memory/${folder}`));
    await eventually(() => watch.state().mode === "off", "it is off");
    expect(watch.state().reason).toContain("sync.watchMaxFiles");
  });
});

test("what links lead to is not watched", async () => {
  const outside = folderWith({ "deep/b.md": "b" });
  const workspace = folderWith({ "memory/a.md": "a" });
  symlinkSync(outside, path.join(workspace, "memory/link"), "junction");
  const linked = folderWith();
  symlinkSync(outside, path.join(linked, "memory"), "junction");
  const own = watching(workspace);
  const other = watching(linked);
  await eventually(() => own.watch.state().mode === "folders" && other.watch.state().mode === "folders", "both are on");
  expect([own.watch.state().folders, other.watch.state().folders]).toEqual([1, 0]);
});

test.runIf(isLinux)(
  "a file system that others write to from elsewhere is not watched, and the reason names it",
  async () => {
    const workspace = folderWith({ "memory/a.md": "a" });
    const reason = `${path.join(workspace, "memory")} is on a NFS file system, which does not tell of changes made elsewhere`;
    const remote = { ...statfsSync(workspace), type: 0x6969 };
    const { watch, lines } = watching(workspace, { retryMs: 0 });
    await eventually(() => watch.state().mode === "folders", "it is on");
    const restore = stubBuiltin(fs, { statfsSync: (() => remote) as unknown as typeof statfsSync });
    watch.refresh();
    expect(watch.state()).toEqual({ mode: "off", reason });
    expect(lines).toHaveLength(1);
    const later = watching(workspace);
    expect(later.watch.state()).toEqual({ mode: "off", reason });
    restore();
    watch.refresh();
    await eventually(() => watch.state().mode === "folders", "it is on again");
  },
);

test("where the system watches whole trees, one watch a root tells of all that is below, now and later", async () => {
  const workspace = folderWith({ "memory/x/y/a.md": "a", "memory/node_modules/b.md": "b" });
  const { watch, events } = watching(workspace, { recursive: true });
  await eventually(() => watch.state().mode === "recursive", "it is on");
  expect(watch.state().folders).toBe(2);
  const change = async (what: string, run: () => void): Promise<void> => {
    const before = events();
    run();
    await eventually(() => events() > before, what);
  };
  await change("a save", () => writeFileSync(path.join(workspace, "memory/x/y/a.md"), "changed"));
  await change("a root that appears", () => writeFileSync(path.join(workspace, "MEMORY.md"), "m"));
  await change("a new folder", () => writeFiles(workspace, { "memory/new/c.md": "c" }));
});

test.runIf(isLinux)(
  "a thread that is late is not asked again until it has answered, and then it counts again",
  async () => {
    const name = path.basename(folderWith());
    const code = `import { parentPort } from "node:worker_threads";
    const go = new BroadcastChannel(${JSON.stringify(name)});
    parentPort.on("message", ({ port }) => {
      let [count, answered, before] = [0, Infinity, 0];
      const answer = () => { for (; answered < count;) { answered++; port.postMessage({ kind: "news", news: { lost: "asked " + before } }); } };
      port.on("message", () => { count++; answer(); });
      go.onmessage = () => { [before, answered] = [count, 0]; answer(); };
      port.postMessage({ kind: "ready", folders: 1 });
    });`;
    const thread = (): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    const { watch } = watching(folderWith(), { thread, sentinelDir: folderWith(), newsWithinMs: 20 });
    await eventually(() => watch.state().mode === "folders", "it is on");
    const ask = async (): Promise<unknown> => await watch.news({ add: [], drop: [] });
    for (let request = 0; request < 3; request++) expect(await ask()).toMatchObject({ lost: "the watcher was late" });
    const go = new BroadcastChannel(name);
    go.postMessage("go");
    await expect.poll(ask, { timeout: 20_000 }).toMatchObject({ lost: "asked 1" });
    go.close();
  },
);
