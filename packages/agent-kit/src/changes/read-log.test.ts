import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readLog } from "./read-log.ts";

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-log-"));
  file = path.join(folder, "log.jsonl");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const entry = (id: string, more: object = {}): string => `${JSON.stringify({ change: { id, ...more } })}\n`;
const end = (id: string, outcome = "done"): string => `${JSON.stringify({ id, outcome })}\n`;

async function states(): Promise<string[]> {
  return (await readLog(file)).map(({ id, state }) => `${id} ${state}`);
}

test("a log that goes on is read on, with half a line once it is whole and garbage passed over", async () => {
  expect(await states()).toEqual([]);
  writeFileSync(file, entry("a"));
  expect(await states()).toEqual(["a open"]);
  appendFileSync(file, end("a") + entry("b").slice(0, 10));
  expect(await states()).toEqual(["a done"]);
  appendFileSync(file, entry("b").slice(10) + "garbage\n" + end("b", "not done") + end("nobody"));
  expect(await states()).toEqual(["a done", "b not done"]);
  // An entry of this one line, behind half of another that was never finished.
  appendFileSync(file, `{"change"\n${entry("c", { undoes: "a" })}${end("c")}`);
  expect(await states()).toEqual(["a undone", "b not done", "c done"]);
  appendFileSync(file, entry("d", { undoes: "c" }) + end("d"));
  expect(await states()).toEqual(["a done", "b not done", "c undone", "d done"]);
});

test("a log that is another one, shorter or edited is read anew", async () => {
  writeFileSync(file, entry("a") + end("a") + entry("b"));
  expect(await states()).toEqual(["a done", "b open"]);
  writeFileSync(file, entry("x"));
  expect(await states()).toEqual(["x open"]);
  writeFileSync(file, entry("y") + end("y") + entry("z"));
  expect(await states()).toEqual(["y done", "z open"]);
  writeFileSync(`${file}~`, entry("n") + end("n") + entry("m") + end("m"));
  renameSync(`${file}~`, file);
  expect(await states()).toEqual(["n done", "m done"]);
});
