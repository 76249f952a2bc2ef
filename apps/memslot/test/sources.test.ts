import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { assistant, claudeSession, codexSession, user } from "@memslot/fakes/clients";
import { describe, expect, test } from "vitest";
import { createSandbox, type Sandbox } from "./run-memslot.ts";

/** Somebody with conversations of this folder and of another one. */
async function withHistory(): Promise<Sandbox & { home: string; file: string }> {
  const sandbox = await createSandbox();
  const home = sandbox.env["HOME"] ?? "";
  await mkdir(path.join(sandbox.cwd, ".git"));
  await sandbox.write("MEMORY.md", "The owner likes espresso.\n");
  claudeSession(home, sandbox.cwd, "one", [user("Which quagga?"), assistant("The quagga of this folder.")]);
  claudeSession(home, "/elsewhere", "two", [user("Which quagga?"), assistant("The quagga of elsewhere.")]);
  codexSession(home, sandbox.cwd, "three", [assistant("The quagga of Codex.")]);
  return { ...sandbox, home, file: path.join(sandbox.stateDir, "memslot.json5") };
}

interface SearchJson {
  results: { path: string; source: string }[];
}

async function found({ runHere }: Sandbox, ...more: string[]): Promise<string[]> {
  const { stdout, stderr, exitCode } = await runHere(["memory", "search", "quagga", "--json", ...more]);
  expect(exitCode, stderr).toBe(0);
  return (JSON.parse(stdout) as SearchJson).results.map((result) => path.posix.basename(result.path)).toSorted();
}

describe("memslot sources", () => {
  test("lists what there is with counts and sizes, and reads none of it into the index", async () => {
    const sandbox = await withHistory();
    const { exitCode, stdout } = await sandbox.run(["sources"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /claude-code +not searched · 2 conversations in 2 folders, 1 of this project, \d\.\d kB · ~\/\.claude\n/u,
    );
    expect(stdout).toMatch(
      /codex +not searched · 1 conversation in 1 folder, 1 of this project, \d+ B · ~\/\.codex\n/u,
    );
    expect(stdout).toMatch(/gemini +nothing here\n/u);
    expect(stdout).toContain("None of it is read before you say so");
    expect(existsSync(sandbox.file)).toBe(false);
    expect(await found(sandbox)).toEqual([]);
    const json = JSON.parse((await sandbox.run(["sources", "list", "--json"])).stdout) as { sources: object[] };
    expect(json).toMatchObject({ scope: "project", keep: false });
    expect(json.sources).toHaveLength(5);
    expect(json.sources[0]).toMatchObject({ source: "claude-code", conversations: 2, inProject: 1, searched: false });
  });

  test("are searched once they are added, from their project, and beside the notes", async () => {
    const sandbox = await withHistory();
    const { exitCode, stdout, stderr } = await sandbox.run(["sources", "add", "claude-code", "codex", "--yes"]);
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toContain("claude-code: 2 conversations");
    expect(stdout).toContain(sandbox.file);
    expect(await readFile(sandbox.file, "utf8")).toContain('sources: ["memory", "claude-code", "codex"]');
    const codex = "rollout-2026-11-20T09-59-00-three.jsonl";
    expect(await found(sandbox)).toEqual(["one.jsonl", codex]);
    expect(await found(sandbox, "--source", "codex")).toEqual([codex]);
    expect((await sandbox.runHere(["memory", "search", "espresso", "--json"])).stdout).toContain("MEMORY.md");
    const listed = (await sandbox.run(["sources"])).stdout;
    expect(listed).toMatch(/claude-code +searched · /u);
    expect(listed).toContain("those of the project that is asked from; what they delete is found no more");
  });

  test("follow scope and keep, and the copies go with --forget alone", async () => {
    const sandbox = await withHistory();
    await sandbox.run(["sources", "add", "claude-code", "--scope", "all", "--keep", "--yes"]);
    expect(await found(sandbox)).toEqual(["one.jsonl", "two.jsonl"]);
    const kept = path.join(sandbox.stateDir, "agents/main/kept/claude-code");
    expect(existsSync(kept)).toBe(true);
    await sandbox.run(["sources", "add", "claude-code", "--scope", "project", "--no-keep", "--yes"]);
    expect(await found(sandbox)).toEqual(["one.jsonl"]);
    const removed = await sandbox.run(["sources", "remove", "claude-code"]);
    expect(removed.stdout).toContain(`stays in ${kept}`);
    expect(existsSync(kept)).toBe(true);
    expect(await found(sandbox)).toEqual([]);
    expect((await sandbox.run(["sources", "remove", "claude-code", "--forget"])).exitCode).toBe(2);
    expect(existsSync(kept)).toBe(true);
    expect((await sandbox.run(["sources", "remove", "claude-code", "--forget", "--yes"])).exitCode).toBe(0);
    expect(existsSync(kept)).toBe(false);
    expect(await readFile(sandbox.file, "utf8")).toContain('sources: ["memory"]');
  });

  test("are not added where nobody can be asked, and not under a name that is none", async () => {
    const sandbox = await withHistory();
    const silent = await sandbox.run(["sources", "add", "codex"]);
    expect(silent.exitCode).toBe(2);
    expect(silent.stderr).toContain("1 conversation");
    expect(silent.stderr).toContain("run it with --yes");
    expect((await sandbox.run(["sources", "add", "copilot", "--yes"])).exitCode).toBe(2);
    expect((await sandbox.run(["sources", "add"])).exitCode).toBe(2);
    expect(existsSync(sandbox.file)).toBe(false);
  });

  test("are not named by a folder that nobody has trusted", async () => {
    const sandbox = await withHistory();
    const search = `sources: ["memory", "claude-code", "codex"], clients: { scope: "all", keep: true }`;
    await writeFile(
      path.join(sandbox.cwd, "memslot.json5"),
      `{ agents: { defaults: { memorySearch: { ${search} } } } }`,
    );
    const { stdout, stderr } = await sandbox.runHere(["memory", "search", "quagga", "--json"]);
    expect((JSON.parse(stdout) as SearchJson).results).toEqual([]);
    expect(stderr).toContain("is not trusted");
    expect(existsSync(path.join(sandbox.stateDir, "agents/main/kept"))).toBe(false);
    // Whoever adds one changes a file of theirs, and not that of the folder.
    const before = await readFile(path.join(sandbox.cwd, "memslot.json5"), "utf8");
    await sandbox.run(["sources", "add", "codex", "--yes"]);
    expect(await readFile(path.join(sandbox.cwd, "memslot.json5"), "utf8")).toBe(before);
    expect(existsSync(sandbox.file)).toBe(true);
  });

  test("a citation opens the message, and why tells why one of another project is not among the answers", async () => {
    const sandbox = await withHistory();
    await sandbox.run(["sources", "add", "claude-code", "--yes"]);
    const { stdout } = await sandbox.runHere(["memory", "search", "quagga of this folder", "--json"]);
    const [result] = (JSON.parse(stdout) as { results: { path: string; endLine: number }[] }).results;
    const opened = await sandbox.runHere(["memory", "get", `${result?.path}#L${result?.endLine}`]);
    expect(opened.exitCode, opened.stderr).toBe(0);
    expect(opened.stdout).toContain("Assistant: The quagga of this folder.");
    const other = "claude-code:/-elsewhere/two.jsonl";
    const refused = await sandbox.runHere(["memory", "get", other]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("of another project");
    const why = await sandbox.runHere(["memory", "search", "quagga", "--why", other]);
    expect(why.exitCode, why.stderr).toBe(0);
    expect(why.stdout).not.toContain("elsewhere.");
  });

  test("refuse to change what an agent's own list would overrule, and leave a list that has something in it", async () => {
    const sandbox = await withHistory();
    await mkdir(sandbox.stateDir, { recursive: true });
    await writeFile(sandbox.file, '{ agents: { list: [{ id: "main", memorySearch: { sources: ["memory"] } }] } }');
    for (const args of [
      ["add", "codex", "--yes"],
      ["remove", "codex"],
    ]) {
      const { exitCode, stderr } = await sandbox.run(["sources", ...args]);
      expect(exitCode).toBe(2);
      expect(stderr).toContain("agents.list[main].memorySearch.sources");
    }
    await writeFile(sandbox.file, '{ agents: { defaults: { memorySearch: { sources: ["codex"] } } } }');
    expect((await sandbox.run(["sources", "remove", "codex"])).exitCode).toBe(0);
    expect(await readFile(sandbox.file, "utf8")).toContain('sources: ["memory"]');
    expect((await sandbox.run(["sources"])).exitCode).toBe(0);
  });
});
