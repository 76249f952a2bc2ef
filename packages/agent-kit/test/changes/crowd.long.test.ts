import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ChangePlace, listChanges, type LoggedChange, undoChange } from "@memslot/agent-kit";
import { createWorkspace } from "@memslot/test-tools/files";
import { beforeEach, expect, test } from "vitest";
import { type Program, runProgram } from "../support/run-program.ts";

let folder: string;
let workspaceDir: string;
let stateDir: string;
const relPath = "memory/2026-11-22.md";

beforeEach(() => void ({ folder, workspaceDir, stateDir } = createWorkspace({ "memory/.keep": "" })));

/** Runs a process that edits and forgets lines, and returns the numbers that it reported. */
async function run(name: string, count: number, onLine?: (line: string, program: Program) => void, limits?: string) {
  const args = [workspaceDir, stateDir, relPath, name, count];
  const { code, errors, lines } = await runProgram("changes/support/change-notes.ts", args, { onLine, limits }).ended;
  return { code, errors, said: lines.map(Number) };
}

const read = (): string => readFileSync(path.join(workspaceDir, relPath), "utf8");
const trash = (): string[] => readdirSync(path.join(workspaceDir, "memory/.trash")).toSorted();
const place = (): ChangePlace => ({
  workspaceDir,
  stateDir,
  settings: { extraPaths: [], notes: "auto" },
  changer: { agentId: "main", by: "test" },
  at: new Date(),
});

/** The number that stands in the note for somebody: once, and nowhere else. */
function numberOf(name: string): number {
  const numbers = [...read().matchAll(new RegExp(`^- ${name} (\\d+)$`, "gmu"))].map(([, number]) => Number(number));
  expect(numbers, name).toHaveLength(1);
  return numbers[0] ?? 0;
}

/** Each number was written once, one behind the other, and each time it stands in the log. */
function checkLog(changes: readonly LoggedChange[], names: readonly string[]): void {
  expect(changes.filter(({ state }) => state !== "done" && state !== "not done")).toEqual([]);
  for (const name of names) {
    const steps = changes
      .filter(({ kind, state, session }) => kind === "edit" && state === "done" && session === `agent:main:${name}`)
      .map(({ before, after }) => [before, after].map((lines) => Number(/ (\d+)\n/u.exec(lines)?.[1])));
    expect(steps).toEqual(Array.from({ length: numberOf(name) }, (_, index) => [index, index + 1]));
  }
  const forgotten = changes.filter(({ kind, state }) => kind === "forget" && state === "done");
  expect(trash()).toEqual(forgotten.map(({ trash: file = "" }) => path.posix.basename(file)).toSorted());
}

async function undoAll(changes: readonly LoggedChange[]): Promise<void> {
  for (const { id, state } of changes.toReversed()) if (state === "done") await undoChange(place(), id);
}

const names = ["anna", "bruno", "clara", "dora", "emil"];
const begin = `# 2026-11-22\n\n${names.map((name) => `- ${name} 0\n`).join("")}`;

test(
  "five processes that edit and forget, and 200 kills: nothing is lost, nothing twice, all undone to the byte",
  { timeout: 900_000 },
  async () => {
    writeFileSync(path.join(workspaceDir, relPath), begin);
    let kills = 0;
    let mine = "";
    const safe = new Map<string, number>();
    const work = async (name: string, seed: number): Promise<void> => {
      for (let round = 0; kills < 200; round++) {
        // From before the first change on, at whatever moment of one.
        const wait = ((seed * 31 + round * 17) % 4) + 1;
        let seen = 0;
        const { said, errors } = await run(name, 10_000, (_, program) => {
          if (++seen === wait) setTimeout(() => void program.kill(), (round * 7 + seed * 3) % 23);
        });
        expect(errors).toBe("");
        kills++;
        safe.set(name, said.at(-1) ?? safe.get(name) ?? 0);
        // Another program, which knows nothing of locks, adds a line.
        if (round % 5 === 0) {
          const line = `- editor ${name} ${round}\n`;
          appendFileSync(path.join(workspaceDir, relPath), line);
          mine += line;
        }
      }
    };
    await Promise.all(names.map(work));
    const changes = await listChanges(place());
    for (const name of names) expect(numberOf(name), name).toBeGreaterThanOrEqual(safe.get(name) ?? 0);
    checkLog(changes, names);
    expect(changes.length).toBeGreaterThan(300);
    for (const line of mine.split("\n")) expect(read().split("\n")).toContain(line);
    await undoAll(changes);
    const now = read();
    expect(now.slice(0, begin.length)).toBe(begin);
    expect(now.slice(begin.length).split("\n").toSorted()).toEqual(mine.split("\n").toSorted());
    expect(trash()).toEqual([]);
  },
);

test.skipIf(process.platform === "win32")(
  "a disk that is full in the middle of the log changes no note that is not in it",
  { timeout: 120_000 },
  async () => {
    writeFileSync(path.join(workspaceDir, relPath), begin);
    const { code, errors, said } = await run("anna", 10_000, undefined, "ulimit -f 16");
    expect(code).not.toBe(0);
    expect(errors).toMatch(/the log of changes .* cannot be used: .*nothing was changed/u);
    expect(said.length).toBeGreaterThan(3);
    const changes = await listChanges(place());
    checkLog(changes, ["anna"]);
    await undoAll(changes);
    expect(read()).toBe(begin);
  },
);

test(
  "a disk that is full, of notes and log alike, loses no note and no change, and what is full is gone on with later",
  { timeout: 120_000 },
  async ({ skip }) => {
    const disk = path.join(folder, "disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "none", disk]).status !== 0)
      skip("no file system may be mounted here");
    try {
      [workspaceDir, stateDir] = [path.join(disk, "notes"), path.join(disk, "state")];
      mkdirSync(path.join(workspaceDir, "memory"), { recursive: true });
      writeFileSync(path.join(workspaceDir, relPath), begin);
      let last = 0;
      for (let round = 0; round < 3; round++) {
        const { code, errors, said } = await run("anna", 10_000);
        expect(code).not.toBe(0);
        // Whichever file it was that there was no room for.
        expect(errors).toMatch(/MemoryError: .*(?:ENOSPC|no space left)/u);
        expect(errors).toMatch(/code: '(?:UNAVAILABLE|WORKSPACE)'/u);
        last = said.at(-1) ?? last;
        expect(numberOf("anna")).toBeGreaterThanOrEqual(last);
        // Somebody makes a little room.
        expect(spawnSync("mount", ["-o", `remount,size=${384 + round * 128}k`, disk]).status).toBe(0);
      }
      expect(last).toBeGreaterThan(10);
      const changes = await listChanges(place());
      checkLog(changes, ["anna"]);
      expect(spawnSync("mount", ["-o", "remount,size=16m", disk]).status).toBe(0);
      await undoAll(changes);
      expect(read()).toBe(begin);
      expect(readdirSync(path.join(workspaceDir, "memory")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    } finally {
      spawnSync("umount", ["-l", disk]);
    }
  },
);
