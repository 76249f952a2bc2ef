import { expect, test } from "vitest";
import type { FileRecord } from "../chunk-index.ts";
import type { ScannedFile } from "../files/scan.ts";
import type { IndexedSource } from "../indexed-source.ts";
import { isAsStored } from "./sync.ts";

const stored: FileRecord = { path: "a.md", source: "memory", hash: "h", mtimeMs: 7, size: 3, recipe: "r" };
const found: ScannedFile = { path: "a.md", absolutePath: "/a.md", mtimeMs: 7, size: 3 };
/** One that tells of its files by time and size alone, as transcripts do. */
const source = { source: "sessions" } as IndexedSource;

test("time and size both count", () => {
  expect(isAsStored(found, stored, source)).toBe(true);
  expect(isAsStored({ ...found, size: 4 }, stored, source)).toBe(false);
  expect(isAsStored({ ...found, mtimeMs: 8 }, stored, source)).toBe(false);
});
