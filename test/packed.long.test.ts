import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { startEmbeddingApi } from "@memslot/fakes/embedding-api";
import { writeTinyGguf } from "@memslot/fakes/gguf";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { root } from "./support/repository.ts";
import { type Asked, loadedFiles } from "./support/loaded-files.ts";
import {
  createStranger,
  diskUsage,
  fetchNode,
  type Registry,
  startRegistry,
  type Stranger,
  strangersNotes,
} from "./support/new-user-machine.ts";
import { packAll, readPackedPackage, type PackedPackage } from "./support/packing.ts";
import tables from "./data/packed.json" with { type: "json" };

const oldestNode = process.env["MEMSLOT_PACKED_NODE"] === undefined ? "22.22.0" : "22";
// Most of these wait for package managers.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 });
/** What `npm install memslot` may take on disk, in bytes. */
const mostDisk = 80_000_000;

let folder = "";
let packed: ReadonlyMap<string, PackedPackage> = new Map();
let registry: Registry;
let oldest = "";

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "memslot-packed-"));
  packed = await packAll(path.join(folder, "tarballs"));
  const cacheFolder = path.join(root, ".tools", "registry");
  registry = await startRegistry({ packages: [...packed.values()], cacheFolder });
  oldest = process.env["MEMSLOT_PACKED_NODE"] ?? (await fetchNode(oldestNode));
});

afterAll(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Installs the command into an empty folder. */
async function install(name: string, packageManager: "npm" | "pnpm" = "npm"): Promise<Stranger> {
  const stranger = createStranger({ folder: path.join(folder, name), registry: registry.url, packageManager });
  stranger.write({ ...strangersNotes, "package.json": '{ "name": "stranger", "private": true, "type": "module" }\n' });
  await stranger.install("memslot");
  return stranger;
}

describe.each(["npm", "pnpm"] as const)("memslot, installed with %s into an empty folder", (packageManager) => {
  let stranger: Stranger;

  beforeAll(async () => {
    stranger = await install(packageManager, packageManager);
  });

  test("takes less than 80 MB, and brings no other backend or provider", () => {
    const bytes = diskUsage(path.join(stranger.project, "node_modules"));
    process.stderr.write(`memslot installed by ${packageManager}: ${(bytes / 1e6).toFixed(1)} MB\n`);
    expect(bytes).toBeLessThan(mostDisk);
    const added = path.join(stranger.project, "node_modules/.pnpm");
    const names = readdirSync(existsSync(added) ? added : path.join(stranger.project, "node_modules/@memslot"));
    expect(
      names.filter((name) => /memory-(?!core\b)|lancedb|embeddings-|rerank-|openai|genai|llama/.test(name)),
    ).toEqual([]);
  });

  test.each([`Node ${oldestNode}`, "this Node"])("searches notes on %s", async (which) => {
    const node = which === "this Node" ? process.execPath : oldest;
    const version = await stranger.memslot(["--version"], node);
    expect(version.stdout.trim()).toBe(release());
    expect((await search(stranger, [], node)).results[0]).toMatchObject({
      path: "MEMORY.md",
      snippet: expect.stringContaining("5544") as string,
    });
  });

  test(`is a library on Node ${oldestNode}`, async () => {
    const script = tables.libraryScript.join("\n");
    const { stdout } = await stranger.run(oldest, ["--input-type=module", "--eval", script]);
    expect(stdout).toContain("memory/2026-03-05.md");
    expect(stdout).toContain("一万步");
  });

  test("has types that a strict project compiles against, those of its dependencies too", async () => {
    stranger.write(tables.typedApp);
    const compiler = path.join(root, "node_modules/typescript/bin/tsc");
    const options = "--noEmit --strict --skipLibCheck false --module nodenext --target es2024 --types";
    const { stdout } = await stranger.run(process.execPath, [compiler, ...options.split(" "), "", "app.ts"]);
    expect(stdout).toBe("");
  });

  test("names the commands that add a backend that is not there", async () => {
    stranger.write({ "lancedb.json5": '{ plugins: { slots: { memory: "memory-lancedb" } } }' });
    const words = ["memory", "search", "port", "--workspace", "notes", "--config", "lancedb.json5"];
    const { exitCode, stderr } = await stranger.memslot(words);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("memslot plugins add memory-lancedb");
    expect(stderr).toContain("npm install @memslot/memory-lancedb");
  });

  test("searches by meaning once the provider is added in the way that it names", async () => {
    const api = await startEmbeddingApi();
    try {
      const remote = `remote: { baseUrl: "${api.url}/v1", apiKey: "sk-stranger" }`;
      stranger.write({
        "openai.json5": `{ agents: { defaults: { memorySearch: { provider: "openai", model: "fake", ${remote} } } } }`,
      });
      const before = await search(stranger, ["--config", "openai.json5"]);
      expect(before).toMatchObject({ mode: "keyword", state: "degraded" });
      expect(before.reason).toContain("memslot plugins add openai");
      expect(before.reason).toContain("npm install @memslot/embeddings-openai");
      // Either way is taken once.
      if (packageManager === "npm") await stranger.install("@memslot/embeddings-openai");
      else expect(await stranger.memslot(["plugins", "add", "openai"])).toMatchObject({ exitCode: 0 });
      const after = await search(stranger, ["--config", "openai.json5"]);
      expect(after).toMatchObject({ mode: "hybrid", state: "ok" });
      expect(api.log.length).toBeGreaterThan(0);
    } finally {
      await api.close();
    }
  });
});

describe("a plugin, added to the installed command", () => {
  let stranger: Stranger;

  beforeAll(async () => {
    stranger = await install("plugins");
  });

  test("that was scaffolded passes its own tests, builds, and answers from the slot", async () => {
    await succeed(stranger, "plugins", "new", "@stranger/memory-mine", "--dir", "mine");
    await stranger.run("npm", ["install"], "mine");
    // Its author has put a part of it into a file of its own.
    const code = readFileSync(path.join(stranger.project, "mine/src/index.ts"), "utf8");
    const [sum = ""] = /^const sum = .*\n/mu.exec(code) ?? [];
    stranger.write({
      "mine/src/sum-of.ts": `export ${sum}`,
      "mine/src/index.ts": `import { sum } from "./sum-of.ts";\n${code.replace(sum, "")}`,
    });
    await stranger.run("npm", ["test"], "mine");
    await stranger.run("npm", ["run", "build"], "mine");
    await succeed(stranger, "plugins", "add", "./mine");
    await succeed(stranger, "plugins", "use", "memory-mine");
    expect(await search(stranger, [], oldest)).toMatchObject(tables.scaffolded);
  });

  test("that brings native code answers from the slot", async () => {
    await succeed(stranger, "plugins", "add", "memory-lancedb");
    stranger.write({ "lancedb.json5": '{ plugins: { slots: { memory: "memory-lancedb" } } }' });
    expect(await search(stranger, ["--config", "lancedb.json5"], oldest)).toMatchObject(tables.lancedb);
  });

  test("that a stranger wrote from the documentation passes its own tests and answers under the name of its package", async () => {
    const lines = path.join(stranger.project, "lines");
    cpSync(path.join(root, "test/stranger/memory-lines"), lines, { recursive: true });
    const manifest = readFileSync(path.join(lines, "package.json"), "utf8");
    // Its author has written it for the release that is there now.
    stranger.write({ "lines/package.json": manifest.replaceAll(/"\^0\.\d+\.\d+"/g, `"^${release()}"`) });
    await stranger.run("npm", ["install"], "lines");
    await stranger.run("npm", ["test"], "lines");
    await stranger.run("npm", ["pack"], "lines");
    registry.publish(readPackedPackage(path.join(lines, "stranger-memory-lines-1.0.0.tgz")));
    await stranger.install("@stranger/memory-lines");
    stranger.write({ "lines.json5": '{ plugins: { slots: { memory: "@stranger/memory-lines" } } }' });
    expect(await search(stranger, ["--config", "lines.json5"], oldest)).toMatchObject(tables.lines);
  });

  test("that asks another program starts it under the helper that was packed", async () => {
    await succeed(stranger, "plugins", "add", "memory-qmd");
    const { makeFakeQmd } = (await import(scriptedQmd)) as ScriptedQmd;
    const qmd = makeFakeQmd({ folder: path.join(stranger.project, "qmd") });
    stranger.write({ "qmd.json5": `{ memory: { backend: "qmd", qmd: { command: ${JSON.stringify(qmd.command)} } } }` });
    await succeed(stranger, "memory", "index", "--workspace", "notes", "--config", "qmd.json5");
    expect(await search(stranger, ["--config", "qmd.json5"], oldest)).toMatchObject(tables.qmd);
    expect(qmd.starts("update").length).toBeGreaterThan(0);
  });

  test("that runs a model starts its child process from what was packed", async () => {
    await succeed(stranger, "plugins", "add", "local");
    // The package that the plugin asks for, in the version that the repository has: 80 MB that are not fetched again.
    const installed = path.join(stranger.home, ".memslot/node_modules");
    mkdirSync(installed, { recursive: true });
    symlinkSync(
      realpathSync(path.join(root, "extensions/embeddings-local/node_modules/node-llama-cpp")),
      path.join(installed, "node-llama-cpp"),
      "junction",
    );
    writeTinyGguf(path.join(stranger.project, "tiny.gguf"), { words: ["staging", "database", "port", "listens"] });
    const provider = 'provider: "local", local: { modelPath: "./tiny.gguf" }';
    stranger.write({
      "local.json5": `{ agents: { defaults: { memorySearch: { ${provider} } } }, plugins: { slots: { memory: "memory-core" } } }`,
    });
    expect(await search(stranger, ["--config", "local.json5"], oldest)).toMatchObject({ mode: "hybrid", state: "ok" });
  });
});

interface Budget {
  files: number;
  threads: number;
  /** Matches files that are never loaded. */
  never: string;
}
const budgets = JSON.parse(readFileSync(path.join(import.meta.dirname, "data/load-budgets.json"), "utf8")) as {
  commands: [words: string, Budget][];
  hooks: [event: string, input: object, Budget][];
};

describe("a start of the installed command", () => {
  let stranger: Stranger;

  beforeAll(async () => {
    stranger = await install("budgets");
    // The first search indexes the notes, in a thread.
    await stranger.memslot(["memory", "search", "staging", "--workspace", "notes"]);
  });

  // What a start costs is what it loads: a file takes about half a millisecond, a thread twenty. Who needs more says here why.
  // One or two of them hold what finds a note by its name: hosts that write notes load these without the rest.
  test.each(budgets.commands)("memslot %s loads no more than its budget, in a thread", async (words, budget) => {
    const { exitCode, threads, files } = await load(`${words} --workspace notes`.split(" "));
    expect(exitCode).toBe(0);
    expect(files.filter((file) => new RegExp(budget.never).test(file))).toEqual([]);
    expect(threads).toBe(budget.threads);
    expect(files.length, `${files.length} files of ${budget.files}:\n${files.join("\n")}`).toBeLessThanOrEqual(
      budget.files,
    );
  });

  // The input is given behind the command; what the event is decides what is loaded.
  test.each(budgets.hooks)("memslot hook loads no more than its budget at %s", async (name, more, budget) => {
    const words = ["hook", "claude-code", "--workspace", "notes"];
    const event = { session_id: name, hook_event_name: name, ...more };
    const { exitCode, threads, files } = await load(words, [event]);
    expect(exitCode).toBe(0);
    expect(files.filter((file) => new RegExp(budget.never).test(file))).toEqual([]);
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

/** The scripted qmd of that plugin's own tests. */
const scriptedQmd = pathToFileURL(path.join(root, "test/fakes/src/qmd/fake-qmd.ts")).href;

interface ScriptedQmd {
  makeFakeQmd(options: { folder: string }): { command: string; starts(command: string): unknown[] };
}

interface Answer {
  results: { path: string; snippet: string }[];
  backend: string;
  mode: string;
  state: string;
  reason?: string;
}

const release = (): string | undefined => packed.get("apps/memslot")?.manifest.version;

async function search(stranger: Stranger, options: readonly string[], node?: string): Promise<Answer> {
  const words = ["memory", "search", "port of the staging database", "--workspace", "notes", "--json", ...options];
  const { exitCode, stdout, stderr } = await stranger.memslot(words, node);
  expect(exitCode, stderr).toBe(0);
  return JSON.parse(stdout) as Answer;
}

async function succeed(stranger: Stranger, ...words: string[]): Promise<void> {
  const { exitCode, stdout, stderr } = await stranger.memslot(words);
  expect(exitCode, `${stdout}${stderr}`).toBe(0);
}
