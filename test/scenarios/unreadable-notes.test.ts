import { chmodSync, chownSync, readdirSync } from "node:fs";
import path from "node:path";
import type { Memory, MemorySearchOptions, MemorySearchResult, SearchReport } from "memslot";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type House, useHouse } from "../support/house.ts";

const isRoot = process.geteuid?.() === 0;
const nobody = 65_534;
/** What root cannot be refused it can as somebody else; on Windows modes say nothing. */
const isSkipped = process.platform === "win32";

/** Gives everything to somebody who may be refused, and becomes that. */
function dropRights(house: House): void {
  if (!isRoot) return;
  const entries = readdirSync(house.folder, { recursive: true, withFileTypes: true });
  for (const file of [house.folder, ...entries.map(({ parentPath, name }) => path.join(parentPath, name))])
    chownSync(file, nobody, nobody);
  process.seteuid?.(nobody);
}

function regainRights(): void {
  if (isRoot) process.seteuid?.(0);
}

async function ask(
  memory: Memory,
  query: string,
  options: MemorySearchOptions = {},
): Promise<{ results: MemorySearchResult[]; report: SearchReport }> {
  const reports: SearchReport[] = [];
  const results = await memory.search(query, { ...options, onDebug: (given) => void reports.push(given) });
  return { results, report: reports[0] ?? expect.fail("no report") };
}

describe.skipIf(isSkipped)("a note that is there and cannot be read", () => {
  let house: House;
  let memory: Memory;

  beforeEach(async () => {
    house = useHouse();
    house.write({
      "MEMORY.md": "The heron stands in the garden.\n",
      "memory/a.md": "The puffin is on the cliff.\n",
      "memory/deep/b.md": "The gannet is on the cliff.\n",
      "handbook/open.md": "The walrus is on the beach.\n",
    });
    house.letSettle();
    dropRights(house);
    memory = await house.open({
      memorySearch: { extraPaths: [path.join(house.notes, "handbook")], sync: { watch: false } },
    });
    await memory.sync();
  });

  afterEach(() => {
    for (const place of ["memory", "memory/deep", "memory/a.md", "handbook/open.md"])
      chmodSync(path.join(house.notes, place), 0o700);
    regainRights();
  });

  const close = (place: string): void => chmodSync(path.join(house.notes, place), 0);

  test.each([
    ["a file", "memory/a.md", "memory/a.md", "puffin"],
    ["a folder that cannot be listed", "memory/deep", "memory/deep", "gannet"],
    ["the memory folder", "memory", "memory", "gannet"],
  ])(
    "%s: the answer says so, its old text is not in it, and it comes back by itself",
    async (_, closed, named, bird) => {
      close(closed);
      for (const query of [bird, "is on the cliff or in the garden"]) {
        const { results, report } = await ask(memory, query);
        expect(report.state).toBe("degraded");
        expect(report.reason).toContain(`${named} (`);
        expect(report.reason).not.toMatch(/no memory file holds|nothing in memory/);
        expect(report.conditions).toMatchObject([{ state: "degraded", count: 1 }]);
        expect(results.filter(({ path: place }) => place === closed || place.startsWith(`${closed}/`))).toEqual([]);
      }
      expect((await ask(memory, "heron")).results).toHaveLength(1);
      chmodSync(path.join(house.notes, closed), 0o700);
      const { results, report } = await ask(memory, bird);
      expect(report).toMatchObject({ state: "ok", conditions: [] });
      expect(results).toHaveLength(1);
    },
  );

  test("is named by a look for what no search finds, also in a process that never synced", async () => {
    close("memory/a.md");
    close("memory/deep");
    const survey = await memory.survey();
    expect(survey?.unread.map(({ path: place }) => place).toSorted()).toEqual(["memory/a.md", "memory/deep"]);
  });

  test("a folder that is open again was never indexed anew", async () => {
    close("memory");
    expect(await memory.sync()).toMatchObject({ removed: 0, failed: [{ path: "memory" }] });
    chmodSync(path.join(house.notes, "memory"), 0o700);
    expect(await memory.sync()).toMatchObject({ added: 0, changed: 0, removed: 0, unchanged: 4, failed: [] });
  });

  test("is not told to a group, unless the group may read it", async () => {
    close("memory/a.md");
    const sessionKey = "agent:main:telegram:group:42";
    const group = await ask(memory, "walrus puffin", { sessionKey });
    expect(group.report).toMatchObject({ state: "ok", conditions: [] });
    close("handbook/open.md");
    const { results, report } = await ask(memory, "walrus", { sessionKey });
    expect(results).toEqual([]);
    expect(report).toMatchObject({ state: "degraded", conditions: [{ count: 1 }] });
    expect(report.reason).toContain("handbook/open.md");
    expect(report.reason).not.toContain("memory/a.md");
  });
});
