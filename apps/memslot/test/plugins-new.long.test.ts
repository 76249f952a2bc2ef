import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type Sandbox, createSandbox } from "./run-memslot.ts";
import data from "./data/plugins-new.json" with { type: "json" };

const app = fileURLToPath(new URL("..", import.meta.url));
const root = path.resolve(app, "../..");
const files = ["memslot.plugin.json", "package.json", "src/index.ts", "test/conformance.test.ts"];

/** Where the packages that a stranger would have installed are in this repository. */
const packages: Readonly<Record<string, string>> = {
  "@memslot/core": path.join(root, "packages/core"),
  "@memslot/indexing": path.join(root, "packages/indexing"),
  "@memslot/testkit": path.join(root, "packages/testkit"),
  "@types/node": path.join(root, "node_modules/@types/node"),
  typescript: path.join(root, "node_modules/typescript"),
  vitest: path.join(root, "node_modules/vitest"),
};

interface Scaffold extends Sandbox {
  folder: string;
  /** Runs a script of this repository's tools in the folder. */
  node(...args: string[]): Promise<string>;
}

async function scaffold(): Promise<Scaffold> {
  const sandbox = await createSandbox();
  const made = await sandbox.run(["plugins", "new", "@me/memory-mine"]);
  expect({ exitCode: made.exitCode, stderr: made.stderr }).toEqual({ exitCode: 0, stderr: "" });
  const folder = path.join(sandbox.cwd, "memory-mine");
  for (const [name, target] of Object.entries(packages)) {
    const link = path.join(folder, "node_modules", name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(target, link, "junction");
  }
  const { VITEST: _vitest, ...env } = process.env;
  const node = async (...args: string[]): Promise<string> => {
    const options = {
      cwd: folder,
      env: { ...env, NODE_OPTIONS: "--conditions=@memslot/source" },
      maxBuffer: 32 * 1024 * 1024,
    };
    return (await promisify(execFile)(process.execPath, args, options)).stdout;
  };
  return { ...sandbox, folder, node };
}

const fiveMinutes = 300_000;

describe("memslot plugins new", () => {
  test("writes four files, its code in at most 150 lines, and says what to do next", async () => {
    const { run, cwd } = await createSandbox();
    const { stdout } = await run(["plugins", "new", "@me/memory-mine", "--dir", "elsewhere"]);
    for (const words of ["npm install", "npm test", "memslot plugins add .", "memslot plugins use memory-mine"])
      expect(stdout).toContain(words);
    const folder = path.join(cwd, "elsewhere");
    const there = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = there
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
    expect(names.map((name) => name.replaceAll(path.sep, "/")).toSorted()).toEqual(files);
    const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), "utf8")));
    const code = texts[files.indexOf("src/index.ts")] ?? "";
    expect(code.split("\n").length - 1).toBeLessThanOrEqual(150);
    for (const text of texts) expect(text).not.toContain("memory-example");
    const packageJson = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const { version } = JSON.parse(await readFile(path.join(app, "package.json"), "utf8"));
    expect(packageJson).toMatchObject({ name: "@me/memory-mine", dependencies: { "@memslot/core": `^${version}` } });
  });

  test(
    "what it writes keeps every promise, also under vitest, and its types are right",
    { timeout: fiveMinutes },
    async () => {
      const { node, folder } = await scaffold();
      // What a stranger needs none of: here the packages are sources.
      await writeFile(
        path.join(folder, "vitest.config.js"),
        'export default { ssr: { resolve: { conditions: ["@memslot/source", "node", "import", "module", "default"] } } };',
      );
      await node("node_modules/vitest/vitest.mjs", "run", "--reporter=json", "--outputFile=report.json");
      const report = JSON.parse(await readFile(path.join(folder, "report.json"), "utf8"));
      expect(report).toMatchObject({ success: true, numFailedTests: 0 });
      expect(report.numPassedTests).toBeGreaterThan(150);
      await writeFile(
        path.join(folder, "tsconfig.json"),
        JSON.stringify({
          extends: path.join(root, "tsconfig.base.json"),
          compilerOptions: data.compilerOptions,
          include: ["src", "test"],
        }),
      );
      expect(await node("node_modules/typescript/bin/tsc", "-p", ".")).toBe("");
    },
  );

  test("is built by its script, and then added, chosen and used by the command", { timeout: fiveMinutes }, async () => {
    const { node, folder, run, runHere, write, stateDir, writeConfig } = await scaffold();
    const { scripts } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const [tsc, ...args] = String(scripts.build).split(" ");
    expect(tsc).toBe("tsc");
    // Types are looked at above: here the packages have no built ones.
    await node("node_modules/typescript/bin/tsc", ...args, "--noCheck");
    await write("MEMORY.md", "# Memory\n\nThe staging database listens on port 5544.\n");
    await write("memory/钢琴.md", "女儿的钢琴课改到周六上午。\n");
    expect((await run(["plugins", "add", folder])).stdout).toContain("memory-mine 0.1.0 is installed");
    expect((await run(["plugins", "use", "memory-mine"])).exitCode).toBe(0);
    const search = await runHere(["memory", "search", "staging port", "--json"]);
    expect(JSON.parse(search.stdout)).toMatchObject({
      state: "ok",
      results: [{ path: "MEMORY.md", startLine: 1, endLine: 3 }],
    });
    expect((await runHere(["memory", "search", "钢琴"])).stdout).toContain("memory/钢琴.md");
    expect((await runHere(["memory", "get", "MEMORY.md#L3"])).stdout).toContain("5544");
    const status = JSON.parse((await runHere(["memory", "status", "--json"])).stdout);
    expect(status[0].status.dbPath).toMatch(/memory-mine.main-[0-9a-f]{16}.chunks\.json$/u);
    expect(status[0].status.dbPath).toContain(stateDir);
    // The same by its folder, with the option that its manifest describes.
    const config = await writeConfig(
      JSON.stringify({
        plugins: {
          slots: { memory: "memory-mine" },
          load: { paths: [folder] },
          entries: { "memory-mine": { config: { folder: path.join(stateDir, "other") } } },
        },
      }),
    );
    await run(["plugins", "remove", "memory-mine"]);
    expect((await runHere(["memory", "search", "staging", "--config", config])).stdout).toContain("5544");
    expect(await readdir(path.join(stateDir, "other"))).toEqual([expect.stringMatching(/^main-[0-9a-f]{16}\.json$/u)]);
    const wrong = await writeConfig(
      '{ plugins: { slots: { memory: "memory-mine" }, load: { paths: ["./here/memory-mine"] }, entries: { "memory-mine": { config: { foldr: "x" } } } } }',
    );
    expect((await runHere(["memory", "search", "x", "--config", wrong])).stderr).toContain('did you mean "folder"?');
  });

  test.each(data.refusedNames as [string, number, string][])("refuses the name %j", async (name, code, words) => {
    const { run } = await createSandbox();
    const { exitCode, stderr } = await run(["plugins", "new", name]);
    expect(exitCode).toBe(code);
    expect(stderr).toContain(words);
  });

  test("overwrites nothing", async () => {
    const { run, cwd } = await createSandbox();
    await mkdir(path.join(cwd, "memory-mine"));
    await writeFile(path.join(cwd, "memory-mine/mine.txt"), "");
    const { exitCode, stderr } = await run(["plugins", "new", "memory-mine"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("is not empty");
    expect(await readdir(path.join(cwd, "memory-mine"))).toEqual(["mine.txt"]);
  });
});
