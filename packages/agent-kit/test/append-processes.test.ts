import { spawn, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

let workspaceDir: string;
const running = new Set<ReturnType<typeof spawn>>();

beforeEach(async () => {
  workspaceDir = await mkdtemp(path.join(os.tmpdir(), "memslot-append-"));
});

afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
  await rm(workspaceDir, { recursive: true, force: true });
});

interface Said {
  text: string;
  state?: string;
  startLine?: number;
  error?: string;
}

/** Appends in a process of its own; `limits` is what its shell is told first. */
function appendIn(name: string, count: number, limits = "true"): Promise<Said[]> {
  const program = path.join(import.meta.dirname, "support/append-notes.ts");
  const command = `${limits} && exec "$0" "$@"`;
  const node = [process.execPath, "--conditions=@memslot/source", program, workspaceDir, name, String(count)];
  const child = spawn("sh", ["-c", command, ...node], {
    // A cache of compiled programs would be cut short by the limit too.
    env: { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_V8_COVERAGE: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  const { promise, resolve, reject } = Promise.withResolvers<Said[]>();
  let output = "";
  let errors = "";
  child.stdout.on("data", (part: Buffer) => (output += part.toString()));
  child.stderr.on("data", (part: Buffer) => (errors += part.toString()));
  child.on("error", reject);
  child.on("close", (code) => {
    running.delete(child);
    if (code === 0) resolve(JSON.parse(output));
    else reject(new Error(`${name} ended with ${code}: ${errors}`));
  });
  return promise;
}

const log = (): Promise<string> => readFile(path.join(workspaceDir, "memory/2026-11-22.md"), "utf8");

test(
  "three processes that append 200 notes each lose none and write none into another",
  { timeout: 120_000 },
  async () => {
    const said = (await Promise.all(["anna", "bruno", "clara"].map((name) => appendIn(name, 200)))).flat();
    const lines = (await log()).split("\n");
    expect(lines.slice(0, 2)).toEqual(["# 2026-11-22", ""]);
    expect(lines.at(-1)).toBe("");
    const entries = lines.slice(2, -1);
    expect(entries.toSorted()).toEqual(said.map(({ text }) => `- 13:05 ${text}`).toSorted());
    expect(entries).toHaveLength(600);
    for (const { text, state, startLine = 0 } of said)
      expect([state, lines[startLine - 1]]).toEqual(["appended", `- 13:05 ${text}`]);
  },
);

/** The bytes of what `ulimit -f` of this shell calls a block. */
function blockBytes(): number {
  const probe = path.join(workspaceDir, "probe");
  spawnSync("sh", ["-c", 'ulimit -f 1; head -c 8192 /dev/zero > "$0"', probe], { stdio: "ignore" });
  return statSync(probe).size;
}

test.skipIf(process.platform === "win32")(
  "a note that the disk takes only half of is an error and leaves nothing behind",
  { timeout: 60_000 },
  async () => {
    const room = 20;
    const kept = `# 2026-11-22\n\n${"x".repeat(blockBytes() - "# 2026-11-22\n\n\n".length - room)}\n`;
    await mkdir(path.join(workspaceDir, "memory"));
    await writeFile(path.join(workspaceDir, "memory/2026-11-22.md"), kept);
    const [said] = await appendIn("a note that is longer than the room", 1, "ulimit -f 1");
    expect(said?.error).toMatch(/^cannot write memory\/2026-11-22\.md in .*: only 20 of \d+ bytes .*make room/);
    expect(await log()).toBe(kept);
    await appendIn("a note that is longer than the room", 1);
    expect(await log()).toBe(`${kept}- 13:05 a note that is longer than the room says 1\n`);
  },
);
