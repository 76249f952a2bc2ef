import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { createMemoryTools, loadConfig, openMemory } from "memslot";
import { createSandbox } from "./run-memslot.ts";

describe("the library", () => {
  test("opens a memory with the default backend, which needs no plugin to be named", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const config = await loadConfig({ cwd: sandbox.cwd, env: sandbox.env, workspace: sandbox.workspace });
    const memory = await openMemory({ config, agentId: "main" });
    try {
      expect(await memory.search("espresso")).toMatchObject([{ path: "MEMORY.md", startLine: 1, endLine: 1 }]);
      expect(memory.status().backend).toBe("memory-core");
      expect(createMemoryTools({ memory, citations: config.citations }).map(({ name }) => name)).toEqual([
        "memory_search",
        "memory_get",
        "memory_append",
      ]);
    } finally {
      await memory.close();
    }
  });

  test("loads nothing heavy when it is imported", async () => {
    const library = new URL("../src/index.ts", import.meta.url).href;
    const script = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
      await import(${JSON.stringify(library)});
      process.stdout.write(JSON.stringify(loaded));
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--conditions=@memslot/source", "--input-type=module", "--eval", script],
      { timeout: 30_000, cwd: fileURLToPath(new URL("..", import.meta.url)) },
    );
    const loaded: string[] = JSON.parse(stdout);
    expect(loaded).toContain(library);
    // Small files: two notes of a flush are compared by their words, and calls wait in turn.
    const others = loaded.filter((url) => !url.startsWith("node:") && !url.endsWith(".ts"));
    expect(
      others.filter((url) => !/\/node_modules\/(?:ignore|stemmer|p-limit|yocto-queue)\/index\.js$/u.test(url)),
    ).toEqual([]);
  });
});
