import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type MemorySearchResult, type SearchReport, withFallback } from "@memslot/core";
import { fakeManager, guarded, result, settings } from "./support/fakes.ts";
import { folderOf } from "./support/plugin-folders.ts";

let root = "";
let remove: () => Promise<void>;

beforeEach(async () => {
  ({ folder: root, remove } = await folderOf({ "notes/MEMORY.md": "# Notes", "shared/a.md": "# Shared" }));
  await mkdir(join(root, "real"));
  await symlink(join(root, "real"), join(root, "link"));
});

afterEach(() => remove());

async function answer(
  results: MemorySearchResult[],
  { behindSpare = false, sessionKey }: { behindSpare?: boolean; sessionKey?: string } = {},
): Promise<{ results: MemorySearchResult[]; report: SearchReport | undefined }> {
  const manager = fakeManager({ search: async () => results, status: () => ({ backend: "fake", provider: "none" }) });
  const dead = { name: "dead", open: async () => Promise.reject(new Error("never")), failure: new Error("broken") };
  const spare = { name: "fake", manager, open: async () => manager };
  const memory = guarded(behindSpare ? withFallback(dead, spare) : manager, {
    workspaceDir: join(root, "notes"),
    settings: settings({ extraPaths: [join(root, "shared"), { path: join(root, "link"), pattern: "*.md" }] }),
  });
  const reports: SearchReport[] = [];
  const found = await memory.search("q", { minScore: 0, maxResults: 50, sessionKey, onDebug: (r) => reports.push(r) });
  await memory.close();
  return { results: found, report: reports[0] };
}

describe.each([false, true])("results of a plugin (behind a spare: %s)", (behindSpare) => {
  test.each([
    ["memory/a.md", "memory/a.md"],
    ["./memory//a.md", "memory/a.md"],
    ["memory/../MEMORY.md", "MEMORY.md"],
    ["../notes/MEMORY.md", "MEMORY.md"],
    ["<root>/notes/memory/a.md", "memory/a.md"],
    ["../shared/a.md", "../shared/a.md"],
    ["<root>/shared/a.md", "../shared/a.md"],
    ["../link/b.md", "../link/b.md"],
    ["../real/b.md", "../real/b.md"],
    ["..a/b.md", "..a/b.md"],
    ["a..md", "a..md"],
  ])("at %s are at %s", async (given, wanted) => {
    const { results, report } = await answer([result({ path: given.replace("<root>", root) })], { behindSpare });
    expect(results.map(({ path }) => path)).toEqual([wanted]);
    expect(report?.dropped).toEqual({ minScore: 0, source: 0, limit: 0 });
  });

  test.each([
    "../..",
    "..",
    ".",
    "../secret.md",
    "../../../etc/passwd",
    "/etc/passwd",
    "../sharedx/a.md",
    "../shared/../x.md",
    "memory/../../x.md",
    "<root>/x.md",
  ])("at %s are dropped and counted", async (given) => {
    const bad = result({ path: given.replace("<root>", root), score: 0.9 });
    const { results, report } = await answer([bad, result()], { behindSpare });
    expect(results.map(({ path }) => path)).toEqual(["MEMORY.md"]);
    expect(report?.dropped.outside).toBe(1);
    const alone = await answer([bad], { behindSpare });
    expect(alone.results).toEqual([]);
    expect(alone.report?.reason).toContain("1 found, all outside the workspace and extraPaths");
  });

  test("of the same lines are given once, with the best score", async () => {
    const { results, report } = await answer(
      [
        result({ score: 0.4 }),
        result({ score: 0.6, path: "./MEMORY.md" }),
        result({ score: 0.5, endLine: 3 }),
        result({ score: 0.3, source: "sessions" }),
      ],
      { behindSpare },
    );
    expect(results.map(({ score, endLine }) => [score, endLine])).toEqual([
      [0.6, 2],
      [0.5, 3],
    ]);
    expect(report?.dropped).toMatchObject({ duplicate: 1, source: 1 });
  });

  test("with too much text end with the last line that fits", async () => {
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index} ${"x".repeat(40)}`);
    const whole = result({ startLine: 11, endLine: 110, snippet: lines.join("\n") });
    const [cut] = (await answer([whole], { behindSpare })).results;
    expect(cut?.snippet.length).toBeLessThanOrEqual(700);
    const kept = cut?.snippet.split("\n") ?? [];
    expect(kept).toEqual(lines.slice(0, kept.length));
    expect(kept.length).toBeGreaterThan(10);
    expect([cut?.startLine, cut?.endLine]).toEqual([11, 10 + kept.length]);

    const [emoji] = (await answer([result({ endLine: 1, snippet: `x${"🙂".repeat(2500)}` })], { behindSpare })).results;
    expect(emoji?.snippet.length).toBe(699);
    expect(emoji?.snippet.isWellFormed()).toBe(true);
    const parts = result({ startLine: 1, endLine: 90, snippet: `${"y".repeat(600)}\n…\n${"z".repeat(600)}` });
    const [some] = (await answer([parts], { behindSpare })).results;
    expect([some?.snippet, some?.endLine]).toEqual([`${"y".repeat(600)}\n…`, 90]);
    const [fits] = (await answer([result({ snippet: "f".repeat(700) })], { behindSpare })).results;
    expect(fits?.snippet).toHaveLength(700);
  });

  test("with a NUL in their path are refused with the name of the plugin", async () => {
    await expect(answer([result({ path: "memory/a\0.md" })], { behindSpare })).rejects.toMatchObject({
      code: "PLUGIN",
      message: expect.stringContaining("NUL"),
    });
  });

  test("are private notes however they are spelt", async () => {
    const paths = [`${root}/notes/MEMORY.md`, "./memory//a.md", "../notes/USER.md"].map((path) => result({ path }));
    const { results, report } = await answer([...paths, result({ path: "../shared/a.md" })], {
      behindSpare,
      sessionKey: "agent:main:telegram:group:1",
    });
    expect(results.map(({ path }) => path)).toEqual(["../shared/a.md"]);
    expect(report?.dropped.audience).toBe(3);
  });
});
