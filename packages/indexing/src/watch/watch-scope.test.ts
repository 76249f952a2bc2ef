import { statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { tempFolder as folderWith } from "@memslot/test-tools/files";
import { createWatchScope } from "./watch-scope.ts";

test("what a folder of notes leaves out is not watched, unless another root lies in it", () => {
  const folder = folderWith({
    ".gitignore": "build/\nprivate/\n",
    "build/a.md": "a",
    "notes/deep/b.md": "b",
    ".hidden/c.md": "c",
    "node_modules/d.md": "d",
    "private/shared/e.md": "e",
    "private/own/f.md": "f",
    "state/g.md": "g",
  });
  const at = (name: string): string => path.join(folder, name);
  const scope = createWatchScope([
    { path: folder, kind: "folder", notesBut: at("state") },
    { path: at("private/shared"), kind: "folder" },
  ]);
  const looked = (name: string): string => scope.lookAt(at(name), statSync(at(name)));
  expect(["notes", "notes/deep", "private", "private/shared"].map(looked)).toEqual(Array(4).fill("watched"));
  expect(["build", ".hidden", "node_modules", "state"].map(looked)).toEqual(Array(4).fill("elsewhere"));
  expect(looked("notes/deep/b.md")).toBe("told of");
  expect(["a.mdx", "b.MARKDOWN", ".gitignore", "c.png"].map((name) => scope.concerns(folder, name))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(["notes/.gitignore", "a.md"].map((name) => scope.changesRules(folder, name))).toEqual([true, false]);
});
