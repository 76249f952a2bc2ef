import assert from "node:assert/strict";
import { link, mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { MemoryError, isAbort } from "@memslot/core";
import { linesOf, managerSearch, pathsOf } from "./lab/expect.ts";
import type { MemoryCheck, MemoryLab, OpenedMemory } from "./lab/lab.ts";

const group = "agent:main:telegram:group:-100:topic:7";
const extraNote = "The heron nests in the shared folder.\n";
const privateNotes: readonly string[] = ["MEMORY.md", "USER.md", "memory/2026-01-05.md", "memory/deep/er.md"];

/** The owner's notes and one in a folder that `extraPaths` names, all about the heron. */
async function openWithShared(lab: MemoryLab, extraPaths?: readonly string[]): Promise<OpenedMemory> {
  for (const path of privateNotes) await lab.write(path, "The heron heron heron is a secret of the owner.\n");
  await mkdir(join(lab.outsideDir, "shared"));
  await writeFile(join(lab.outsideDir, "shared/birds.md"), extraNote);
  const opened = await lab.open({ memorySearch: { extraPaths: extraPaths ?? [join(lab.outsideDir, "shared")] } });
  await opened.settle();
  return opened;
}

function sharedSearch(opened: OpenedMemory, maxResults: number) {
  // Below the guard, which takes private notes out of every answer.
  return opened.manager.search(
    "heron",
    managerSearch({ audience: "shared", sessionKey: group, maxResults, minScore: 0 }),
  );
}

/** Who may see what: a group, where others read along, never learns what stands in the owner's own notes. */
export const audienceChecks: readonly MemoryCheck[] = [
  {
    name: "audience: a shared session finds what extraPaths adds and none of the private notes",
    async run(lab) {
      const results = await sharedSearch(await openWithShared(lab), 50);
      assert.deepEqual(
        results.map(({ snippet }) => snippet.trim()),
        [extraNote.trim()],
        pathsOf(results).join(", "),
      );
    },
  },
  {
    name: "audience: private notes take no place from what a shared session may see",
    async run(lab) {
      for (let index = 0; index < 60; index++)
        await lab.write(`memory/${index}.md`, `The heron heron heron, entry ${index}.\n`);
      const opened = await openWithShared(lab);
      const { results } = await opened.ask("heron", { sessionKey: group, maxResults: 1, minScore: 0 });
      assert.deepEqual(
        results.map(({ snippet }) => snippet.trim()),
        [extraNote.trim()],
      );
    },
  },
  {
    name: "audience: an extra path that leads to private notes does not open them to a shared session",
    async run(lab) {
      const paths = [lab.workspaceDir, join(lab.workspaceDir, "memory"), join(lab.workspaceDir, "MEMORY.md")];
      const opened = await openWithShared(lab, paths);
      assert.deepEqual(pathsOf(await sharedSearch(opened, 50)), []);
    },
  },
  {
    name: "audience: a private note under another name (a hard link) is neither found nor read by a shared session",
    async run(lab) {
      for (let index = 0; index < 10; index++)
        await lab.write(`memory/linked-${index}.md`, `The heron heron heron, entry ${index}.\n`);
      const opened = await openWithShared(lab);
      const shared = join(lab.outsideDir, "shared");
      // One that the index knows under its own name, and ten that it comes to know under both.
      await link(join(lab.workspaceDir, "MEMORY.md"), join(shared, "index.md"));
      for (let index = 0; index < 10; index++)
        await link(join(lab.workspaceDir, `memory/linked-${index}.md`), join(shared, `linked-${index}.md`));
      await opened.settle();
      const { results } = await opened.ask("heron", { sessionKey: group, maxResults: 3, minScore: 0 });
      assert.deepEqual(
        results.map(({ snippet }) => snippet.trim()),
        [extraNote.trim()],
        pathsOf(results).join(", "),
      );
      const relPath = relative(lab.workspaceDir, join(shared, "index.md")).replaceAll("\\", "/");
      await assert.rejects(opened.memory.readFile({ relPath, sessionKey: group }), (error) =>
        MemoryError.is(error, "PATH_NOT_ALLOWED"),
      );
      // Without the other name it is a note of that folder alone.
      await lab.remove("MEMORY.md");
      await opened.settle();
      assert.equal((await opened.memory.readFile({ relPath, sessionKey: group })).status, "ok");
    },
  },
  {
    name: "audience: a shared session reads no private note, whether it is there or not",
    async run(lab) {
      const { manager } = await openWithShared(lab);
      for (const relPath of [...privateNotes, "memory/none.md", "./MEMORY.md", "memory/../USER.md"]) {
        const signal = new AbortController().signal;
        const outcome = await manager.readFile({ relPath, from: 1, lines: 120, audience: "shared", signal }).then(
          (result) => JSON.stringify(result),
          (error: unknown) => error,
        );
        assert.ok(MemoryError.is(outcome, "PATH_NOT_ALLOWED"), `${relPath} gave ${String(outcome)}`);
      }
    },
  },
  {
    name: "audience: a shared session reads what it has found",
    async run(lab) {
      const { memory, ask } = await openWithShared(lab);
      const [found] = (await ask("heron", { sessionKey: group, minScore: 0 })).results;
      const read = await memory.readFile({ relPath: found?.path ?? "nothing was found", sessionKey: group });
      assert.deepEqual(linesOf(read), [extraNote.trim()]);
    },
  },
  {
    name: "audience: the owner's sessions find and read everything",
    async run(lab) {
      const { memory, ask } = await openWithShared(lab);
      for (const sessionKey of [undefined, "agent:main:main", "agent:main:telegram:direct:42"]) {
        const { results } = await ask("heron", { sessionKey, maxResults: 50, minScore: 0 });
        assert.equal(results.length, privateNotes.length + 1, `${sessionKey}: ${pathsOf(results).join(", ")}`);
        for (const relPath of privateNotes)
          assert.equal((await memory.readFile({ relPath, sessionKey })).status, "ok", `${sessionKey}: ${relPath}`);
      }
    },
  },
  {
    name: "audience: a direct chat with somebody who is not the owner finds and reads what a group does",
    async run(lab) {
      const { memory, ask } = await openWithShared(lab);
      for (const sessionKey of ["agent:main:telegram:direct:43", "agent:main:signal:direct:42", "telegram:dm:7"]) {
        const { results } = await ask("heron", { sessionKey, maxResults: 50, minScore: 0 });
        assert.deepEqual(
          results.map(({ snippet }) => snippet.trim()),
          [extraNote.trim()],
          `${sessionKey}: ${pathsOf(results).join(", ")}`,
        );
        for (const relPath of privateNotes)
          await assert.rejects(
            memory.readFile({ relPath, sessionKey }),
            (error) => MemoryError.is(error, "PATH_NOT_ALLOWED"),
            `${sessionKey}: ${relPath}`,
          );
      }
    },
  },
  {
    name: "audience: the key of another agent's session is refused",
    async run(lab) {
      const { memory } = await openWithShared(lab);
      for (const sessionKey of [
        "agent:other:main",
        "agent:other:telegram:group:1",
        "AGENT:mainx:main",
        " agent::main",
      ]) {
        for (const call of [
          () => memory.search("heron", { sessionKey }),
          () => memory.readFile({ relPath: "MEMORY.md", sessionKey }),
        ])
          await assert.rejects(call, (error) => MemoryError.is(error, "INVALID_ARGUMENT") && !isAbort(error));
      }
    },
  },
];
