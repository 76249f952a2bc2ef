import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendNote } from "@memslot/agent-kit";
import { type Memory, type MemorySearchResult, type SearchReport, openMemory, parseConfig } from "@memslot/core";
import memoryCore from "@memslot/memory-core";

// The whole way, with real files and a real index: what no package can tell alone.

const group = "agent:main:telegram:group:-1";
const at = new Date("2026-11-22T13:05:00Z");
let root = "";
let opened: Memory[] = [];

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "memslot-folder-"));
});

afterEach(async () => {
  for (const memory of opened) await memory.close();
  opened = [];
  await rm(root, { recursive: true, force: true });
});

async function write(files: Readonly<Record<string, string>>, folder = "notes"): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

async function open(memorySearch: Record<string, unknown> = {}, folder = "notes"): Promise<Memory> {
  const memory = await openMemory({
    config: parseConfig(
      { agents: { defaults: { memorySearch: { provider: "none", sync: { watch: false }, ...memorySearch } } } },
      { stateDir: path.join(root, `state-of-${folder}`) },
    ),
    agentId: "main",
    workspaceDir: path.join(root, folder),
    plugins: [memoryCore],
    notify: () => {},
  });
  opened.push(memory);
  return memory;
}

async function ask(
  memory: Memory,
  query: string,
  sessionKey?: string,
): Promise<{ results: MemorySearchResult[]; report: SearchReport | undefined }> {
  let report: SearchReport | undefined;
  const onDebug = (told: SearchReport): void => void (report = told);
  return { results: await memory.search(query, { minScore: 0, maxResults: 100, sessionKey, onDebug }), report };
}

const pathsOf = ({ results }: { results: MemorySearchResult[] }): string[] =>
  [...new Set(results.map((result) => result.path))].toSorted();

const notes = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [
    `area ${index % 4}/${index}.md`,
    `# Note ${index}\n\nA walrus was seen.\n`,
  ]),
);

describe("an agent that writes into a folder of notes", () => {
  test.each(["daily", "longterm"] as const)(
    "hides none of them with a %s note, also where the index is made anew",
    async (kind) => {
      await write(notes);
      const memory = await open();
      expect(pathsOf(await ask(memory, "walrus"))).toHaveLength(40);
      const workspaceDir = path.join(root, "notes");
      const { path: written } = await appendNote({ workspaceDir, text: "A walrus again.", kind, at, timeZone: "UTC" });
      expect(written).toBe(kind === "daily" ? "memory/2026-11-22.md" : "MEMORY.md");
      expect(pathsOf(await ask(memory, "walrus"))).toEqual([...Object.keys(notes), written].toSorted());
      await memory.close();
      await rm(path.join(root, "state-of-notes"), { recursive: true });
      expect(pathsOf(await ask(await open(), "walrus"))).toEqual([...Object.keys(notes), written].toSorted());
    },
  );

  test("leaves no mark in the workspace of an agent, begun or to be begun", async () => {
    await write({ "MEMORY.md": "# Memory\n", "other.md": "walrus\n" });
    await write({ "AGENTS.md": "walrus\n", "SOUL.md": "walrus\n" }, "begun");
    for (const folder of ["notes", "begun"]) {
      const workspaceDir = path.join(root, folder);
      await appendNote({ workspaceDir, text: "A walrus again.", kind: "daily", at, timeZone: "UTC" });
      expect(existsSync(path.join(workspaceDir, ".memslot-notes"))).toBe(false);
      expect(pathsOf(await ask(await open({}, folder), "walrus"))).toEqual(["memory/2026-11-22.md"]);
    }
  });
});

describe("a group", () => {
  const shared = { "team/plan.md": "# Plan\n\nA heron was seen by the team.\n", "team/x.md": "Nothing of that.\n" };
  const own = { "Zanzibar.md": "# Zanzibar\n\nheron zanzibar secret\n", "team/own/y.md": "zanzibar heron heron\n" };
  const queries = ["heron", "zanzibar", "zanz", "heron zanzibar secret", "2026-05-04", "who is Zanzibar", "plan", "y"];

  test("is told the very same with the notes of the owner and without them", async () => {
    await write(shared);
    await write({ ...shared, ...own, ...notes, "2026-05-04.md": "heron\n" }, "full");
    const extraOf = (folder: string): Record<string, unknown> => ({
      extraPaths: [{ path: path.join(root, folder, "team"), pattern: "*.md" }],
    });
    const [few, all] = [await open(extraOf("notes")), await open(extraOf("full"), "full")];
    await Promise.all([few.sync(), all.sync()]);
    let found = 0;
    for (const query of queries) {
      const [before, after] = [await ask(few, query, group), await ask(all, query, group)];
      const told = ({ results, report }: typeof before): unknown => ({ results, report: { ...report, timingsMs: 0 } });
      expect([query, told(after)]).toEqual([query, told(before)]);
      found += after.results.length;
    }
    expect(found).toBe(3);
    expect(pathsOf(await ask(all, "zanzibar"))).toEqual(["Zanzibar.md", "team/own/y.md"]);
  });

  test("reads no note but those of a shared place", async () => {
    await write({ ...shared, ...own });
    const memory = await open({ extraPaths: [path.join(root, "notes/team/plan.md")] });
    const read = (relPath: string, sessionKey?: string): Promise<unknown> => memory.readFile({ relPath, sessionKey });
    await expect(read("team/plan.md", group)).resolves.toMatchObject({ status: "ok" });
    await expect(read("Zanzibar.md")).resolves.toMatchObject({ status: "ok" });
    for (const relPath of ["Zanzibar.md", "team/x.md", "team/own/y.md", "team/../Zanzibar.md"])
      await expect(read(relPath, group), relPath).rejects.toMatchObject({ code: "PATH_NOT_ALLOWED" });
  });
});
