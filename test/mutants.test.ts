import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/markdown-examples.ts";

interface Mutant {
  breaks: string;
  file: string;
  was: string;
  is: string;
  tests: string[];
}

const lists = path.join(root, "scripts/mutants");
const mutants = readdirSync(lists).flatMap((name) => {
  return JSON.parse(readFileSync(path.join(lists, name), "utf8")) as Mutant[];
});

test("every break of `pnpm mutants` still has its place, once, and its tests", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(44);
  const gone = mutants.filter(({ file, was, tests }) => {
    const place = path.join(root, file);
    if (!existsSync(place) || !tests.every((each) => existsSync(path.join(root, each)))) return true;
    return readFileSync(place, "utf8").split(was).length !== 2;
  });
  expect(gone).toEqual([]);
});
