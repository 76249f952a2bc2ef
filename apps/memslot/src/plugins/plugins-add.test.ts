import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findNpm } from "./run-npm.ts";
import { packed, sandboxOffline } from "../../test/npm.ts";
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

test("npm is given its own settings and no key of its person", async () => {
  const { cwd, run } = await createSandbox();
  const agents: string[] = [];
  const registry = createServer((request, response) => {
    agents.push(request.headers["user-agent"] ?? "");
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void registry.close());
  await once(registry, "listening");
  const { port } = registry.address() as AddressInfo;
  // What npm's files name is put in from the environment, where it is there.
  const userconfig = path.join(cwd, "npmrc");
  const names = ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "FOO_SECRET", "NPM_TOKEN"];
  await writeFile(userconfig, `user-agent=${names.map((name) => `\${${name}}`).join(" ")}\n`);
  const planted = Object.fromEntries(names.map((name) => [name, `planted-${name}`]));
  const { exitCode } = await run(["plugins", "add", "memslot-nobody-has-this"], {
    env: {
      ...planted,
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_userconfig: userconfig,
      npm_config_fetch_retries: "0",
    },
  });
  expect(exitCode).toBe(1);
  expect(agents[0]).toBe("${OPENAI_API_KEY} ${AWS_SECRET_ACCESS_KEY} ${GITHUB_TOKEN} ${FOO_SECRET} planted-NPM_TOKEN");
});
