import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { findNpm } from "./run-npm.ts";
import { leanInstall } from "../../test/lean-install.ts";
import { type Sandbox, command, createSandbox } from "../../test/run-memslot.ts";
import { writePlugin } from "../../test/write-plugin.ts";

/** No registry, and no waiting for one. */
const noRegistry = { npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0" };

async function sandboxOffline(): Promise<Sandbox> {
  const sandbox = await createSandbox();
  Object.assign(sandbox.env, noRegistry);
  return sandbox;
}

async function packed(folder: string): Promise<string> {
  const npm = findNpm(process.execPath, process.env);
  if (npm === undefined) throw new Error("npm is not there");
  await promisify(execFile)(npm.program, [...npm.args.slice(-1), "pack", folder], { cwd: path.dirname(folder) });
  const [tarball] = (await readdir(path.dirname(folder))).filter((name) => name.endsWith(".tgz"));
  return path.join(path.dirname(folder), tarball ?? "nothing was packed");
}

describe("memslot plugins add", () => {
  test("installs a tarball, which can then be chosen, used and removed", async () => {
    const { cwd, stateDir, run, runHere } = await sandboxOffline();
    const folder = await writePlugin(path.join(cwd, "mine"), { id: "memory-mine", name: "@me/memory-mine" });
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

  test("installs a folder as a link, so that it can be worked on", async () => {
    const { cwd, stateDir, run, runHere } = await sandboxOffline();
    const folder = await writePlugin(path.join(cwd, "mine"), { id: "memory-mine" });
    const added = await run(["plugins", "add", "./mine", "--json"]);
    expect(JSON.parse(added.stdout)).toMatchObject({ id: "memory-mine", installed: true, place: folder });
    await run(["plugins", "use", "memory-mine"]);
    expect((await runHere(["memory", "search", "x"])).stdout).toContain("From memory-mine.");
    expect(existsSync(path.join(stateDir, "plugins/node_modules/memory-mine/index.js"))).toBe(true);
    const again = await run(["plugins", "add", "./mine"]);
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("memory-mine 3.2.1 is installed") });
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
    [
      "is no plugin",
      { "package.json": '{ "name": "just-a-package", "version": "1.0.0" }' },
      "memslot.plugin.json is missing",
    ],
    [
      "cannot be loaded",
      {
        "package.json": '{ "name": "just-a-package", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
        "memslot.plugin.json": '{ "id": "ill", "kind": "memory", "configSchema": { "type": "object" } }',
        "index.js": 'throw new Error("the entry is ill");',
      },
      "the entry is ill",
    ],
    [
      "has an id that is taken",
      {
        "package.json": '{ "name": "just-a-package", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
        "memslot.plugin.json": '{ "id": "memory-core", "kind": "memory", "configSchema": { "type": "object" } }',
        "index.js": "",
      },
      'id "memory-core"',
    ],
  ])("takes a package away again that %s", async (_what, files, words) => {
    const { cwd, stateDir, run } = await sandboxOffline();
    const folder = path.join(cwd, "package");
    await mkdir(folder);
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
    const refused = await run(["plugins", "add", await packed(folder)]);
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain("is removed again");
    expect(refused.stderr).toContain(words);
    const { dependencies = {} } = JSON.parse(await readFile(path.join(stateDir, "plugins/package.json"), "utf8"));
    expect(dependencies).toEqual({});
    expect(existsSync(path.join(stateDir, "plugins/node_modules/just-a-package"))).toBe(false);
  });

  test("runs no install script, and says that there is one", async () => {
    const { cwd, run } = await sandboxOffline();
    const mark = path.join(cwd, "mark");
    const scripts = {
      postinstall: `node -e "require('fs').writeFileSync(${JSON.stringify(mark).replaceAll('"', "'")}, '')"`,
    };
    const folder = await writePlugin(path.join(cwd, "mine"), { id: "memory-mine", packageJson: { scripts } });
    const { exitCode, stderr } = await run(["plugins", "add", await packed(folder)]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain("asks for postinstall to be run at installation, which was not done");
    expect(existsSync(mark)).toBe(false);
  });

  test("ends with npm's own words where the registry cannot be reached", async () => {
    const { run } = await sandboxOffline();
    const { exitCode, stderr, stdout } = await run(["plugins", "add", "@me/memory-far"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/memslot: npm ended with code 1: .*ECONNREFUSED.*check the network/u);
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

  test.each(["SIGINT", "SIGKILL"] as const)("leaves no npm behind when it is ended by %s", async (signal) => {
    const { env, cwd } = await createSandbox();
    const asked = Promise.withResolvers<Socket>();
    // A registry that never answers.
    const registry = createServer((request) => asked.resolve(request.socket));
    onTestFinished(() => void registry.close());
    registry.listen(0, "127.0.0.1");
    await once(registry, "listening");
    const { port } = registry.address() as AddressInfo;
    const [program = "", ...fixed] = command;
    const child = spawn(program, [...fixed, "plugins", "add", "@me/memory-slow"], {
      cwd,
      env: { ...env, npm_config_registry: `http://127.0.0.1:${port}/` },
      stdio: "ignore",
    });
    const exited = once(child, "exit");
    const socket = await asked.promise;
    const closed = once(socket, "close");
    child.kill(signal);
    const [code] = await exited;
    expect(code).toBe(signal === "SIGINT" ? 130 : null);
    // Only npm holds the other end.
    await closed;
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
