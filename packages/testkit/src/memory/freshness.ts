import assert from "node:assert/strict";
import { rename, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemorySearchResult } from "@memslot/core";
import { pathsOf } from "./lab/expect.ts";
import type { MemoryCheck, MemoryLab, OpenedMemory } from "./lab/lab.ts";

/** Nothing but a search brings the index up to date. */
async function openFresh(lab: MemoryLab): Promise<OpenedMemory> {
  const opened = await lab.open({ memorySearch: { sync: { onSearch: true, onSessionStart: false, watch: false } } });
  await opened.settle();
  return opened;
}

/** The first answer that does not say that it is stale. */
async function freshAnswer(opened: OpenedMemory, query: string): Promise<MemorySearchResult[]> {
  for (let round = 0; round < 300; round++) {
    const { results, report } = await opened.ask(query, { maxResults: 50, minScore: 0 });
    if (report.state !== "stale") return results;
    await sleep(100);
  }
  return assert.fail(`every answer to "${query}" is stale`);
}

/** With `sync.onSearch`, an answer that does not call itself stale is about the files as they are. */
export const freshnessChecks: readonly MemoryCheck[] = [
  {
    name: "freshness: a saved note is found by the next search",
    async run(lab) {
      await lab.write("memory/a.md", "The puffin is on the cliff.\n");
      const opened = await openFresh(lab);
      await lab.write("memory/b.md", "The puffin has moved to the island.\n");
      assert.deepEqual(pathsOf(await freshAnswer(opened, "puffin")).toSorted(), ["memory/a.md", "memory/b.md"]);
    },
  },
  {
    name: "freshness: a changed note is found by its new words only",
    async run(lab) {
      await lab.write("memory/a.md", "The puffin is on the cliff.\n");
      const opened = await openFresh(lab);
      // As long as before: only the content and the time stamp tell.
      await lab.write("memory/a.md", "The gannet is on the cliff.\n");
      assert.deepEqual(pathsOf(await freshAnswer(opened, "gannet")), ["memory/a.md"]);
      for (const { snippet } of await freshAnswer(opened, "puffin")) assert.ok(!snippet.includes("puffin"), snippet);
    },
  },
  {
    name: "freshness: a note that another of the same size and time was put in place of is found by its own words",
    async run(lab) {
      const at = (path: string): string => join(lab.workspaceDir, path);
      const day = new Date(2024, 4, 5);
      for (const [path, bird] of Object.entries({ "memory/a.md": "puffin", "memory/b.md": "gannet" })) {
        await lab.write(path, `The ${bird} is on the cliff.\n`);
        await utimes(at(path), day, day);
      }
      const opened = await openFresh(lab);
      assert.deepEqual(pathsOf(await freshAnswer(opened, "puffin")), ["memory/a.md"]);
      await rename(at("memory/a.md"), at("memory/aside"));
      await rename(at("memory/b.md"), at("memory/a.md"));
      await rename(at("memory/aside"), at("memory/b.md"));
      assert.deepEqual(pathsOf(await freshAnswer(opened, "puffin")), ["memory/b.md"]);
      assert.deepEqual(pathsOf(await freshAnswer(opened, "gannet")), ["memory/a.md"]);
    },
  },
  {
    name: "freshness: a deleted note is not found by the next search",
    async run(lab) {
      await lab.write("memory/a.md", "The puffin is on the cliff.\n");
      await lab.write("memory/b.md", "The puffin has moved to the island.\n");
      const opened = await openFresh(lab);
      assert.equal((await freshAnswer(opened, "puffin")).length, 2);
      await lab.remove("memory/a.md");
      assert.deepEqual(pathsOf(await freshAnswer(opened, "puffin")), ["memory/b.md"]);
    },
  },
  {
    name: "freshness: a renamed note is found under its new name only",
    async run(lab) {
      await lab.write("memory/a.md", "The puffin is on the cliff.\n");
      const opened = await openFresh(lab);
      assert.deepEqual(pathsOf(await freshAnswer(opened, "puffin")), ["memory/a.md"]);
      await lab.rename("memory/a.md", "memory/deep/renamed.md");
      assert.deepEqual(pathsOf(await freshAnswer(opened, "puffin")), ["memory/deep/renamed.md"]);
    },
  },
];
