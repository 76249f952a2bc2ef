import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, realpath, symlink, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type NpmRegistry, startNpmRegistry, type PublishedPackage } from "@memslot/fakes/npm-registry";
import { eventually } from "@memslot/test-tools/wait";
import { expect, test, onTestFinished } from "vitest";
import { leanInstall, packed } from "../npm.ts";
import { command, type Finished } from "../run-memslot.ts";
import { type ModelHouse, address, modelHouse } from "./model-house.ts";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import data from "../data/published-packages.json" with { type: "json" };

// A machine with the command and nothing else; npm is the real one, its registry and llama.cpp are not.

interface EmptyMachine extends ModelHouse {
  registry: NpmRegistry;
  cli: string;
  memslot(...args: string[]): Promise<Finished>;
}

async function emptyMachine(): Promise<EmptyMachine> {
  const house = await modelHouse();
  const registry = await startNpmRegistry();
  Object.assign(house.env, { npm_config_registry: registry.url, npm_config_fetch_retries: "0" });
  const cli = await leanInstall();
  // The plugin's own dependency, as if npm had found it.
  const core = path.join(house.stateDir, "..", "node_modules/@memslot/core");
  await mkdir(path.dirname(core), { recursive: true });
  await symlink(
    await realpath(fileURLToPath(new URL("../../node_modules/@memslot/core", import.meta.url))),
    core,
    "junction",
  );
  return { ...house, registry, cli, memslot: (...args) => house.runHere(args, { cli }) };
}

test("from nothing: npm fails, then the model, the next run goes on, and all of it can be removed again", async () => {
  const { registry, memslot, cli, ...house } = await emptyMachine();
  const args = ["embeddings", "on", address, "--yes"];
  registry.publish(await publishedPlugin());
  const failed = await memslot(...args);
  expect({ exitCode: failed.exitCode, stdout: failed.stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(failed.stderr).toMatch(/memslot: npm exited with code 1: .*node-llama-cpp.*to resume/u);
  expect([house.configText(), house.hub.log]).toEqual([undefined, []]);
  expect(registry.log.filter((name) => name.startsWith("@memslot/embeddings-local/-/"))).toHaveLength(1);

  for (const each of await publishedLlama()) registry.publish(each);
  registry.log.length = 0;
  const useless = await house.runHere(args, { cli, env: { LLAMA_FAKE_LENGTH: "30" } });
  expect({ exitCode: useless.exitCode, stdout: useless.stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(useless.stderr).toMatch(/2 chunks not embedded yet: .*vectors? of 30 numbers where 64 were expected/u);
  expect(useless.stderr).toMatch(/^ {2}install +node-llama-cpp \(85 MB\), with npm$/mu);
  expect(house.configText()).toBeUndefined();
  const on = await memslot(...args, "--json");
  expect(on.exitCode, on.stdout).toBe(0);
  expect(on.stderr).toMatch(/^ {2}download +nothing: /mu);
  expect(on.stderr).not.toMatch(/^ {2}install/mu);
  expect(JSON.parse(on.stdout)).toMatchObject({ installed: [], agents: [{ chunks: 2, embedded: 2 }] });
  // The plugin is not fetched twice, and one build of six is.
  const tarballs = registry.log.filter((name) => name.includes("/-/")).map((name) => name.split("/-/")[0] ?? "");
  expect(tarballs.toSorted()).toEqual([expect.stringMatching(/^@node-llama-cpp\//u), "node-llama-cpp"]);
  expect(house.configText()).toContain('provider: "local"');
  const search = await memslot("memory", "search", "espresso", "--json");
  expect(JSON.parse(search.stdout)).toMatchObject({ mode: "hybrid", state: "ok" });

  const off = await memslot("embeddings", "off", "--json");
  const { left } = JSON.parse(off.stdout) as { left: { what: string; place: string; remove: string }[] };
  expect(left.map(({ what }) => what)).toEqual(["The model", "node-llama-cpp", "The plugin"]);
  for (const { place } of left) expect(existsSync(place), place).toBe(true);
  expect(left[1]?.remove).toMatch(/^npm uninstall --prefix \S+ @node-llama-cpp\/\S+ node-llama-cpp$/u);
  expect((await memslot(...(left[2]?.remove.split(" ").slice(1) ?? []))).exitCode).toBe(0);
  expect(existsSync(left[2]?.place ?? "")).toBe(false);
});

test("Ctrl-C while npm waits for the registry ends both, and nothing is changed", async () => {
  const { registry, env, cwd, workspace, cli, ...house } = await emptyMachine();
  registry.hold(true);
  const [program = "", ...fixed] = [...command.slice(0, -1), cli];
  const args = [...fixed, "embeddings", "on", address, "--yes", "--workspace", workspace];
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  const ended = once(child, "close");
  await eventually(() => registry.log.length > 0);
  child.kill("SIGINT");
  const [code] = await ended;
  expect(code, stderr).toBe(130);
  expect(stderr).toContain("run memslot embeddings on again to resume");
  expect([house.configText(), house.hub.log]).toEqual([undefined, []]);
});

const extension = fileURLToPath(new URL("../../../../extensions/embeddings-local", import.meta.url));

/** The plugin embeddings-local as it would be published, but for its dependency, which the test has beside it. */
async function publishedPlugin(): Promise<PublishedPackage> {
  const manifest = JSON.parse(await readFile(path.join(extension, "package.json"), "utf8"));
  const { name, version, type, publishConfig } = manifest;
  const files: Record<string, string> = {
    "memslot.plugin.json": await readFile(path.join(extension, "memslot.plugin.json"), "utf8"),
  };
  for (const file of await readdir(path.join(extension, "src"), { recursive: true })) {
    if (!file.endsWith(".ts") || /\.test\.ts$|(?:^|[/\\])test[/\\]/u.test(file)) continue;
    const code = stripTypeScriptTypes(await readFile(path.join(extension, "src", file), "utf8"));
    files[`dist/${file.replace(/ts$/u, "js")}`] = code.replaceAll(/((?:from |import\()"\.[^"]*)\.ts"/gu, '$1.js"');
  }
  const { imports, exports } = publishConfig;
  return publish({ name, version, type, imports, exports }, files);
}

/** What takes the place of llama.cpp: counts the letters of a text. Its vectors can be made too short. */
const llama = data.llama.join("\n");

/** node-llama-cpp with its builds for all machines, which run no model. */
async function publishedLlama(): Promise<PublishedPackage[]> {
  const version = "3.22.1";
  const code = { "index.js": llama };
  const builds = ["linux-x64", "linux-arm64", "mac-arm64-metal", "mac-x64", "win-x64", "win-arm64"];
  return await Promise.all(
    ["node-llama-cpp", ...builds.map((build) => `@node-llama-cpp/${build}`)].map((name) =>
      publish({ name, version, type: "module", main: "index.js" }, code),
    ),
  );
}

async function publish(
  manifest: PublishedPackage["manifest"],
  files: Readonly<Record<string, string>>,
): Promise<PublishedPackage> {
  const parent = await mkdtemp(path.join(tmpdir(), "memslot-package-"));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  const folder = path.join(parent, "package");
  for (const [name, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  return { manifest, tarball: await readFile(await packed(folder)) };
}
