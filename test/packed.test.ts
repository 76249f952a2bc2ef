import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { packAll, root } from "./support/pack-all.ts";
import type { PackedPackage } from "./support/packed-package.ts";
import { type Registry, startRegistry } from "./support/registry.ts";
import { createStranger, strangersNotes } from "./support/stranger.ts";
import { strayFiles, undeclaredImports } from "./support/tarball-checks.ts";

// It waits for the build and for npm. `packed.long.test.ts` has every package, package manager and Node.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

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
  }
  expect(packed.size).toBeGreaterThan(8);
});

test("installed into an empty folder, the command finds a note and brings no other backend", async () => {
  const stranger = createStranger({ folder: path.join(folder, "npm"), registry: registry.url, packageManager: "npm" });
  stranger.write({ ...strangersNotes, "package.json": '{ "name": "stranger", "private": true, "type": "module" }\n' });
  await stranger.install("memslot");
  const own = readdirSync(path.join(stranger.project, "node_modules/@memslot"));
  expect(own.filter((name) => /lancedb|qmd|embeddings-/.test(name))).toEqual([]);
  const words = ["memory", "search", "port of the staging database", "--workspace", "notes", "--json"];
  const { exitCode, stdout, stderr } = await stranger.memslot(words);
  expect(exitCode, stderr).toBe(0);
  const { results } = JSON.parse(stdout) as { results: unknown[] };
  expect(results[0]).toMatchObject({ path: "MEMORY.md", snippet: expect.stringContaining("5544") as string });
});
