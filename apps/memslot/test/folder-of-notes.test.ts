import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, realpath, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { type Finished, type Sandbox, createSandbox } from "./run-memslot.ts";

/** Files below the folder in which the command runs. */
async function write(sandbox: Sandbox, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(sandbox.cwd, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

const search = (sandbox: Sandbox, folder = ".", args: string[] = []): Promise<Finished> =>
  sandbox.run(["memory", "search", "walrus", ...args], { cwd: path.join(sandbox.cwd, folder) });

describe("a command that is run in or below a folder of notes", () => {
  test.each<[string, Record<string, string>, string]>([
    ["with Markdown in the current folder", { "notes/a.md": "walrus\n" }, "notes"],
    [
      "with Markdown in its folders alone",
      { "notes/x/a.md": "walrus\n", "notes/x/y/b.md": "b", "notes/z/c.png": "" },
      "notes",
    ],
    ["with MEMORY.md above", { "notes/MEMORY.md": "walrus\n", "notes/x/y/z.txt": "" }, "notes/x/y"],
    ["with a memory/ that holds notes above", { "notes/memory/a.md": "walrus\n", "notes/x/z.txt": "" }, "notes/x"],
    ["with .obsidian above", { "notes/.obsidian/app.json": "{}", "notes/x/a.md": "walrus\n" }, "notes/x"],
    ["with .memslot-notes above", { "notes/.memslot-notes": "", "notes/x/a.md": "walrus\n" }, "notes/x"],
    [
      "whose nearest mark counts",
      { "MEMORY.md": "no\n", "notes/MEMORY.md": "walrus\n", "notes/x/z.txt": "" },
      "notes/x",
    ],
  ])("uses it: %s", async (_, files, folder) => {
    const sandbox = await createSandbox();
    await write(sandbox, files);
    const { exitCode, stdout, stderr } = await search(sandbox, folder);
    expect(stdout).toContain("walrus");
    expect(stderr).toContain(
      `workspace: ${await realpath(path.join(sandbox.cwd, "notes"))} (found from the current folder`,
    );
    expect(exitCode).toBe(0);
  });

  test.each<[string, Record<string, string>, string]>([
    ["Markdown in a folder above, which nothing marks", { "notes/a.md": "walrus\n", "notes/x/z.txt": "" }, "notes/x"],
    ["a memory/ of something else", { "notes/memory/alloc.c": "walrus", "notes/x/z.txt": "" }, "notes/x"],
    ["hidden files alone", { "notes/.a.md": "walrus\n" }, "notes"],
    ["a folder of repositories", { "notes/x/a.md": "walrus\n", "notes/y/.git/HEAD": "" }, "notes"],
    ["a folder of packages", { "notes/x/a.md": "walrus\n", "notes/y/package.json": "{}" }, "notes"],
    [
      "folders that hold more of other things",
      { "notes/x/a.md": "walrus\n", "notes/y/b.c": "", "notes/y/c.c": "" },
      "notes",
    ],
    ["nothing", { "notes/z.txt": "" }, "notes"],
  ])("does not use %s", async (_, files, folder) => {
    const sandbox = await createSandbox();
    await write(sandbox, files);
    const { exitCode, stderr } = await search(sandbox, folder);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(path.join(sandbox.stateDir, "workspace"));
    expect(stderr).not.toContain("found from the current folder");
  });

  test("goes from below to a folder that was indexed before, as long as no usual workspace was made", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, { "notes/x/a.md": "a walrus\n", "notes/y/b.md": "another walrus\n", "notes/y/z/c.txt": "" });
    // The folder alone, before anybody has said what it is a part of.
    expect((await search(sandbox, "notes/y", ["--paths"])).stdout).toBe("b.md\n");
    await write(sandbox, { "vault/x/a.md": "a walrus\n", "vault/y/b.md": "another walrus\n", "vault/y/z/c.txt": "" });
    await search(sandbox, ".", ["--workspace", "vault"]);
    for (const folder of ["vault/y", "vault/y/z"]) {
      const { stdout, stderr } = await search(sandbox, folder, ["--paths"]);
      expect(stderr).toContain(`workspace: ${await realpath(path.join(sandbox.cwd, "vault"))} (found from`);
      expect(stdout).toContain("x/a.md\n");
      expect(stdout).toContain("b.md\n");
    }
    await mkdir(path.join(sandbox.stateDir, "workspace"), { recursive: true });
    await writeFile(path.join(sandbox.stateDir, "workspace/MEMORY.md"), "the owner's walrus\n");
    expect((await search(sandbox, "vault/y")).stdout).toContain("the owner's walrus");
  });

  test("never takes the home folder, the state folder, or a folder above them by itself", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, {
      "MEMORY.md": "walrus\n",
      "home/MEMORY.md": "walrus\n",
      "home/a.md": "walrus\n",
      "home/x/y.txt": "",
    });
    const env = { ...sandbox.env, HOME: path.join(sandbox.cwd, "home"), USERPROFILE: path.join(sandbox.cwd, "home") };
    for (const folder of ["home", "home/x"]) {
      const { stderr, exitCode } = await sandbox.run(["memory", "search", "walrus"], {
        cwd: path.join(sandbox.cwd, folder),
        env,
      });
      expect([exitCode, stderr.includes("found from")]).toEqual([1, false]);
    }
    await mkdir(sandbox.stateDir, { recursive: true });
    await writeFile(path.join(sandbox.stateDir, "MEMORY.md"), "walrus\n");
    const { stderr } = await sandbox.run(["memory", "search", "walrus"], { cwd: sandbox.stateDir });
    expect(stderr).not.toContain("found from");
  });

  test("leaves the choice to --workspace, the environment, the configuration, and a usual workspace that is there", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, { "notes/a.md": "walrus of the folder\n" });
    await sandbox.write("MEMORY.md", "walrus of the workspace\n");
    const cwd = path.join(sandbox.cwd, "notes");
    const config = path.join(sandbox.cwd, "own.json5");
    await writeFile(config, JSON.stringify({ agents: { defaults: { workspace: sandbox.workspace } } }));
    const ask = ["memory", "search", "walrus"];
    const runs = [
      await sandbox.run([...ask, "--workspace", sandbox.workspace], { cwd }),
      await sandbox.run(ask, { cwd, env: { ...sandbox.env, MEMSLOT_WORKSPACE: sandbox.workspace } }),
      await sandbox.run([...ask, "--config", config], { cwd }),
    ];
    await mkdir(path.join(sandbox.stateDir, "workspace"), { recursive: true });
    await writeFile(path.join(sandbox.stateDir, "workspace/MEMORY.md"), "walrus of the workspace\n");
    runs.push(await sandbox.run(ask, { cwd }));
    for (const { stdout, stderr } of runs) {
      expect(stdout).toContain("walrus of the workspace");
      expect(stdout + stderr).not.toMatch(/of the folder|found from/);
    }
    // A mark is a choice too.
    await write(sandbox, { "notes/.obsidian/app.json": "{}" });
    expect((await sandbox.run(ask, { cwd })).stdout).toContain("walrus of the folder");
  });

  test("finds the memslot.json5 above it, which is no more trusted there than in the current folder", async () => {
    const sandbox = await createSandbox();
    const content = JSON.stringify({
      agents: { defaults: { workspace: "./elsewhere", memorySearch: { query: { maxResults: 1 } } } },
    });
    await write(sandbox, {
      "notes/memslot.json5": content,
      "notes/x/a.md": "walrus\n",
      "notes/elsewhere/MEMORY.md": "walrus of elsewhere\n",
    });
    const before = await search(sandbox, "notes/x");
    expect(before.stderr).toContain("agents.defaults.workspace");
    expect(before.stderr).toContain("is not trusted");
    expect(before.stdout).not.toContain("elsewhere");
    await sandbox.run(["trust"], { cwd: path.join(sandbox.cwd, "notes") });
    const after = await search(sandbox, "notes/x");
    expect(after.stdout).toContain("walrus of elsewhere");
    expect(after.stderr).not.toContain("found from");
  });

  test("stays with the usual workspace in a folder whose memslot.json5 is not trusted", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, { "notes/memslot.json5": "{}", "notes/MEMORY.md": "walrus of a stranger\n" });
    await mkdir(path.join(sandbox.stateDir, "workspace"), { recursive: true });
    await writeFile(path.join(sandbox.stateDir, "workspace/MEMORY.md"), "walrus of the owner\n");
    expect((await search(sandbox, "notes")).stdout).toContain("walrus of the owner");
    await sandbox.run(["trust"], { cwd: path.join(sandbox.cwd, "notes") });
    expect((await search(sandbox, "notes")).stdout).toContain("walrus of a stranger");
  });

  test("walks from where a link leads to, not along it", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, { "notes/MEMORY.md": "walrus\n", "other/z.txt": "" });
    await symlink(path.join(sandbox.cwd, "other"), path.join(sandbox.cwd, "notes/link"));
    expect((await search(sandbox, "notes/link")).exitCode).toBe(1);
  });
});

describe("the layout", () => {
  const vault = {
    "Heat pump.md": "walrus\n",
    "x/b.mdx": "walrus\n",
    "private/c.md": "c",
    ".gitignore": "private\n",
    "x/d.png": "",
    ".obsidian/e.json": "",
  };

  test("is said by the first index, with what is left out, and not by the second one", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, vault);
    const first = await sandbox.run(["memory", "index"]);
    expect(first.stdout).toContain("Indexed 2 files");
    expect(first.stderr).toContain("layout: a folder of notes: all Markdown below the workspace (neither MEMORY.md");
    expect(first.stderr).toContain("left out: named by .gitignore: 1 folder; hidden by a dot: 1 folder; not Markdown");
    expect((await sandbox.run(["memory", "index"])).stderr).not.toContain("layout:");
    expect((await sandbox.run(["memory", "index", "--verbose"])).stderr).toContain("layout: a folder of notes");
  });

  test("of an agent is said too, with how the rest is taken in", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, { ...vault, "MEMORY.md": "m\n" });
    const { stdout, stderr } = await sandbox.run(["memory", "index"]);
    expect(stdout).toContain("Indexed 1 file");
    expect(stderr).toContain("layout: the layout of an agent: MEMORY.md, USER.md and memory/ (MEMORY.md is there)");
    expect(stderr).toContain(
      'not searched: 2 Markdown files below the workspace (in x): memorySearch.notes: "all" takes them in',
    );
  });

  test("of a folder of notes is written down by init, which makes no MEMORY.md there and says what is left out", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, vault);
    const { stdout, exitCode } = await sandbox.run(["init", "--yes"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("Layout: a folder of notes");
    expect(stdout).toContain("2 Markdown files");
    expect(stdout).toContain("Left out: named by .gitignore: 1 folder");
    expect(existsSync(path.join(sandbox.cwd, "memory"))).toBe(false);
    expect((await readdir(sandbox.cwd)).includes("MEMORY.md")).toBe(false);
    expect(await readFile(path.join(sandbox.cwd, "memslot.json5"), "utf8")).toMatch(/^\s+notes: "all",$/m);
    // A MEMORY.md that is written by hand later hides nothing.
    await write(sandbox, { "MEMORY.md": "walrus\n" });
    expect((await sandbox.run(["memory", "search", "walrus", "--json"])).stdout.match(/"path"/g)?.length).toBe(3);
  });

  test("is said by init where it is an agent's, with what that hides", async () => {
    const sandbox = await createSandbox();
    await write(sandbox, { ...vault, "MEMORY.md": "m\n" });
    const { stdout } = await sandbox.run(["init", "--yes"]);
    expect(stdout).toContain("Layout: the layout of an agent");
    expect(stdout).toContain("Not searched: 2 Markdown files below the workspace");
    expect(existsSync(path.join(sandbox.cwd, "memory"))).toBe(true);
  });
});
