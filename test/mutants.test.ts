import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/markdown-examples.ts";

interface Mutant {
  file: string;
  was: string;
  tests: string[];
}

test("every break of `pnpm mutants` still has its place, once, and its tests", () => {
  const mutants = JSON.parse(readFileSync(path.join(root, "scripts/mutants.json"), "utf8")) as Mutant[];
  expect(mutants.length).toBeGreaterThan(30);
  const gone = mutants.filter(({ file, was, tests }) => {
    const place = path.join(root, file);
    if (!existsSync(place) || !tests.every((each) => existsSync(path.join(root, each)))) return true;
    return readFileSync(place, "utf8").split(was).length !== 2;
  });
  expect(gone).toEqual([]);
});
