import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

let folder: string;
let workspaceDir: string;
const running = new Set<ChildProcess>();
const relPath = "memory/2026-11-22.md";

beforeEach(() => {
  folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-replace-")));
  workspaceDir = path.join(folder, "notes");
  mkdirSync(path.join(workspaceDir, "memory"), { recursive: true });
});

afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  code: number | null;
  said: string[];
  errors: string;
}

/** Runs a program of `support`; `limits` is what its shell is told first. */
function run(
  program: string,
  args: readonly string[],
  limits = "true",
): { child: ChildProcess; ended: Promise<Ended> } {
  const file = path.join(import.meta.dirname, "support", program);
  const node = [process.execPath, "--conditions=@memslot/source", file, ...args];
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_V8_COVERAGE: undefined };
  const child = spawn("sh", ["-c", `${limits} && exec "$0" "$@"`, ...node], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const { promise, resolve } = Promise.withResolvers<Ended>();
  let [output, errors] = ["", ""];
  child.stdout.on("data", (part: Buffer) => (output += part.toString()));
  child.stderr.on("data", (part: Buffer) => (errors += part.toString()));
  child.on("close", (code) => {
    running.delete(child);
    resolve({ code, said: output.split("\n").filter(Boolean), errors });
  });
  return { child, ended: promise };
}

const replaceIn = (name: string, count: number, size = 0, limits?: string): ReturnType<typeof run> =>
  run("replace-notes.ts", [workspaceDir, path.join(folder, "state"), relPath, name, `${count}`, `${size}`], limits);

const lines = (): string[] => readFileSync(path.join(workspaceDir, relPath), "utf8").split("\n");

test(
  "three processes that edit a note and one that appends to it lose nothing of each other",
  { timeout: 120_000 },
  async () => {
    writeFileSync(path.join(workspaceDir, relPath), "# 2026-11-22\n\n");
    const editing = ["anna", "bruno", "clara"].map((name) => replaceIn(name, 40).ended);
    const appending = run("append-notes.ts", [workspaceDir, "dora", "150"]).ended;
    const edited = await Promise.all(editing);
    const appended = await appending;
    expect([...edited, appended].map(({ code, errors }) => (code === 0 ? 0 : errors))).toEqual([0, 0, 0, 0]);
    const there = new Set(lines());
    expect(edited.flatMap(({ said }) => said)).toHaveLength(120);
    expect(edited.flatMap(({ said }) => said).filter((line) => !there.has(line))).toEqual([]);
    const notes = (JSON.parse(appended.said.join("\n")) as { text: string; state?: string }[]).filter(
      ({ state }) => state === "appended",
    );
    expect(notes).toHaveLength(150);
    expect(notes.map(({ text }) => `- 13:05 ${text}`).filter((line) => !there.has(line))).toEqual([]);
    expect(readdirSync(path.join(workspaceDir, "memory"))).toEqual(["2026-11-22.md"]);
  },
);

test(
  "a process that is killed while it edits leaves the note whole, with all that it said was safe, and in nobody's way",
  { timeout: 120_000 },
  async () => {
    writeFileSync(path.join(workspaceDir, relPath), "the end\n");
    const safe: string[] = [];
    for (let round = 0; round < 8; round++) {
      const { child, ended } = replaceIn(`round${round}`, 10_000, 20_000);
      let seen = 0;
      child.stdout?.on("data", (part: Buffer) => {
        seen += part.toString().split("\n").length - 1;
        if (seen > round) child.kill("SIGKILL");
      });
      const { said } = await ended;
      safe.push(...said);
      const now = lines();
      expect(now.slice(-2)).toEqual(["the end", ""]);
      const there = new Set(now);
      expect(safe.filter((line) => !there.has(line))).toEqual([]);
      expect(now.slice(0, -2).every((line) => /^round\d+ \d+x{20000}$/u.test(line))).toBe(true);
    }
    expect(safe.length).toBeGreaterThan(30);
    expect(await replaceIn("last", 1).ended).toMatchObject({ code: 0, said: ["last 0"] });
  },
);

test.skipIf(process.platform === "win32")("a note that there is no room for stays as it was", async () => {
  const before = "a\n".repeat(20);
  writeFileSync(path.join(workspaceDir, relPath), before);
  const { code, errors } = await replaceIn("anna", 1, 100_000, "ulimit -f 8").ended;
  expect(code).not.toBe(0);
  expect(errors).toMatch(/cannot write memory\/2026-11-22\.md in /u);
  expect(readFileSync(path.join(workspaceDir, relPath), "utf8")).toBe(before);
  expect(readdirSync(path.join(workspaceDir, "memory"))).toEqual(["2026-11-22.md"]);
});
