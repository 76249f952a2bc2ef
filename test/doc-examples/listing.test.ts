import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { examplesFolder } from "./place.ts";

const programs = readdirSync(examplesFolder, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll(path.sep, "/"))
  .filter((file) => file.endsWith(".ts") && !file.includes("node_modules/"));
/** Files that another one of their folder is made of. */
const parts = new Set(
  programs.flatMap((file) =>
    [...textOf(file).matchAll(/from "\.\/([^"]+)"/gu)].map(([, name = ""]) =>
      path.posix.join(path.posix.dirname(file), name),
    ),
  ),
);
const runnable = programs.filter((file) => !file.endsWith("/index.ts") && !parts.has(file));

function textOf(file: string): string {
  return readFileSync(path.join(examplesFolder, file), "utf8");
}

test("there are programs", () => {
  expect(programs.length).toBeGreaterThanOrEqual(6);
});

test.each(programs)("the README of the examples links to %s or to its folder", (file) => {
  const targets = [...textOf("README.md").matchAll(/\]\(([^)]+)\)/gu)].map(([, target = ""]) => target);
  const folder = path.posix.dirname(file);
  expect(targets.some((target) => target === file || (folder !== "." && target.startsWith(`${folder}/`)))).toBe(true);
});

test.each(runnable)("the first line of %s installs all that it imports, and runs it", (file) => {
  const [first = "", ...lines] = textOf(file).split("\n");
  expect(first).toMatch(/^\/\/ npm install /u);
  expect(first).toMatch(new RegExp(` node (?:--test )?${RegExp.escape(path.basename(file))}(?: |$)`, "u"));
  const words = first.split(" ");
  const imported = [...lines.join("\n").matchAll(/from "([^"]+)"/gu)].map(([, name = ""]) => name);
  for (const name of imported.filter((one) => !/^(?:node:|\.)/u.test(one))) {
    const packageName = name.split("/", name.startsWith("@") ? 2 : 1).join("/");
    expect(words).toContain(packageName);
  }
});

test.each(programs)("%s is short enough to be read at once", (file) => {
  // A store is a piece of work: each part of it fits on some pages.
  expect(textOf(file).split("\n").length).toBeLessThanOrEqual(parts.has(file) ? 180 : 72);
});
