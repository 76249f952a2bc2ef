import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { IndexFinding, Memory, SearchReport } from "memslot";
import { describe, expect, test } from "vitest";
import { type House, indexFile, useHouse } from "../support/house.ts";

const day = new Date(2024, 4, 5, 12);
const notes = { "memory/a.md": "The puffin is on the cliff.\n", "memory/b.md": "The gannet is on the cliff.\n" };

/** Changes what stands in `memory/a.md` to what stands in `memory/b.md`, and leaves its size and modification time. */
interface Way {
  name: string;
  /** The programs that it takes. */
  needs: readonly string[];
  change: (at: (name: string) => string) => void;
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: "ignore", timeout: 30_000 });
}

/** Puts a copy of `b.md` under the name of `a.md` into a folder, to be packed or copied from there. */
function prepared(at: (name: string) => string): string {
  const aside = at("aside/memory");
  mkdirSync(aside, { recursive: true });
  run("cp", ["-p", at("memory/b.md"), path.join(aside, "a.md")], at("."));
  return at("aside");
}

const mapped = `
import mmap, os, sys
before = os.stat(sys.argv[1])
with open(sys.argv[1], "r+b") as file:
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[4:10] = b"gannet"
        memory.flush()
os.utime(sys.argv[1], ns=(before.st_atime_ns, before.st_mtime_ns))
`;

const ways: readonly Way[] = [
  {
    name: "two notes that change places by mv",
    needs: ["mv"],
    change(at) {
      run("mv", ["memory/a.md", "aside"], at("."));
      run("mv", ["memory/b.md", "memory/a.md"], at("."));
      run("mv", ["aside", "memory/b.md"], at("."));
    },
  },
  { name: "cp -p", needs: ["cp"], change: (at) => run("cp", ["-p", "memory/b.md", "memory/a.md"], at(".")) },
  {
    name: "ln -f",
    needs: ["ln", "rm"],
    change(at) {
      run("ln", ["-f", "memory/b.md", "memory/a.md"], at("."));
      run("rm", ["memory/b.md"], at("."));
    },
  },
  {
    name: "tar -x",
    needs: ["tar", "cp"],
    change(at) {
      const from = prepared(at);
      run("tar", ["-cf", at("aside.tar"), "memory/a.md"], from);
      run("tar", ["-xf", at("aside.tar")], at("."));
    },
  },
  {
    name: "unzip",
    needs: ["zip", "unzip", "cp"],
    change(at) {
      const from = prepared(at);
      run("zip", ["-q", at("aside.zip"), "memory/a.md"], from);
      run("unzip", ["-q", "-o", at("aside.zip")], at("."));
    },
  },
  {
    name: "rsync -t",
    needs: ["rsync", "cp"],
    change: (at) =>
      run("rsync", ["-t", "--ignore-times", path.join(prepared(at), "memory/a.md"), at("memory/a.md")], at(".")),
  },
  {
    name: "a save and touch -d",
    needs: ["touch", "cp"],
    change(at) {
      run("cp", ["memory/b.md", "memory/a.md"], at("."));
      run("touch", ["-d", day.toISOString(), "memory/a.md"], at("."));
    },
  },
  {
    name: "a write in place, with the time set back",
    needs: [],
    change(at) {
      const file = openSync(at("memory/a.md"), "r+");
      writeSync(file, "gannet", 4);
      closeSync(file);
      utimesSync(at("memory/a.md"), day, day);
    },
  },
  {
    name: "a write through a mapping, with the time set back",
    needs: ["python3"],
    change: (at) => run("python3", ["-c", mapped, at("memory/a.md")], at(".")),
  },
  {
    name: "a folder that another is put in place of",
    needs: [],
    change(at) {
      prepared(at);
      renameSync(at("memory"), at("before"));
      renameSync(at("aside/memory"), at("memory"));
    },
  },
];

function missing({ needs }: Way): string[] {
  return needs.filter((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined);
}

/** Waits until the index relies on what the file system tells: a look at files that were saved just now reads them again. */
async function rested(house: House, memory: Memory): Promise<void> {
  for (const name of Object.keys(notes))
    await expect
      .poll(() => Date.now() - lstatSync(path.join(house.notes, name)).ctimeMs, { timeout: 20_000 })
      .toBeGreaterThan(100);
  await memory.sync();
  expect(await memory.sync()).toMatchObject({ changed: 0, unchanged: 2 });
}

async function answer(memory: Memory, query: string): Promise<{ places: string[]; report: SearchReport | undefined }> {
  let report: SearchReport | undefined;
  const results = await memory.search(query, { onDebug: (given) => (report = given) });
  return { places: results.map((result) => `${result.path}: ${result.snippet.trim()}`), report };
}

describe.each(ways)("after $name", (way) => {
  const absent = missing(way);
  test.skipIf(absent.length > 0)(
    `the note is found by what it holds now${absent.length > 0 ? ` (not run: there is no ${absent.join(", ")})` : ""}`,
    async () => {
      const house = useHouse();
      const at = (name: string): string => path.join(house.notes, name);
      house.write(notes);
      for (const name of Object.keys(notes)) utimesSync(at(name), day, day);
      const memory = await house.open({ memorySearch: { sync: { watch: false } } });
      await memory.sync();
      await rested(house, memory);
      expect((await answer(memory, "puffin")).places).toEqual(["memory/a.md: The puffin is on the cliff."]);

      const before = statSync(at("memory/a.md"));
      way.change(at);
      const { size, mtimeMs } = statSync(at("memory/a.md"));
      expect([size, Math.floor(mtimeMs / 1000)]).toEqual([before.size, Math.floor(before.mtimeMs / 1000)]);

      const gannet = await answer(memory, "gannet");
      expect(gannet.places).toContain("memory/a.md: The gannet is on the cliff.");
      expect(gannet.report?.state).toBe("ok");
      expect((await answer(memory, "puffin")).places).not.toContain("memory/a.md: The puffin is on the cliff.");
      await house.end();
    },
  );
});

describe("a note whose change the file system does not show", () => {
  test("is named by a check of the contents, and is read again after the check has mended it", async () => {
    const house = useHouse();
    house.write(notes);
    const memory = await house.open({ memorySearch: { sync: { watch: false } } });
    await memory.sync();
    await rested(house, memory);
    await memory.close();
    // As if it had been written without a new time: the index holds another content under the same stamp.
    const db = new DatabaseSync(indexFile(house));
    db.prepare("UPDATE files SET hash = ? WHERE path = 'memory/a.md'").run("0".repeat(64));
    db.close();
    // And as if memslot had written that itself: an index that somebody else has changed is made anew.
    rmSync(`${indexFile(house)}-sum`, { force: true });

    const again = await house.open({ memorySearch: { sync: { watch: false } } });
    const contents = async (fix: boolean): Promise<IndexFinding | undefined> =>
      (await again.check({ fix }))?.findings.find(({ name }) => name === "contents");
    const found = await contents(false);
    expect(found).toMatchObject({ ok: false });
    expect(found?.message).toMatch(/^1 files hold .*; 1 differ although .*: memory\/a\.md$/);
    expect(await contents(true)).toMatchObject({ ok: true, fixed: expect.stringContaining("read again") as string });
    expect(await again.sync()).toMatchObject({ changed: 1, unchanged: 1 });
    expect(await contents(false)).toMatchObject({ ok: true, message: "2 files hold what was indexed of them" });
    house.write({ "memory/b.md": "The walrus is on the beach.\n" });
    expect(await contents(false)).toMatchObject({
      ok: true,
      message: "1 files hold what was indexed of them; 1 have changed since the last sync: memory/b.md",
    });
  });
});
