import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";

/** Modules that take long to load or bring native code: nobody pays for them by importing a package. */
const heavy = [
  "better-sqlite3",
  "sqlite-vec",
  "ajv",
  "openai",
  "@google/genai",
  "node-llama-cpp",
  "commander",
  "cli-progress",
];
const entries = [
  "@memslot/core",
  "@memslot/indexing",
  "@memslot/agent-kit",
  "@memslot/testkit",
  "@memslot/memory-core",
  "@memslot/embeddings-openai",
  "@memslot/embeddings-gemini",
  "@memslot/embeddings-local",
  "memslot",
];

describe("importing a package", () => {
  test.each(entries)("%s loads nothing heavy and starts nothing", (entry) => {
    // Loaded native libraries and resolved files are what the process itself reports, so nothing can hide.
    const script = `
      import { registerHooks } from "node:module";
      const seen = [];
      registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
      await import(${JSON.stringify(entry)});
      const active = process.getActiveResourcesInfo().filter((name) => !/^(TTYWrap|PipeWrap|FSReqPromise)$/.test(name));
      console.log(JSON.stringify({ seen, active, native: process.report.getReport().sharedObjects }));
    `;
    const output = execFileSync(
      process.execPath,
      ["--conditions=@memslot/source", "--input-type=module", "--eval", script],
      { encoding: "utf8", cwd: import.meta.dirname, timeout: 30_000 },
    );
    const { seen, active, native } = JSON.parse(output) as { seen: string[]; active: string[]; native: string[] };
    expect(seen.length).toBeGreaterThan(0);
    for (const name of heavy) expect(seen.filter((url) => url.includes(`/node_modules/${name}/`))).toEqual([]);
    expect(native.filter((file) => /sqlite|vec0/.test(file))).toEqual([]);
    expect(active).toEqual([]);
  });
});
