import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Places, pathAndLine, shownPath } from "./shown-path.ts";
import { sortResults } from "../results/print-results.ts";

let folder = "";
let places: Places;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "memslot-paths-"));
  const workspaceDir = path.join(folder, "notes");
  places = { cwd: workspaceDir, workspaceDir, stateDir: path.join(folder, "state"), agentId: "main" };
  const sessions = path.join(folder, "state/agents/main/sessions");
  for (const made of [path.join(workspaceDir, "memory/..dots"), path.join(folder, "other"), sessions])
    await mkdir(made, { recursive: true });
  for (const file of ["notes/a.md", "notes/-n.md", "notes/memory/..dots/a.md", "other/x.md"])
    await writeFile(path.join(folder, file), "");
  await writeFile(path.join(sessions, "s1.jsonl"), "");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const shown = (name: string, cwd = places.cwd, source = "memory"): string =>
  shownPath({ path: name, source }, { ...places, cwd }).name;

test("a path is relative to where the user is, and absolute where it is not below", () => {
  expect(shown("a.md")).toBe("a.md");
  expect(shown("memory/..dots/a.md")).toBe(path.join("memory", "..dots", "a.md"));
  expect(shown("memory/..dots/a.md", path.join(folder, "notes/memory"))).toBe(path.join("..dots", "a.md"));
  expect(shown("a.md", path.join(folder, "notes/memory"))).toBe(path.join(folder, "notes/a.md"));
  expect(shown("a.md", folder)).toBe(path.join("notes", "a.md"));
  expect(shown("../other/x.md")).toBe(path.join(folder, "other/x.md"));
  expect(shown("../other/x.md", folder)).toBe(path.join("other", "x.md"));
});

test("a name that begins with a dash is no option of the program that gets it", () => {
  expect(shown("-n.md")).toBe(`.${path.sep}-n.md`);
});

test("a transcript is named by its file, and what is no file as the memory names it", () => {
  expect(shown("sessions/s1.jsonl", places.cwd, "sessions")).toBe(
    path.join(folder, "state/agents/main/sessions/s1.jsonl"),
  );
  expect(shownPath({ path: "sessions/gone.jsonl", source: "sessions" }, places)).toEqual({
    name: "sessions/gone.jsonl",
    absolutePath: undefined,
  });
  expect(shown("journal/1", places.cwd, "journal")).toBe("journal/1");
});

test("a place is one line, whatever the name", () => {
  expect(pathAndLine({ name: "a\nb\u001B.md", absolutePath: undefined }, 3)).toBe(String.raw`a\u{A}b\u{1B}.md:3`);
  expect(pathAndLine({ name: "a.md", absolutePath: undefined }, undefined)).toBe("a.md");
});

test("in an order by time what has none comes last, and what is alike stays as it was", async () => {
  const placed = ["gone.md", "2026-03-02.md", "2026-03-02 b.md", "2024.md", "2026-W11.md"].map((name) => ({
    result: { path: name, startLine: 1, endLine: 1, score: 0.5, snippet: "", source: "memory" },
    lines: [],
    path: { name, absolutePath: undefined },
  }));
  const order = async (by: "newest" | "oldest" | "path" | "relevance"): Promise<string[]> =>
    (await sortResults(placed, by)).map(({ result }) => result.path);
  expect(await order("newest")).toEqual(["2026-W11.md", "2026-03-02.md", "2026-03-02 b.md", "2024.md", "gone.md"]);
  expect(await order("oldest")).toEqual(["2024.md", "2026-03-02.md", "2026-03-02 b.md", "2026-W11.md", "gone.md"]);
  expect(await order("relevance")).toEqual(placed.map(({ result }) => result.path));
  expect(await order("path")).toEqual(["2024.md", "2026-03-02 b.md", "2026-03-02.md", "2026-W11.md", "gone.md"]);
});
