import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { listChanges, type LoggedChange, undoChange } from "@memslot/agent-kit";
import { openMemory, parseConfig, type SearchReport } from "@memslot/core";
import memoryCore from "@memslot/memory-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { root } from "./support/markdown-examples.ts";

const minuteMs = 60_000;
const relPath = "memory/2026-11-22.md";
const editors = ["anna", "bruno"];
const begin = `# 2026-11-22\n\n${editors.map((name) => `- ${name} 0\n`).join("")}`;

let folder = "";
let workspaceDir = "";
const running = new Set<ChildProcess>();

beforeEach(() => {
  folder = realpathSync.native(mkdtempSync(path.join(os.tmpdir(), "memslot-minute-")));
  workspaceDir = path.join(folder, "notes");
  mkdirSync(path.join(workspaceDir, "memory"), { recursive: true });
  writeFileSync(path.join(workspaceDir, relPath), begin);
});

afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Runs a program of the agent kit's tests to its end. */
async function run(program: string, args: readonly string[], started?: (child: ChildProcess) => void): Promise<string> {
  const file = path.join(root, "packages/agent-kit/test", program);
  const child = spawn(process.execPath, ["--conditions=@memslot/source", file, ...args], {
    env: { ...process.env, NODE_V8_COVERAGE: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  started?.(child);
  let [said, errors] = ["", ""];
  child.stdout.on("data", (part: Buffer) => (said += part.toString()));
  child.stderr.on("data", (part: Buffer) => (errors += part.toString()));
  await new Promise((resolve) => child.once("close", resolve));
  running.delete(child);
  expect(errors).toBe("");
  return said;
}

const read = (): string => readFileSync(path.join(workspaceDir, relPath), "utf8");

test(
  "two processes edit a note, two append to it and one searches for a minute: nothing is lost, nothing twice, all found",
  { timeout: 300_000 },
  async () => {
    const stateDir = path.join(folder, "state");
    const endsAt = performance.now() + minuteMs;
    const appended: string[] = [];
    async function appending(name: string): Promise<void> {
      for (let batch = 0; performance.now() < endsAt; batch++) {
        const word = `${name}${String(batch).padStart(4, "0")}`;
        const answers = JSON.parse(await run("support/append-notes.ts", [workspaceDir, word, "5"])) as {
          text: string;
          error?: string;
        }[];
        expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
        appended.push(...answers.map(({ text }) => text));
      }
    }
    async function editing(name: string): Promise<void> {
      // A last change is under way when it ends, as when a person closes the window.
      const kill = (child: ChildProcess): void => void setTimeout(() => child.kill("SIGKILL"), minuteMs);
      await run("changes/support/change-notes.ts", [workspaceDir, stateDir, relPath, name, "1000000"], kill);
    }
    const searches = { all: 0, ok: 0, missed: [] as string[] };
    async function searching(): Promise<void> {
      const config = parseConfig(
        { agents: { defaults: { workspace: workspaceDir, memorySearch: { provider: "none" } } } },
        { stateDir, env: { HOME: folder } },
      );
      const memory = await openMemory({ config, agentId: "main", plugins: [memoryCore], notify: () => undefined });
      try {
        for (let asked = 0; performance.now() < endsAt || asked < 20; asked++) {
          // What was on disk before the question.
          const known = appended.at(-1 - (asked % 7)) ?? "anna 0";
          const [word = ""] = known.split(" ");
          let report: SearchReport | undefined;
          const results = await memory.search(word, { onDebug: (given) => (report = given) });
          searches.all++;
          if (report?.state !== "ok") continue;
          searches.ok++;
          if (!results.some(({ snippet }) => snippet.includes(word))) searches.missed.push(word);
        }
      } finally {
        await memory.close();
      }
    }
    await Promise.all([...editors.map(editing), appending("kiwi"), appending("plum"), searching()]);

    expect(searches.missed).toEqual([]);
    // Others are called stale: on a busy machine that may be most of them.
    expect(searches.ok).toBeGreaterThan(0);
    const lines = read().split("\n");
    for (const text of appended)
      expect(
        lines.filter((line) => line.endsWith(` ${text}`)),
        text,
      ).toHaveLength(1);
    expect(appended.length).toBeGreaterThan(20);

    const place = {
      workspaceDir,
      stateDir,
      settings: { extraPaths: [], notes: "auto" as const },
      changer: { agentId: "main", by: "test" },
      at: new Date(),
    };
    const changes = await listChanges(place);
    expect(changes.filter(({ state }) => state !== "done" && state !== "not done")).toEqual([]);
    for (const name of editors) {
      const counted = changes.filter((change) => isCount(change, name)).length;
      expect(
        lines.filter((line) => line === `- ${name} ${counted}`),
        name,
      ).toHaveLength(1);
      expect(counted).toBeGreaterThan(10);
    }
    for (const { id, state } of changes.toReversed()) if (state === "done") await undoChange(place, id);
    const own = read()
      .split("\n")
      .filter((line) => !appended.some((text) => line.endsWith(` ${text}`)));
    expect(own.join("\n")).toBe(begin);
  },
);

function isCount({ kind, state, session }: LoggedChange, name: string): boolean {
  return kind === "edit" && state === "done" && session === `agent:main:${name}`;
}
