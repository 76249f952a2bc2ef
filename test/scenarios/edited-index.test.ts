import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Memory, SearchReport } from "memslot";
import { useHouse } from "../support/house.ts";

async function ask(memory: Memory, query: string): Promise<{ snippets: string[]; state: string | undefined }> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { onDebug: (given) => (report = given) });
  return { snippets: results.map(({ snippet }) => snippet), state: report?.state };
}

test.each([
  ["its files have other names", "UPDATE files SET path = 'memory/other' || id || '.md'"],
  ["no build answers", "DELETE FROM generations"],
])("an index that is edited while it is open is put right where %s", async (_what, edit) => {
  const house = useHouse();
  house.write({ "memory/a.md": "The turbine hums.\n", "memory/b.md": "The kettle sings.\n" });
  house.letSettle();
  const memory = await house.open({ memorySearch: { sync: { watch: false } } });
  // The second search lists what the first has written, and keeps the list.
  await ask(memory, "turbine");
  expect(await ask(memory, "turbine")).toEqual({ snippets: ["The turbine hums."], state: "ok" });
  const db = new DatabaseSync(memory.status().dbPath ?? "");
  db.exec("PRAGMA busy_timeout = 5000");
  db.exec(edit);
  db.close();
  await ask(memory, "kettle");
  expect(await ask(memory, "kettle")).toEqual({ snippets: ["The kettle sings."], state: "ok" });
  expect(await ask(memory, "turbine")).toEqual({ snippets: ["The turbine hums."], state: "ok" });
});

test("two workspaces with one index are never answered with each other's notes", async () => {
  const house = useHouse();
  const store = { path: path.join(house.folder, "one.sqlite") };
  const workspaces = ["first", "second"].map((name) => {
    const workspace = path.join(house.folder, name);
    mkdirSync(path.join(workspace, "memory"), { recursive: true });
    writeFileSync(path.join(workspace, "memory", "a.md"), `The turbine of ${name}.\n`);
    return { name, workspace };
  });
  const open = async (workspace: string, onSearch: boolean): Promise<Memory> =>
    await house.open({
      memorySearch: { store, sync: { watch: false, onSearch } },
      workspace,
    });
  for (const onSearch of [true, false]) {
    for (const { name, workspace } of [...workspaces, ...workspaces]) {
      const memory = await open(workspace, onSearch);
      const { snippets } = await ask(memory, "turbine");
      expect(snippets.filter((snippet) => !snippet.includes(name))).toEqual([]);
      await memory.close();
    }
  }
});
