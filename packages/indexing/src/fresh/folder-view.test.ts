import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import type { FolderNote } from "../watch/folder-watches.ts";
import { identityOf } from "../watch/folder-identity.ts";
import type { WatchNews } from "../watch/watch-roots.ts";
import { createCatchUp } from "./catch-up.ts";
import { FolderView } from "./folder-view.ts";

function watched(folder: string): FolderNote {
  return { kind: "watched", folder, identity: identityOf(folder) ?? "" };
}

function namesIn(view: FolderView, folder: string): string[] {
  return view
    .list(folder)
    .map(({ name }) => name)
    .toSorted();
}

test("a folder that was told of by its name is forgotten with all below it", () => {
  const root = folderWith({ "a/deep/one.md": "1", "b/deep/two.md": "2" });
  const [a, b, deep] = ["a", "b", "a/deep"].map((name) => path.join(root, name)) as [string, string, string];
  const view = new FolderView();
  view.take([watched(root), watched(a), watched(deep), watched(b)], new Set([root]));
  expect([root, a, deep].map((folder) => namesIn(view, folder))).toEqual([["a", "b"], ["deep"], ["one.md"]]);
  view.begin();
  renameSync(a, path.join(root, "c"));
  renameSync(b, a);
  // Nobody has told: what was seen holds.
  expect(namesIn(view, deep)).toEqual(["one.md"]);
  view.take([{ kind: "event", folder: root, name: "a", isRename: true }], new Set([root]));
  expect(view.hasChanged()).toBe(true);
  expect(namesIn(view, deep)).toEqual(["two.md"]);
  expect(namesIn(view, root)).toEqual(["a", "c"]);
  expect(view.wanted(10).add).toEqual([deep]);
});

test("what is seen of a folder counts only where all folders on the way to it are watched", () => {
  const root = folderWith({ "a/deep/one.md": "1" });
  const deep = path.join(root, "a/deep");
  const view = new FolderView();
  view.take([watched(root), watched(deep)], new Set([root]));
  namesIn(view, deep);
  writeFileSync(path.join(deep, "two.md"), "2");
  expect(namesIn(view, deep)).toEqual(["one.md", "two.md"]);
  expect(view.isWhole).toBe(false);
});

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
  // Also where the right one was watched before.
  view.take([watched(deep)], new Set([memory]));
  expect([namesIn(view, deep), view.hasChanged()]).toEqual([["one.md", "two.md"], true]);
  view.begin();
  view.take([{ kind: "watched", folder: deep, identity: "another" }], new Set([memory]));
  expect(view.hasChanged()).toBe(true);
  rmSync(path.join(deep, "one.md"));
  expect(namesIn(view, deep)).toEqual(["two.md"]);
});

test("what another thread has watched is watched no more", async () => {
  const root = folderWith({ "a.md": "a" });
  let told: WatchNews = { notes: [watched(root)], thread: 1 };
  const asked: string[][] = [];
  const { view, ...catchUp } = createCatchUp({
    roots: () => [{ path: root, kind: "folder" }],
    news: async ({ add }) => {
      asked.push([...add]);
      return told;
    },
  });
  const look = async (): Promise<boolean> => {
    const isUnchanged = await catchUp.isUnchanged();
    const foundAll = catchUp.begin();
    namesIn(view, root);
    foundAll();
    return isUnchanged;
  };
  expect([await look(), await look()]).toEqual([false, false]);
  told = { notes: [], thread: 1 };
  expect(await look()).toBe(true);
  told = { notes: [], thread: 2 };
  expect(await look()).toBe(false);
  writeFileSync(path.join(root, "b.md"), "b");
  expect(namesIn(view, root)).toEqual(["a.md", "b.md"]);
  await look();
  expect(asked.at(-1)).toEqual([root]);
});
