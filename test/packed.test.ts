import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "..");
const published = [
  "packages/core",
  "packages/indexing",
  "packages/agent-kit",
  "packages/testkit",
  "extensions/memory-core",
  "extensions/embeddings-openai",
  "extensions/embeddings-gemini",
  "extensions/embeddings-local",
  "apps/memslot",
];
const oldestNode = "22.22.0";
const fiveMinutes = 300_000;

/** What strangers get: the packed packages, installed into a project of their own and run on the oldest Node. */
describe("the packed packages on the oldest supported Node", () => {
  let folder = "";
  let project = "";
  let node = "";

  beforeAll(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "memslot-packed-"));
    project = path.join(folder, "project");
    run("pnpm", ["run", "build"], root);
    const tarballs = new Map(published.map((place) => [nameOf(place), pack(path.join(root, place), folder)]));
    install(project, tarballs);
    node = fetchNode(oldestNode);
    mkdirSync(path.join(project, "notes/memory"), { recursive: true });
    writeFileSync(path.join(project, "notes/MEMORY.md"), "# Memory\n\n- The staging database listens on port 5544.\n");
    writeFileSync(path.join(project, "notes/memory/2026-03-05.md"), "# 2026-03-05\n\n- 医生说每天要走一万步。\n");
  }, fiveMinutes);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("hold no sources, tests or build state", () => {
    for (const place of published) {
      const installed = path.join(project, "node_modules", nameOf(place));
      const files = readdirSync(installed, { recursive: true, encoding: "utf8" }).filter(
        (file) => !file.startsWith("node_modules"),
      );
      expect(
        files.filter(
          (file) =>
            /(\.tsbuildinfo|\.test\.|(^|\/)src\/)/.test(file) || (file.endsWith(".ts") && !file.endsWith(".d.ts")),
        ),
      ).toEqual([]);
      expect(files).toContain("README.md");
    }
  });

  test("run the command", () => {
    const command = [path.join(project, "node_modules/memslot/bin/memslot.js")];
    expect(run(node, [...command, "--version"], project).trim()).toMatch(/^\d+\.\d+\.\d+$/);
    const output = run(
      node,
      [...command, "memory", "search", "port of the staging database", "--workspace", "notes", "--json"],
      project,
    );
    const { results } = JSON.parse(output) as {
      results: { path: string; startLine: number; endLine: number; snippet: string }[];
    };
    expect(results[0]).toMatchObject({ path: "MEMORY.md" });
    expect(results[0]?.snippet).toContain("5544");
  });

  test("work as a library", () => {
    const script = `
      import { openMemory } from "memslot";
      const memory = await openMemory({ agentId: "main", workspaceDir: "notes" });
      await memory.sync();
      const [best] = await memory.search("走路");
      const { text } = await memory.readFile({ relPath: best.path, from: best.startLine, lines: 3 });
      console.log(process.version, best.path, text);
      await memory.close();
    `;
    const output = run(node, ["--input-type=module", "--eval", script.replace("走路", "医生 走一万步")], project);
    expect(output).toContain(`v${oldestNode} memory/2026-03-05.md`);
    expect(output).toContain("一万步");
  });

  function run(command: string, options: readonly string[], cwd: string): string {
    const home = path.join(folder, "home");
    return execFileSync(command, options, {
      cwd,
      encoding: "utf8",
      timeout: fiveMinutes,
      env: { ...withoutSourceCondition(), ...(cwd === root ? {} : { MEMSLOT_HOME: home }) },
      stdio: ["ignore", "pipe", "inherit"],
      shell: process.platform === "win32",
    });
  }

  function pack(place: string, target: string): string {
    const before = new Set(readdirSync(target));
    run("pnpm", ["--dir", place, "pack", "--pack-destination", target], root);
    const [tarball] = readdirSync(target).filter((file) => file.endsWith(".tgz") && !before.has(file));
    if (!tarball) throw new Error(`nothing was packed for ${place}`);
    return path.join(target, tarball);
  }

  function install(target: string, tarballs: ReadonlyMap<string, string>): void {
    mkdirSync(target);
    const locations = Object.fromEntries([...tarballs].map(([name, file]) => [name, `file:${file}`]));
    const manifest = { name: "stranger", private: true, type: "module", dependencies: locations };
    writeFileSync(path.join(target, "package.json"), JSON.stringify(manifest, null, 2));
    // The packages name each other by version; what is tested here stands in no registry yet.
    const overrides = Object.entries(locations).map(
      ([name, file]) => `  ${JSON.stringify(name)}: ${JSON.stringify(file)}`,
    );
    writeFileSync(
      path.join(target, "pnpm-workspace.yaml"),
      `packages: []\noverrides:\n${overrides.join("\n")}\nallowBuilds:\n  better-sqlite3: false\n  protobufjs: false\n`,
    );
    run("pnpm", ["install", "--prefer-offline", "--config.node-linker=hoisted"], target);
  }
});

function nameOf(place: string): string {
  return (JSON.parse(readFileSync(path.join(root, place, "package.json"), "utf8")) as { name: string }).name;
}

/** Kept beside the launcher's own tools, so that a second run needs no network. */
function fetchNode(version: string): string {
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const folder = path.join(root, ".tools", `node-${version}`);
  const binary = path.join(folder, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
    writeFileSync(path.join(folder, "pnpm-workspace.yaml"), "packages: []\n");
    execFileSync("pnpm", ["add", "--silent", `${name}@${version}`], {
      cwd: folder,
      stdio: ["ignore", "inherit", "inherit"],
      timeout: fiveMinutes,
      env: withoutSourceCondition(),
      shell: process.platform === "win32",
    });
  }
  return binary;
}

function withoutSourceCondition(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, ...rest } = process.env;
  return rest;
}
