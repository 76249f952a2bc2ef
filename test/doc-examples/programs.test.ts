import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createPlace, examplesFolder } from "../support/doc-examples.ts";

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

describe("memory-in-ten-lines.ts", () => {
  const files = { "MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n" };

  test("prints the line with its citation", async () => {
    const place = createPlace(files);
    const { stdout, exitCode } = await place.run("memory-in-ten-lines.ts", [place.notes, "port of staging"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^MEMORY\.md#L1-L3 \(0\.\d\d\)\n/u);
    expect(stdout).toContain("port 5544");
  });
});

test("tools-for-sdks.ts gives the same lines by the tools of five SDKs", async () => {
  const place = createPlace({ "MEMORY.md": "# Memory\n\n- The staging database listens on port 5544.\n" });
  const { stdout, exitCode } = await place.run("tools-for-sdks.ts", [place.notes, "port of staging"]);
  expect(exitCode).toBe(0);
  expect(stdout.match(/listens on port 5544/gu)).toHaveLength(5);
});

describe("custom-embedding-provider", () => {
  test("finds by meaning what no word of the question stands in", async () => {
    const place = createPlace({
      "memory/vehicle.md": "# Vehicle\n\nBought for 9,000 euro in March.\n",
      "memory/physician.md": "# Physician\n\nOpen on Mondays.\n",
      "memory/garden.md": "# Garden\n\nTomatoes go out after the last frost.\n",
    });
    const { stdout, exitCode } = await place.run("custom-embedding-provider/search-by-meaning.ts", [
      place.notes,
      "automobile",
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("hybrid, ok\nvectors of thesaurus, words-and-meanings-1\n");
    expect(stdout).toMatch(/by words \S+\n# Vehicle/u);
    expect(/^(memory\/\S+): by meaning (0\.\d+), by words (0\.\d+)$/mu.exec(stdout)?.slice(1)).toEqual([
      "memory/vehicle.md#L1-L3",
      expect.stringMatching(/^0\.[4-9]/u),
      "0.00",
    ]);
  });
});
