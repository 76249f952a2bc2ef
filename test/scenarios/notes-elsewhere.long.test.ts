import { symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Memory, MemorySearchOptions, SearchReport } from "memslot";
import { describe, expect, test } from "vitest";
import { type House, useHouse } from "../support/temp-workspace.ts";
import { runCli } from "../support/run-command.ts";
import tables from "../data/notes-elsewhere.json" with { type: "json" };

/** A vault: one note in `memory/`, many in folders of their own, and what is no note of anybody. */
function vault(house: House, many = 30): void {
  house.write(tables.vault);
  for (let number = 0; number < many; number++) house.write({ [`Projects/deep/${number}.md`]: `walrus ${number}\n` });
  house.write({ "Daily/2026-01-05.md": "walrus\n", "Daily/2026-01-06.md": "walrus\n" });
  if (process.platform !== "win32") symlinkSync(path.join(house.notes, "Projects"), path.join(house.notes, "Linked"));
}

async function reportOf(memory: Memory, query: string, options: MemorySearchOptions = {}): Promise<SearchReport> {
  const reports: SearchReport[] = [];
  await memory.search(query, { ...options, onDebug: (given) => void reports.push(given) });
  return reports[0] ?? expect.fail("no report");
}

describe("a workspace with notes outside the searched folders", () => {
  test("an empty answer and a weak one say how many, and which setting takes them in; a good one says nothing", async () => {
    const house = useHouse();
    vault(house);
    const memory = await house.open();
    const empty = await reportOf(memory, "walrus");
    expect(empty).toMatchObject(tables.unsearched);
    expect(empty.reason).toContain("33 Markdown files below the workspace are not searched");
    expect(empty.action).toContain("memorySearch.extraPaths");
    const weak = await reportOf(memory, "walrus budget invoices tax quarterly report cliff zebra harbour ledger");
    expect(weak.confidence).toBeLessThan(0.4);
    expect(weak.legs.keyword?.kept).toBe(1);
    expect(weak).toMatchObject({ state: "ok", unsearched: { files: 33 } });
    const good = await reportOf(memory, "puffin cliff");
    expect(good.unsearched).toBeUndefined();
    expect(good.reason).toBeUndefined();
  });

  test("what extraPaths takes in is not counted, and a group learns nothing of it", async () => {
    const house = useHouse();
    vault(house);
    const extraPaths = [path.join(house.notes, "Projects")];
    const memory = await house.open({ memorySearch: { extraPaths } });
    expect((await reportOf(memory, "nothingofthekind")).unsearched).toMatchObject({ files: 3, folders: ["Daily"] });
    const group = await reportOf(memory, "nothingofthekind", { sessionKey: "agent:main:telegram:group:42" });
    expect(group.unsearched).toBeUndefined();
    expect(JSON.stringify(group)).not.toMatch(/Daily|Markdown file/);
  });

  test("a count of very many ends, and says that there are more", async () => {
    const house = useHouse();
    const files = Object.fromEntries(
      Array.from({ length: 20_100 }, (_, index) => [`lots/${index % 201}/${index}.md`, ""]),
    );
    house.write({ "MEMORY.md": "heron\n", ...files });
    const memory = await house.open();
    const survey = await memory.survey();
    expect(survey?.unsearched.more).toBe(true);
    expect(survey?.unsearched.files).toBeLessThanOrEqual(20_100);
  });

  test("status, doctor and index count them", async () => {
    const house = useHouse();
    vault(house);
    const config = path.join(house.folder, "memslot.json5");
    const memorySearch = { provider: "none" };
    writeFileSync(config, JSON.stringify({ agents: { defaults: { workspace: house.notes, memorySearch } } }));
    const { stateDir } = house;
    const index = await runCli(["memory", "index"], { stateDir, config });
    expect(index.exitCode).toBe(0);
    expect(index.stderr).toContain("not searched: 33 Markdown files below the workspace (in Projects, Daily)");
    const status = await runCli(["memory", "status"], { stateDir, config });
    expect(status.stdout).toMatch(/Not searched: +33 Markdown files .*memorySearch\.notes/);
    const doctor = await runCli(["doctor"], { stateDir, config });
    expect(doctor.stdout).toMatch(/warn unsearched +33 Markdown files/);
    expect(doctor.stdout).toMatch(/ok +files +all notes are searched/);
    const search = await runCli(["memory", "search", "walrus"], { stateDir, config });
    expect(search.stdout).toContain("33 Markdown files below the workspace are not searched");
  });
});
