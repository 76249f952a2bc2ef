import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./support/repository.ts";

interface Mutant {
  breaks: string;
  file: string;
  was: string;
  is: string;
  tests: string[];
}

const lists = path.join(root, "scripts/mutants");
const read = (name: string): Mutant[] => JSON.parse(readFileSync(path.join(lists, name), "utf8")) as Mutant[];
const mutants = readdirSync(lists).flatMap(read);

test("every break of `pnpm mutants` says what it breaks, and still has its place, once, and its tests", () => {
  const gone = mutants.filter(({ breaks, file, was, tests }) => {
    const place = path.join(root, file);
    if (breaks === "" || !existsSync(place) || !tests.every((each) => existsSync(path.join(root, each)))) return true;
    return readFileSync(place, "utf8").split(was).length !== 2;
  });
  // A moved line: search for what the entry breaks, and change its file and text in the commit that moves the line.
  expect(gone).toEqual([]);
});

test("there are 80 breaks, and one for each folder that has a budget", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(80);
  const { lines } = JSON.parse(readFileSync(path.join(root, "scripts/budget.json"), "utf8")) as { lines: object };
  expect(Object.keys(lines).filter((folder) => !mutants.some(({ file }) => file.startsWith(`${folder}/`)))).toEqual([]);
});
