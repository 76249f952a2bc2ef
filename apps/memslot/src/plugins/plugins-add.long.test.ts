import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { packed, sandboxOffline } from "../../test/npm.ts";
import { command, createSandbox } from "../../test/run-memslot.ts";
import { writePlugin } from "../../test/written-plugin.ts";
import data from "../../test/data/packages.json" with { type: "json" };

describe("memslot plugins add", () => {
  test("installs a folder as a link, so that it can be worked on", async () => {
    const { cwd, stateDir, run, runHere } = await sandboxOffline();
    const folder = writePlugin(path.join(cwd, "mine"), { id: "memory-mine" });
    const added = await run(["plugins", "add", "./mine", "--json"]);
    expect(JSON.parse(added.stdout)).toMatchObject({ id: "memory-mine", installed: true, place: folder });
    await run(["plugins", "use", "memory-mine"]);
    expect((await runHere(["memory", "search", "x"])).stdout).toContain("From memory-mine.");
    expect(existsSync(path.join(stateDir, "plugins/node_modules/memory-mine/index.js"))).toBe(true);
    const again = await run(["plugins", "add", "./mine"]);
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("memory-mine 3.2.1 is installed") });
  });

  test.each(data.refused as [string, Record<string, string>, string][])(
    "takes a package away again that %s",
    async (_what, files, words) => {
      const { cwd, stateDir, run } = await sandboxOffline();
      const folder = path.join(cwd, "package");
      await mkdir(folder);
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
      const refused = await run(["plugins", "add", await packed(folder)]);
      expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
      expect(refused.stderr).toContain("was removed");
      expect(refused.stderr).toContain(words);
      const { dependencies = {} } = JSON.parse(await readFile(path.join(stateDir, "plugins/package.json"), "utf8"));
      expect(dependencies).toEqual({});
      expect(existsSync(path.join(stateDir, "plugins/node_modules/just-a-package"))).toBe(false);
    },
  );

  test("runs no install script, and says that there is one", async () => {
    const { cwd, run } = await sandboxOffline();
    const mark = path.join(cwd, "mark");
    const scripts = {
      postinstall: `node -e "require('fs').writeFileSync(${JSON.stringify(mark).replaceAll('"', "'")}, '')"`,
    };
    const folder = writePlugin(path.join(cwd, "mine"), { id: "memory-mine", packageJson: { scripts } });
    const { exitCode, stderr } = await run(["plugins", "add", await packed(folder)]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain("has postinstall scripts, which were not run");
    expect(existsSync(mark)).toBe(false);
  });

  test("ends with npm's own words where the registry cannot be reached", async () => {
    const { run } = await sandboxOffline();
    const { exitCode, stderr, stdout } = await run(["plugins", "add", "@me/memory-far"]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/memslot: npm exited with code 1: .*ECONNREFUSED.*check the network/u);
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
