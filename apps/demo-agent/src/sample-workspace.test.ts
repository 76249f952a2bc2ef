import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { createSampleWorkspace, sampleQuestions } from "./sample-workspace.ts";

test("each copy is fresh, under the folder for temporary files, and goes away whole", async () => {
  const [first, second] = await Promise.all([createSampleWorkspace(), createSampleWorkspace()]);
  expect(first.rootDir).not.toBe(second.rootDir);
  expect(path.basename(first.rootDir)).toMatch(/^memslot-demo-/);
  expect(path.dirname(first.stateDir)).toBe(first.rootDir);
  expect(first.workspaceDir.startsWith(os.tmpdir()) || first.workspaceDir.startsWith("/private")).toBe(true);
  const names = await readdir(first.workspaceDir, { recursive: true });
  expect(names).toContain("MEMORY.md");
  expect(names.filter((name) => name.endsWith(".md")).length).toBeGreaterThanOrEqual(30);
  await first.remove();
  second.removeNow();
  expect([existsSync(first.rootDir), existsSync(second.rootDir)]).toEqual([false, false]);
});

test("there are three questions to start with, one of them in Chinese, that the notes are known to answer", async () => {
  const known: { question: string; kind: string }[] = JSON.parse(
    await readFile(new URL("../sample-workspace.questions.json", import.meta.url), "utf8"),
  );
  expect(sampleQuestions).toHaveLength(3);
  expect(sampleQuestions.filter((question) => /\p{Script=Han}/u.test(question))).toHaveLength(1);
  for (const question of sampleQuestions) {
    expect(known).toContainEqual(expect.objectContaining({ question, kind: "keyword" }));
  }
});
