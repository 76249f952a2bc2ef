import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox } from "./run-memslot.ts";

describe("memslot init", () => {
  test("writes a commented configuration, MEMORY.md and memory/, which then work", async () => {
    const sandbox = await createSandbox();
    const { exitCode, stdout, stderr } = await sandbox.run(["init", "--yes"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("memslot.json5");
    expect((await readdir(sandbox.cwd)).toSorted()).toEqual(["MEMORY.md", "memory", "memslot.json5"]);
    expect((await stat(path.join(sandbox.cwd, "memory"))).isDirectory()).toBe(true);
    expect(await readFile(path.join(sandbox.cwd, "memslot.json5"), "utf8")).toMatch(/^\s*\/\/ /mu);
    await writeFile(path.join(sandbox.cwd, "memory", "a.md"), "Anna likes espresso.\n");
    const search = await sandbox.run(["memory", "search", "espresso"]);
    expect(search.exitCode).toBe(0);
    expect(search.stdout).toContain("memory/a.md:1");
    expect(search.stderr).not.toContain("trust");
  });

  test("makes the workspace that is named, and the configuration points at it", async () => {
    const sandbox = await createSandbox();
    const workspace = path.join(sandbox.cwd, "deep", "notes");
    expect((await sandbox.run(["init", "--yes", "--workspace", workspace])).exitCode).toBe(0);
    expect((await readdir(workspace)).toSorted()).toEqual(["MEMORY.md", "memory"]);
    await writeFile(path.join(workspace, "memory", "a.md"), "Anna likes espresso.\n");
    expect((await sandbox.run(["memory", "search", "espresso"])).stdout).toContain("memory/a.md:1");
  });

  test("points at a workspace outside the folder too, and trusts what it wrote", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("memory/a.md", "Anna likes espresso.\n");
    await sandbox.run(["init", "--yes", "--workspace", sandbox.workspace]);
    const { stdout, stderr } = await sandbox.run(["memory", "search", "espresso"]);
    expect(stdout).toContain("memory/a.md:1");
    expect(stderr).not.toContain("trust");
  });

  test("overwrites nothing and says what it left alone", async () => {
    const sandbox = await createSandbox();
    await writeFile(path.join(sandbox.cwd, "memslot.json5"), "{}");
    await writeFile(path.join(sandbox.cwd, "MEMORY.md"), "mine\n");
    const { exitCode, stdout } = await sandbox.run(["init", "--yes"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/MEMORY\.md: is there already/u);
    expect(await readFile(path.join(sandbox.cwd, "memslot.json5"), "utf8")).toBe("{}");
    expect(await readFile(path.join(sandbox.cwd, "MEMORY.md"), "utf8")).toBe("mine\n");
    expect((await sandbox.run(["init", "--yes"])).stdout).toContain("Nothing to do");
  });

  test("names a place that cannot be written and ends with 1", async () => {
    const sandbox = await createSandbox();
    const file = path.join(sandbox.cwd, "file");
    await writeFile(file, "");
    const { exitCode, stderr } = await sandbox.run(["init", "--yes", "--workspace", path.join(file, "notes")]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(path.join(file, "notes"));
  });

  test.each([
    ["that is a file", ["file"]],
    ["below a file", ["file", "deep", "notes"]],
    ["whose memory is a file", ["notes"]],
  ])("writes nothing for a workspace %s", async (_what, parts) => {
    const sandbox = await createSandbox();
    await mkdir(path.join(sandbox.cwd, "notes"));
    await writeFile(path.join(sandbox.cwd, "file"), "");
    await writeFile(path.join(sandbox.cwd, "notes", "memory"), "");
    const { exitCode, stderr } = await sandbox.run(["init", "--yes", "--workspace", path.join(sandbox.cwd, ...parts)]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("is no folder; nothing was written");
    expect((await readdir(sandbox.cwd)).toSorted()).toEqual(["file", "notes"]);
    expect(await readdir(path.join(sandbox.cwd, "notes"))).toEqual(["memory"]);
  });

  test("keeps a configuration to its owner, and the state folder that it makes for it", async () => {
    const sandbox = await createSandbox();
    const file = path.join(sandbox.stateDir, "memslot.json5");
    const made = await sandbox.run([
      "init",
      "--yes",
      "--config",
      file,
      "--workspace",
      path.join(sandbox.stateDir, "workspace"),
    ]);
    expect(made.exitCode).toBe(0);
    const modes = await Promise.all([sandbox.stateDir, file].map(async (at) => (await stat(at)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o600]);
  });

  test("keeps the state folder to its owner where only the configuration is in it", async () => {
    const sandbox = await createSandbox();
    const file = path.join(sandbox.stateDir, "conf", "memslot.json5");
    expect((await sandbox.run(["init", "--yes", "--config", file])).exitCode).toBe(0);
    const places = [sandbox.stateDir, path.dirname(file), file];
    const modes = await Promise.all(places.map(async (at) => (await stat(at)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o700, 0o600]);
  });
});
