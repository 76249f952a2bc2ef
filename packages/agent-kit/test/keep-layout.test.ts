import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendNote, writeSessionNote } from "@memslot/agent-kit";
import { notesLayout } from "@memslot/core/files";

const mark = ".memslot-notes";
const at = new Date("2026-11-22T13:05:00Z");
let workspaceDir: string;

beforeEach(async () => {
  workspaceDir = await mkdtemp(path.join(os.tmpdir(), "memslot-layout-"));
});

afterEach(async () => rm(workspaceDir, { recursive: true, force: true }));

async function write(relPath: string, content = "note\n"): Promise<void> {
  await mkdir(path.dirname(path.join(workspaceDir, relPath)), { recursive: true });
  await writeFile(path.join(workspaceDir, relPath), content);
}

/** Everything that makes one of the agent's places. */
const writers: Record<string, () => Promise<unknown>> = {
  "a daily note": () => appendNote({ workspaceDir, text: "The code is 19.", kind: "daily", at, timeZone: "UTC" }),
  "a lasting note": () => appendNote({ workspaceDir, text: "The code is 19.", kind: "longterm", at, timeZone: "UTC" }),
  "a note of a session": () =>
    writeSessionNote({
      workspaceDir,
      session: { key: "k", id: "s1" },
      messages: [{ id: "1", at: at.toISOString(), role: "user", text: "hello" }],
      describe: async () => ({ slug: "hello", text: "Somebody said hello." }),
      at,
      timeZone: "UTC",
    }),
};

describe.each(Object.entries(writers))("%s", (_, writeNote) => {
  test("leaves a folder of notes what it is, and the mark says what it is for", async () => {
    await write("deep/er/Heat pump.md");
    await writeNote();
    expect(notesLayout(workspaceDir, "auto").layout).toBe("all");
    expect(await readFile(path.join(workspaceDir, mark), "utf8")).toContain("folder of notes");
    expect(await readdir(workspaceDir)).toHaveLength(3);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["is empty", async () => undefined],
    ["holds what agents begin with", async () => Promise.all([write("AGENTS.md"), write("SOUL.md")])],
    ["is an agent's by MEMORY.md", async () => Promise.all([write("MEMORY.md"), write("Heat pump.md")])],
    ["is an agent's by memory/", async () => Promise.all([write("memory/a.md"), write("Heat pump.md")])],
  ])("makes no mark in a workspace that %s", async (_name, prepare) => {
    await prepare();
    await writeNote();
    expect(await readdir(workspaceDir)).not.toContain(mark);
    expect(notesLayout(workspaceDir, "auto").layout).toBe("agent");
  });

  test("leaves a mark that is there as it is, and follows no link in its place", async () => {
    await write("Heat pump.md");
    await write(mark, "mine");
    await writeNote();
    expect(await readFile(path.join(workspaceDir, mark), "utf8")).toBe("mine");
    for (const name of [mark, "memory", "MEMORY.md"])
      await rm(path.join(workspaceDir, name), { recursive: true, force: true });
    const outside = path.join(workspaceDir, "outside.txt");
    await symlink(outside, path.join(workspaceDir, mark));
    await writeNote();
    expect(await readdir(workspaceDir)).not.toContain("outside.txt");
    expect(notesLayout(workspaceDir, "auto").layout).toBe("all");
  });
});

test("many writers at once make one mark and lose no note", async () => {
  await write("Heat pump.md");
  const texts = Array.from({ length: 20 }, (_, index) => `Fact number ${index}.`);
  await Promise.all(
    texts.map((text, index) =>
      appendNote({ workspaceDir, text, kind: index % 2 === 0 ? "daily" : "longterm", at, timeZone: "UTC" }),
    ),
  );
  const written =
    (await readFile(path.join(workspaceDir, "MEMORY.md"), "utf8")) +
    (await readFile(path.join(workspaceDir, "memory/2026-11-22.md"), "utf8"));
  expect(texts.filter((text) => written.includes(text))).toHaveLength(20);
  expect(notesLayout(workspaceDir, "auto").layout).toBe("all");
});
