import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { createWorkspace } from "@memslot/test-tools/files";
import { expect } from "vitest";
import { type Program, runProgram } from "./run-program.ts";

const relPath = "memory/2026-11-22.md";

/** A note that several processes write. */
export interface SharedNote {
  readonly workspaceDir: string;
  text(): string;
  /** Starts a process that puts `count` lines of its own at the top of the note, one after the other. */
  edit(name: string, count: number, options?: { size?: number } & Parameters<typeof runProgram>[2]): Program;
  append(name: string, count: number): Program;
}

export function sharedNote(content: string): SharedNote {
  const { workspaceDir, stateDir } = createWorkspace({ [relPath]: content });
  return {
    workspaceDir,
    text: () => readFileSync(path.join(workspaceDir, relPath), "utf8"),
    edit: (name, count, { size = 0, ...options } = {}) =>
      runProgram("support/replace-notes.ts", [workspaceDir, stateDir, relPath, name, count, size], options),
    append: (name, count) => runProgram("support/append-notes.ts", [workspaceDir, name, count]),
  };
}

/** Three processes edit a note and one appends to it: every line is in the note, once. */
export async function expectAllLines(edits: number, appends: number): Promise<void> {
  const note = sharedNote("# 2026-11-22\n\n");
  const editing = ["anna", "bruno", "clara"].map((name) => note.edit(name, edits));
  const appending = note.append("dora", appends);
  const ended = await Promise.all([...editing, appending].map((program) => program.ended));
  expect(ended.map(({ code, errors }) => (code === 0 ? 0 : errors))).toEqual([0, 0, 0, 0]);
  const appended = JSON.parse(appending.lines.join("\n")) as { text: string; state?: string }[];
  expect(appended.map(({ state }) => state)).toEqual(Array.from({ length: appends }, () => "appended"));
  const written = [...editing.flatMap(({ lines }) => lines), ...appended.map(({ text }) => `- 13:05 ${text}`)];
  expect(written).toHaveLength(3 * edits + appends);
  expect(note.text().split("\n").toSorted()).toEqual(["# 2026-11-22", "", "", ...written].toSorted());
  expect(readdirSync(path.join(note.workspaceDir, "memory"))).toEqual(["2026-11-22.md"]);
}

/** Kills a process while it edits, after one more line in each round: the note stays whole, with all finished edits. */
export async function expectSurvivesKills(rounds: number): Promise<void> {
  const note = sharedNote("the end\n");
  const safe: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const size = 20_000;
    const onLine = (_: string, program: Program): void => void (program.lines.length > round && program.kill());
    const { lines } = await note.edit(`round${round}`, 10_000, { size, onLine }).ended;
    safe.push(...lines);
    const now = note.text().split("\n");
    expect(now.slice(-2)).toEqual(["the end", ""]);
    const there = new Set(now);
    expect(safe.filter((line) => !there.has(line))).toEqual([]);
    expect(now.slice(0, -2).every((line) => /^round\d+ \d+x{20000}$/u.test(line))).toBe(true);
  }
  expect(safe.length).toBeGreaterThanOrEqual((rounds * (rounds + 1)) / 2);
  expect(await note.edit("last", 1).ended).toMatchObject({ code: 0, lines: ["last 0"] });
}
