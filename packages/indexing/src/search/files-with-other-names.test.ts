import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isClosed, sessionScope } from "./session-scope.ts";
import type { PathScope } from "../chunk-store.ts";

function houseOf(): { workspaceDir: string; shared: string; write: (name: string) => string } {
  const root = realpathSync.native(mkdtempSync(path.join(tmpdir(), "memslot-names-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const workspaceDir = path.join(root, "notes");
  const shared = path.join(root, "shared");
  for (const folder of ["notes/memory", "shared/deep", "shared/node_modules"])
    mkdirSync(path.join(root, folder), { recursive: true });
  return {
    workspaceDir,
    shared,
    write(name) {
      const file = path.join(root, name);
      writeFileSync(file, `${name}\n`);
      return file;
    },
  };
}

async function notesFor(workspaceDir: string, extraPaths: string[]): Promise<PathScope> {
  const scope = await sessionScope({
    sessionKey: "agent:main:telegram:group:1",
    audience: "shared",
    agentId: "main",
    workspaceDir,
    settings: { extraPaths, notes: "agent" },
    signal: new AbortController().signal,
    transcriptOf: async () => undefined,
    journalOf: () => [],
  });
  const notes = scope("memory");
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
  expect(without.filter((name) => name.startsWith("../")).toSorted()).toEqual([
    "../shared/deep/secret.md",
    "../shared/memory.md",
    "../shared/one.md",
    "../shared/two.md",
  ]);
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
