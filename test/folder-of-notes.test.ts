import { existsSync, rmSync } from "node:fs";
import { appendNote } from "@memslot/agent-kit";
import type { Memory } from "memslot";
import { describe, expect, test } from "vitest";
import { ask, useHouse } from "./support/temp-workspace.ts";

// The whole way, with real files and a real index: what no package can tell alone.

const at = new Date("2026-11-22T13:05:00Z");

interface Folder {
  workspace: string;
  open(memorySearch?: Record<string, unknown>): Promise<Memory>;
  forget(): void;
}

/** A plain folder of notes, not laid out for an agent. */
function useFolder(notes: Readonly<Record<string, string>>): Folder {
  const house = useHouse(notes);
  if (!Object.keys(notes).some((name) => name.startsWith("memory/"))) house.remove("memory");
  return {
    workspace: house.notes,
    open: (memorySearch) => house.open({ memorySearch: { sync: { watch: false }, ...memorySearch } }),
    forget: () => rmSync(house.stateDir, { recursive: true }),
  };
}

const wide = { minScore: 0, maxResults: 100 };
const found = async (memory: Memory, query: string): Promise<string[]> =>
  [...new Set((await ask(memory, query, wide)).paths)].toSorted();

const notes = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [
    `area ${index % 4}/${index}.md`,
    `# Note ${index}\n\nA walrus was seen.\n`,
  ]),
);

describe("an agent that writes into a folder of notes", () => {
  test.each(["daily", "longterm"] as const)(
    "hides none of them with a %s note, also where the index is rebuilt",
    async (kind) => {
      const { workspace: workspaceDir, open, forget } = useFolder(notes);
      const memory = await open();
      expect(await found(memory, "walrus")).toHaveLength(40);
      const { path: written } = await appendNote({ workspaceDir, text: "A walrus again.", kind, at, timeZone: "UTC" });
      expect(written).toBe(kind === "daily" ? "memory/2026-11-22.md" : "MEMORY.md");
      expect(await found(memory, "walrus")).toEqual([...Object.keys(notes), written].toSorted());
      await memory.close();
      forget();
      expect(await found(await open(), "walrus")).toEqual([...Object.keys(notes), written].toSorted());
    },
  );

  test.each([
    ["begun", { "MEMORY.md": "# Memory\n", "other.md": "walrus\n" }],
    ["to be begun", { "AGENTS.md": "walrus\n", "SOUL.md": "walrus\n" }],
  ])("leaves no mark in the workspace of an agent, %s", async (_, files) => {
    const { workspace: workspaceDir, open } = useFolder(files);
    await appendNote({ workspaceDir, text: "A walrus again.", kind: "daily", at, timeZone: "UTC" });
    expect(existsSync(`${workspaceDir}/.memslot-notes`)).toBe(false);
    expect(await found(await open(), "walrus")).toEqual(["memory/2026-11-22.md"]);
  });
});
