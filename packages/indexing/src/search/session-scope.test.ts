import { describe, expect, test } from "vitest";
import { tempFolder, writeFiles } from "@memslot/test-tools/files";
import type { PathScope } from "../chunk-store.ts";
import { isClosed, sessionScope, type SourceScope } from "./session-scope.ts";
import { linkSync } from "node:fs";
import path from "node:path";
import tables from "./test/names.json" with { type: "json" };

async function scopeOf(
  change: Partial<Parameters<typeof sessionScope>[0]> & { extraPaths?: readonly string[] } = {},
): Promise<SourceScope> {
  const { extraPaths = [], ...rest } = change;
  return await sessionScope({
    sessionKey: undefined,
    audience: "private",
    agentId: "main",
    workspaceDir: "/home/anna/notes",
    settings: { extraPaths: [...extraPaths], notes: "agent" },
    signal: new AbortController().signal,
    transcriptOf: async (key) => (key.includes("group") ? "sessions/g.jsonl" : undefined),
    journalOf: (transcript) => [transcript.replace("sessions/", "journal/")],
    ...rest,
  });
}

/** What a store is to let through, in the words of the contract. */
function isSeen({ within, without }: PathScope, path: string): boolean {
  const fits = (prefix: string): boolean =>
    prefix === "" || prefix === path || (prefix.endsWith("/") && path.startsWith(prefix));
  return within.some(fits) && !without.some(fits);
}

test.each([undefined, "main", "agent:main:main", " Agent:MAIN:main "])(
  "the main session %j sees everything",
  async (sessionKey) => {
    const scope = await scopeOf({ sessionKey });
    expect(scope("memory")).toBeUndefined();
    expect(scope("sessions")).toBeUndefined();
  },
);

test("another session of the owner sees the notes, and of the transcripts its own", async () => {
  const scope = await scopeOf({
    sessionKey: "agent:main:signal:direct:anna",
    transcriptOf: async () => "sessions/own.jsonl",
  });
  expect(scope("memory")).toBeUndefined();
  expect(scope("sessions")).toEqual({ within: ["sessions/own.jsonl"], without: [] });
  const without = await scopeOf({ sessionKey: "agent:main:signal:direct:anna" });
  expect(isClosed(without("sessions"))).toBe(true);
});

describe("a group", () => {
  const group = { sessionKey: "agent:main:telegram:group:1", audience: "shared" } as const;

  test("without extra paths sees nothing but its own transcript", async () => {
    const scope = await scopeOf(group);
    expect(isClosed(scope("memory"))).toBe(true);
    expect(scope("sessions")).toEqual({ within: ["sessions/g.jsonl"], without: [] });
  });

  test("sees what extra paths add, and the owner's own notes not even there", async () => {
    const scope = await scopeOf({ ...group, extraPaths: [".", "../shared", "docs/plan.md", "memory/team"] });
    const notes = scope("memory") as PathScope;
    for (const path of ["../shared/a.md", "docs/plan.md", "docs/other.md", "anything.md"])
      expect(isSeen(notes, path), path).toBe(true);
    for (const path of tables.ownPaths) expect(isSeen(notes, path), path).toBe(false);
  });

  test("does not see the folder around the workspace by a path that leads back into it", async () => {
    const scope = await scopeOf({ ...group, extraPaths: [".."] });
    const notes = scope("memory") as PathScope;
    expect(isSeen(notes, "MEMORY.md")).toBe(false);
    expect(isSeen(notes, "memory/2026-05-04.md")).toBe(false);
    expect(isSeen(notes, "../letters/a.md")).toBe(true);
  });
});

describe("files with other names", () => {
  function houseOf(): { workspaceDir: string; shared: string; write: (name: string) => string } {
    const root = tempFolder({ "notes/memory/day.md": "", "shared/deep/note.md": "", "shared/node_modules/x.md": "" });
    return {
      workspaceDir: path.join(root, "notes"),
      shared: path.join(root, "shared"),
      write(name) {
        writeFiles(root, { [name]: `${name}\n` });
        return path.join(root, name);
      },
    };
  }

  async function notesFor(workspaceDir: string, extraPaths: string[]): Promise<PathScope> {
    const group = { sessionKey: "agent:main:telegram:group:1", audience: "shared", workspaceDir, extraPaths } as const;
    const notes = (await scopeOf(group))("memory");
    if (notes === undefined) throw new Error("a group sees everything");
    return notes;
  }

  test("what a group may see is without notes that have another name, whatever that is", async () => {
    const { workspaceDir, shared, write } = houseOf();
    write("shared/plain.md");
    // A private file that is no note has a name that no index knows.
    linkSync(write("notes/memory/secret.txt"), path.join(shared, "deep/secret.md"));
    linkSync(write("notes/MEMORY.md"), path.join(shared, "memory.md"));
    linkSync(write("shared/one.md"), path.join(shared, "two.md"));
    linkSync(write("shared/picture.png"), path.join(shared, "picture2.png"));
    const { without } = await notesFor(workspaceDir, [shared]);
    expect(without.filter((name) => name.startsWith("../")).toSorted()).toEqual(tables.outsidePaths);
  });

  test("a single file as an extra path is left out in the same way", async () => {
    const { workspaceDir, shared, write } = houseOf();
    const file = path.join(shared, "one.md");
    linkSync(write("notes/MEMORY.md"), file);
    expect((await notesFor(workspaceDir, [file])).without).toContain("../shared/one.md");
  });

  test("a folder with very many of them is left out as a whole, and a search still has an answer", async () => {
    const { workspaceDir, shared, write } = houseOf();
    const file = write("shared/deep/0.md");
    for (let index = 1; index <= 501; index++) linkSync(file, path.join(shared, `deep/${index}.md`));
    const notes = await notesFor(workspaceDir, [shared]);
    expect(notes.without).toContain("../shared/");
    expect(notes.without.length).toBeLessThan(20);
    expect(isClosed(notes)).toBe(false);
  });
});
