import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { packAll, root } from "./support/pack-all.ts";
import type { PackedPackage } from "./support/packed-package.ts";
import { type Asked, loadedFiles } from "./support/loaded-files.ts";
import { type Registry, startRegistry } from "./support/registry.ts";
import { type Stranger, createStranger, strangersNotes } from "./support/stranger.ts";
import { isJoined, strayFiles, undeclaredImports, unjoined } from "./support/tarball-checks.ts";

// It waits for the build and for npm. `packed.long.test.ts` has every package, package manager and Node.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });

let folder = "";
let packed: ReadonlyMap<string, PackedPackage> = new Map();
let registry: Registry;

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-packed-"));
  packed = await packAll(path.join(folder, "tarballs"));
  registry = await startRegistry({
    packages: [...packed.values()],
    cacheFolder: path.join(root, ".tools", "registry"),
  });
});

afterAll(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

test("the tarballs hold what was built and name what they import", () => {
  for (const [place, each] of packed) {
    expect(strayFiles(each), place).toEqual([]);
    expect(undeclaredImports(each), place).toEqual([]);
    expect(unjoined(each), place).toEqual([]);
  }
  expect(packed.size).toBeGreaterThan(8);
  const command = [...(packed.get("apps/memslot")?.files ?? [])].map(([, text]) => text).join("\n");
  expect(command, "a text for OpenCode's runtime").toContain(
    'import { spawn } from "node:child_process";\n\nconst hook',
  );
  expect([...packed.values()].filter(isJoined).length).toBeGreaterThan(8);
});

describe("installed into an empty folder", () => {
  let stranger: Stranger;

  beforeAll(async () => {
    stranger = createStranger({ folder: path.join(folder, "npm"), registry: registry.url, packageManager: "npm" });
    stranger.write({
      ...strangersNotes,
      "package.json": '{ "name": "stranger", "private": true, "type": "module" }\n',
    });
    await stranger.install("memslot");
  });

  test("the command finds a note and brings no other backend", async () => {
    const own = readdirSync(path.join(stranger.project, "node_modules/@memslot"));
    expect(own.filter((name) => /lancedb|qmd|embeddings-/.test(name))).toEqual([]);
    const words = ["memory", "search", "port of the staging database", "--workspace", "notes", "--json"];
    const { exitCode, stdout, stderr } = await stranger.memslot(words);
    expect(exitCode, stderr).toBe(0);
    const { results } = JSON.parse(stdout) as { results: unknown[] };
    expect(results[0]).toMatchObject({ path: "MEMORY.md", snippet: expect.stringContaining("5544") as string });
  });

  // What a start costs is what it loads: a file takes about half a millisecond, a thread twenty. Who needs more says here why.
  // One or two of them hold what finds a note by its name: hosts that write notes load these without the rest.
  test.each<[string, { files: number; threads: number; never: RegExp }]>([
    ["--version", { files: 8, threads: 1, never: /indexing|agent-kit|sqlite|zod/ }],
    ["--help", { files: 8, threads: 1, never: /indexing|agent-kit|sqlite|zod/ }],
    ["memory search staging", { files: 41, threads: 1, never: /agent-kit|zod|chokidar|yaml|opencc|ajv|modelcontext/ }],
    ["memory get MEMORY.md", { files: 42, threads: 1, never: /zod|chokidar|yaml|opencc|ajv|modelcontext/ }],
    ["memory status", { files: 41, threads: 1, never: /agent-kit|zod|chokidar|yaml|opencc|ajv|modelcontext/ }],
  ])("memslot %s loads no more than its budget, in a thread", async (words, budget) => {
    const { exitCode, threads, files } = await load(`${words} --workspace notes`.split(" "));
    expect(exitCode).toBe(0);
    expect(files.filter((file) => budget.never.test(file))).toEqual([]);
    expect(threads).toBe(budget.threads);
    expect(files.length, `${files.length} files of ${budget.files}:\n${files.join("\n")}`).toBeLessThanOrEqual(
      budget.files,
    );
  });

  // The input is given behind the command; what the event is decides what is loaded.
  test.each<[string, object, { files: number; threads: number; never: RegExp }]>([
    [
      "SessionStart",
      { source: "startup" },
      { files: 15, threads: 1, never: /sqlite|zod|modelcontext|jsonc|toml|diff/ },
    ],
    ["Stop", {}, { files: 15, threads: 1, never: /sqlite|zod|modelcontext|jsonc|toml|diff/ }],
    [
      "UserPromptSubmit",
      { prompt: "port of the staging database" },
      { files: 48, threads: 2, never: /zod|modelcontext|jsonc|toml|diff/ },
    ],
  ])("memslot hook loads no more than its budget at %s", async (name, more, budget) => {
    const words = ["hook", "claude-code", "--workspace", "notes"];
    const event = { session_id: name, hook_event_name: name, ...more };
    const { exitCode, threads, files } = await load(words, [event]);
    expect(exitCode).toBe(0);
    expect(files.filter((file) => budget.never.test(file))).toEqual([]);
    expect(threads).toBeLessThanOrEqual(budget.threads);
    expect(files.length, files.join("\n")).toBeLessThanOrEqual(budget.files);
  });

  test("memslot mcp loads no more than its budget until it has told its tools", async () => {
    const clientInfo = { name: "test", version: "1" };
    const { stdout, files } = await load(
      ["mcp", "--workspace", "notes"],
      [
        request(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }),
        { jsonrpc: "2.0", method: "notifications/initialized" },
        request(2, "tools/list", {}),
      ],
    );
    expect(stdout).toContain("memory_search");
    // Most of it is zod, which the SDK brings, in a hundred files.
    const own = files.filter((file) => !file.startsWith("zod/"));
    expect(own.filter((file) => /hono|opencc/.test(file))).toEqual([]);
    expect(own.length, own.join("\n")).toBeLessThanOrEqual(60);
  });

  function load(words: readonly string[], ask?: readonly object[]): ReturnType<typeof loadedFiles> {
    const program = path.join(stranger.project, "node_modules/memslot/bin/memslot.js");
    return loadedFiles([program, ...words], { home: stranger.home, cwd: stranger.project, ...(ask && { ask }) });
  }
});

function request(id: number, method: string, params: object): Asked {
  return { jsonrpc: "2.0", id, method, params };
}
