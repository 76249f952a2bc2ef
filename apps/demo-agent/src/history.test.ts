import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openHistory } from "./history.ts";

let folder: string;
let file: string;
let told: string[];
const tell = (line: string): void => void told.push(line);
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "memslot-history-test-"));
  file = path.join(folder, "demo-history");
  told = [];
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

test("what was typed comes back, the newest first, readable by its owner only", async () => {
  await writeFile(file, "old\n", { mode: 0o644 });
  const typed = ["third", "second", ...openHistory(file, tell).lines];
  openHistory(file, tell).keep(typed);
  expect(openHistory(file, tell).lines).toEqual(["third", "second", "old"]);
  expect(await readFile(file, "utf8")).toBe("old\nsecond\nthird\n");
  if (process.platform !== "win32") expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["demo-history"]);
});

test("a line that begins with a space is forgotten, and no more than 1,000 are kept", () => {
  const typed = [" secret", ...Array.from({ length: 1_200 }, (_, index) => `line ${index}`)];
  openHistory(file, tell).keep(typed);
  expect(typed).not.toContain(" secret");
  const { lines } = openHistory(file, tell);
  expect([lines.length, lines[0], lines.at(-1)]).toEqual([1_000, "line 0", "line 999"]);
});

test("a file that cannot be used is told once, and without a file nothing is written", async () => {
  await mkdir(file);
  const history = openHistory(file, tell);
  history.keep(["one"]);
  history.keep(["two", "one"]);
  expect(told).toEqual([expect.stringMatching(/history of the chat is not kept \(.*demo-history\): /)]);
  openHistory(undefined, tell).keep(["one"]);
  expect(await readdir(folder)).toEqual(["demo-history"]);
});
