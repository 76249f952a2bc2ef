import { execFileSync } from "node:child_process";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { tempFolder } from "@memslot/test-tools/files";
import { expect, test } from "vitest";
import type { ImportWatch } from "./support/import-watch.ts";
import { loadedFiles } from "./support/loaded-files.ts";
import { manifestAt, publishedPlaces, root } from "./support/repository.ts";
import tables from "./data/load-budgets.json" with { type: "json" };

/** Small, and needed as soon as the package that has it. */
const light = "p-limit";
/** Brought by what packages bring, or joined into a part that is loaded late. */
const alsoHeavy = ["apache-arrow", "zod", "hono", "json5", "commander"];
/** All else that packages bring takes long to load or is native code: importing a package must not load it. */
const heavy = [
  ...new Set(publishedPlaces.flatMap((place) => Object.keys(manifestAt(place).dependencies ?? {}))),
  ...alsoHeavy,
].filter((name) => !/^@?memslot\b/.test(name) && name !== light);

test("importing the published packages loads nothing heavy and does no I/O", () => {
  // By their places: these tests need not depend on every package.
  const entries = publishedPlaces.map((place) => pathToFileURL(path.join(root, place, "src/index.ts")).href);
  const { modules, calls, active, native } = watchImport(...entries);
  expect(entries.filter((url) => !modules.includes(url))).toEqual([]);
  expect(modules.filter((url) => heavy.some((each) => url.includes(`/node_modules/${each}/`)))).toEqual([]);
  expect(calls).toEqual([]);
  expect(active).toEqual([]);
  expect(native.filter((file) => file.endsWith(".node") || /sqlite|vec0|lancedb|llama/.test(file))).toEqual([]);
});

/** Statements that an import must not run, and the call by which each is noticed. */
const noticed: Readonly<Record<string, string>> = tables.noticed;

test("is noticed when a package does I/O, loads native code or leaves a timer", () => {
  const library = path.join(root, "extensions/memory-core/node_modules/better-sqlite3/package.json");
  const native = `import { createRequire } from "node:module"; const need = createRequire(${JSON.stringify(library)}); new (need("better-sqlite3"))(":memory:"); setInterval(() => {}, 1e6)`;
  const codes = [...Object.values(noticed), native];
  const watched = watchImport(...codes.map((code) => `data:text/javascript,${encodeURIComponent(code)}`));
  for (const call of Object.keys(noticed)) expect(watched.calls.join("\n")).toContain(call);
  expect(watched.native.filter((file) => file.endsWith(".node"))).toHaveLength(1);
  expect(watched.modules.some((url) => url.includes("/node_modules/better-sqlite3/"))).toBe(true);
  expect(watched.active).toContain("Timeout");
});

// How many files each of them loads as it is published: `packed.long.test.ts`.
test.each<[string, RegExp, object?]>([
  ["--version", /\/indexing\/|agent-kit|sqlite|zod/],
  ["memory search staging --workspace notes", /agent-kit|zod|chokidar|opencc|ajv|modelcontext/],
  ["hook claude-code --workspace notes", /sqlite|zod|modelcontext|jsonc|toml|diff/, { hook_event_name: "Stop" }],
])("memslot %s loads no more than it needs", async (words, never, event) => {
  const folder = tempFolder({ "notes/MEMORY.md": "- The staging database listens on port 5544.\n" });
  const program = ["--conditions=@memslot/source", path.join(root, "apps/memslot/src/cli.ts"), ...words.split(" ")];
  const ask = event === undefined ? [] : [{ session_id: "a", ...event }];
  const { exitCode, files } = await loadedFiles(program, { home: path.join(folder, "home"), cwd: folder, ask });
  expect(exitCode).toBe(0);
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => never.test(file))).toEqual([]);
});

function watchImport(...specifiers: string[]): ImportWatch {
  const script = path.join(import.meta.dirname, "support/import-watch.ts");
  const output = execFileSync(process.execPath, ["--conditions=@memslot/source", script, ...specifiers], {
    encoding: "utf8",
    cwd: import.meta.dirname,
    timeout: 60_000,
  });
  return JSON.parse(output) as ImportWatch;
}
