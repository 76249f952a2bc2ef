import { linkSync, lstatSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { createKnownFiles, isSameFile } from "./same-file.ts";
import { tempFolder as folderWith } from "@memslot/test-tools/files";

test("two files that a disk gives one number are two all the same", () => {
  const folder = folderWith({ "a.md": "", "b.md": "" });
  const [a, b] = [path.join(folder, "a.md"), path.join(folder, "b.md")];
  linkSync(a, path.join(folder, "c.md"));
  const known = createKnownFiles<{ absolutePath: string }>();
  // As FAT on macOS numbers empty files, or a number of Windows that a JavaScript number cannot hold.
  const stats = lstatSync(a, { bigint: true });
  expect(known.add({ absolutePath: a }, stats)).toBeUndefined();
  expect(known.add({ absolutePath: b }, stats)).toBeUndefined();
  expect(known.add({ absolutePath: path.join(folder, "c.md") }, stats)).toEqual({ absolutePath: a });
});

test("two names of one file are the same, two files with the same content are not", () => {
  const folder = folderWith({ "a.md": "same", "b.md": "same" });
  const at = (name: string): string => path.join(folder, name);
  linkSync(at("a.md"), at("c.md"));
  expect(isSameFile(at("a.md"), at("c.md"))).toBe(true);
  expect(isSameFile(at("a.md"), at("b.md"))).toBe(false);
  expect(isSameFile(at("a.md"), at("none.md"))).toBe(false);
  expect(isSameFile(at("none.md"), at("none.md"))).toBe(false);
});
