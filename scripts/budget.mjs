// Holds the size and the structure of the code against `budget.json`: `pnpm check:budget`. With `--lower`, writes today's
// figures where they are below the budget. A figure is raised by hand, in a commit of its own that gives the reason.
//
// lines: code lines of a package without tests, comments and blank lines. tests: the same of all tests, and their files.
// circles: groups of files of one package that import each other, types included. upward: imports between the folders of
// a package that have to go before its folders can be put in an order where imports point one way. words: how often the
// documents, comments, messages and names use words that a plain word should replace.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { circles, importGraph, isModule, isTest, listFiles, root } from "./imports.mjs";

const file = path.join(root, "scripts/budget.json");
const budget = JSON.parse(readFileSync(file, "utf8"));
const lower = process.argv.includes("--lower");
const files = listFiles().filter(isModule);
const graph = importGraph(listFiles());
const over = [];

const packages = Object.keys(budget.lines);
const unlisted = [...new Set(files.map((each) => each.split("/").slice(0, 2).join("/")))].filter(
  (folder) => /^(?:packages|extensions|apps)\//u.test(folder) && !packages.includes(folder),
);
for (const folder of unlisted) over.push(`${folder} has no budget: add it to scripts/budget.json.`);
for (const folder of packages) {
  const own = files.filter((each) => each.startsWith(`${folder}/`) && !isTest(each));
  compare(budget.lines, folder, codeLines(own), "code lines");
  // A package imports its own files by relative paths.
  const inside = new Map(own.map((each) => [each, [...graph.get(each)].filter((target) => own.includes(target))]));
  compare(budget.circles, folder, circles(inside).length, "circles");
  compare(budget.upward, folder, upwardImports(inside), "upward imports");
}
const fakes = files.filter((each) => /^test\/(?:fakes|tools)\/src\//u.test(each));
const tests = files.filter((each) => isTest(each) && !fakes.includes(each));
compare(budget.tests, "lines", codeLines(tests), "code lines of tests");
compare(budget.tests, "files", tests.length, "test files");
compare(budget.tests, "fakes", codeLines(fakes), "code lines of test/fakes and test/tools");

const texts = listFiles().filter((each) => /\.(?:md|ts|tsx|mjs)$/u.test(each) && !each.startsWith("docs/decisions/"));
const counts = new Map(Object.keys(budget.words).map((word) => [word, 0]));
const words = new RegExp(`\\b(?:${[...counts.keys()].join("|")})\\b`, "giu");
for (const each of texts)
  for (const [word] of readFileSync(path.join(root, each), "utf8").matchAll(words))
    counts.set(word.toLowerCase(), counts.get(word.toLowerCase()) + 1);
for (const [word, count] of counts) compare(budget.words, word, count, "times this word");

if (lower) writeFileSync(file, `${JSON.stringify(budget, null, 2)}\n`);
for (const line of over) console.error(line);
if (over.length > 0) {
  console.error("Make the code smaller, or raise scripts/budget.json in a commit of its own with the reason.");
  process.exitCode = 1;
}

function compare(figures, name, today, what) {
  const allowed = figures[name] ?? 0;
  if (today > allowed) over.push(`${name}: ${today} ${what}, the budget is ${allowed}.`);
  if (lower && today < allowed) figures[name] = today;
}

function codeLines(of) {
  const lines = of.flatMap((each) => readFileSync(path.join(root, each), "utf8").split("\n"));
  return lines.filter((line) => !/^\s*(?:\/\/|\/?\*|$)/u.test(line)).length;
}

/** While folders import each other in a circle, cuts the pair of folders with the fewest imports; counts what it cut. */
function upwardImports(inside) {
  const pairs = new Map();
  for (const [from, targets] of inside)
    for (const to of targets) {
      const [a, b] = [from, to].map((each) => each.split("/").slice(2, -1).slice(0, 2).join("/"));
      if (a === b || !a.includes("/") || !b.includes("/")) continue;
      pairs.set(`${a} ${b}`, (pairs.get(`${a} ${b}`) ?? 0) + 1);
    }
  for (let cut = 0; ;) {
    const folders = new Map();
    for (const pair of pairs.keys()) {
      const [a, b] = pair.split(" ");
      folders.set(a, [...(folders.get(a) ?? []), b]);
    }
    const rings = circles(folders);
    if (rings.length === 0) return cut;
    const tied = [...pairs].filter(([pair]) =>
      rings.some((ring) => pair.split(" ").every((each) => ring.includes(each))),
    );
    const [fewest, count] = tied.toSorted((left, right) => left[1] - right[1] || (left[0] < right[0] ? -1 : 1))[0];
    pairs.delete(fewest);
    cut += count;
  }
}
