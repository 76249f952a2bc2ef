import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { findNpm } from "./run-npm.ts";
import { packed, sandboxOffline } from "./test/offline.ts";
import { leanInstall } from "../../test/lean-install.ts";
import { createSandbox } from "../../test/run-memslot.ts";
import { writePlugin } from "../../test/written-plugin.ts";

// What else npm does, and does not do, is in `plugins-add.long.test.ts`.

describe("memslot plugins add", () => {
  test("installs a tarball, which can then be chosen, used and removed", async () => {
    const { cwd, stateDir, run, runHere } = await sandboxOffline();
    const folder = writePlugin(path.join(cwd, "mine"), { id: "memory-mine", name: "@me/memory-mine" });
    const tarball = await packed(folder);
    const added = await run(["plugins", "add", tarball]);
    expect(added.stderr).toContain(`running: npm install --prefix ${path.join(stateDir, "plugins")}`);
    expect(added.exitCode).toBe(0);
    expect(added.stdout).toMatch(/memory-mine 3\.2\.1 is installed/u);
    expect(added.stdout).toContain("Next: memslot plugins use memory-mine");
    const project = JSON.parse(await readFile(path.join(stateDir, "plugins/package.json"), "utf8"));
    expect(project).toMatchObject({ private: true, overrides: { "@lancedb/lancedb": {} } });
    expect((await run(["plugins", "list"])).stdout).toMatch(/^memory-mine +memory +3\.2\.1 +installed +disabled/mu);
    expect((await run(["plugins", "use", "memory-mine"])).exitCode).toBe(0);
    expect((await runHere(["memory", "search", "x"])).stdout).toContain("From memory-mine.");
    const inUse = await run(["plugins", "remove", "memory-mine"]);
    expect(inUse).toMatchObject({ exitCode: 1, stdout: "" });
    expect(inUse.stderr).toContain("memslot plugins use memory-core");
    await run(["plugins", "use", "memory-core"]);
    expect((await run(["plugins", "remove", "memory-mine"])).stdout).toContain("@me/memory-mine is removed");
    expect((await run(["plugins", "list"])).stdout).not.toContain("memory-mine");
    expect((await run(["plugins", "remove", "memory-mine"])).exitCode).toBe(1);
  });

  test("with --print only prints the command, that of a plugin of this project in the version of the command", async () => {
    const { stateDir, run } = await sandboxOffline();
    const cli = await leanInstall();
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    const { exitCode, stdout, stderr } = await run(["plugins", "add", "memory-lancedb", "--print"], { cli });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/^npm install --prefix \S+ --ignore-scripts /u);
    expect(stdout.trim().endsWith(` @memslot/memory-lancedb@${version}`)).toBe(true);
    expect(existsSync(path.join(stateDir, "plugins"))).toBe(false);
  });

  test("installs nothing that is here already", async () => {
    const { stateDir, run } = await sandboxOffline();
    expect((await run(["plugins", "add", "openai"])).stdout).toMatch(/openai \d+\.\d+\.\d+ is here already/);
    expect(existsSync(path.join(stateDir, "plugins"))).toBe(false);
  });

  test.each([
    ["./not-there.tgz", 1, "does not exist"],
    ["../here", 1, "memslot.plugin.json is missing"],
    ["--force", 2, "--force"],
    ["a b", 2, "no package name"],
    ["https://example.org/x", 2, "no package name"],
  ])("refuses %j before npm is asked", async (typed, code, words) => {
    const { run, stateDir } = await sandboxOffline();
    const { exitCode, stderr } = await run(["plugins", "add", typed]);
    expect(exitCode).toBe(code);
    expect(stderr).toContain(words);
    expect(existsSync(path.join(stateDir, "plugins"))).toBe(false);
  });
});

describe("findNpm", () => {
  test("takes the one beside Node, then the first on the PATH, and tells where there is none", async () => {
    const { cwd } = await createSandbox();
    const script = "node_modules/npm/bin/npm-cli.js";
    for (const place of ["a/lib", "b"]) {
      await mkdir(path.join(cwd, place, path.dirname(script)), { recursive: true });
      await writeFile(path.join(cwd, place, script), "");
    }
    const inB = { PATH: [path.join(cwd, "empty"), path.join(cwd, "b")].join(path.delimiter) };
    expect(findNpm(path.join(cwd, "a/bin/node"), inB)?.file).toBe(path.join(cwd, "a/lib", script));
    expect(findNpm(path.join(cwd, "c/bin/node"), inB)?.file).toBe(path.join(cwd, "b", script));
    expect(findNpm(path.join(cwd, "c/bin/node"), { PATH: "" })).toBeUndefined();
  });
});
