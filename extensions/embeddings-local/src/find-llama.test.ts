import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { findLlama } from "./find-llama.ts";
import { createLocalPlugin } from "./local-plugin.ts";
import { closedAfterwards, contextOf, failureOf, tempFolder, tinyModel } from "./test/lab.ts";

const home = "/home/ada";

function found(platform: string, arch: string, stateDir = "/home/ada/.memslot"): ReturnType<typeof findLlama> {
  return findLlama({ stateDir, beside: tempFolder(), machine: { platform, arch, home } });
}

test.each([
  ["linux", "x64", "linux-x64"],
  ["linux", "arm64", "linux-arm64"],
  ["linux", "arm", "linux-armv7l"],
  ["linux", "riscv64", "linux-riscv64"],
  ["darwin", "arm64", "mac-arm64-metal"],
  ["darwin", "x64", "mac-x64"],
])("on %s %s the command installs the build for it and nothing for graphics cards", (platform, arch, build) => {
  expect(found(platform, arch)).toEqual({
    missing: "node-llama-cpp is not installed",
    action: `install it with: npm install --prefix ~/.memslot node-llama-cpp@3.22.1 @node-llama-cpp/${build}@3.22.1 --omit=optional --ignore-scripts`,
    npm: [
      "install",
      "--prefix",
      "/home/ada/.memslot",
      "node-llama-cpp@3.22.1",
      `@node-llama-cpp/${build}@3.22.1`,
      "--omit=optional",
      "--ignore-scripts",
    ],
  });
});

test.each([
  ["win32", "x64", "C:\\Users\\Ada\\.memslot", "--prefix C:\\Users\\Ada\\.memslot ", "win-x64"],
  ["win32", "arm64", "C:\\Users\\Ada L\\.memslot", '--prefix "C:\\Users\\Ada L\\.memslot" ', "win-arm64"],
  ["linux", "x64", "/srv/memslot", "--prefix /srv/memslot ", "linux-x64"],
  ["linux", "x64", "/home/ada/my state", '--prefix "/home/ada/my state" ', "linux-x64"],
])("the state folder is written as the shell of %s %s takes it", (platform, arch, stateDir, prefix, build) => {
  expect(found(platform, arch, stateDir)).toMatchObject({ action: expect.stringContaining(prefix) });
  expect(found(platform, arch, stateDir)).toMatchObject({ action: expect.stringContaining(build) });
});

test("for a machine without a build it says so", () => {
  expect(found("freebsd", "x64")).toEqual({
    missing: "node-llama-cpp is not installed",
    action: "there is none for freebsd on x64; use another embedding provider",
  });
});

test("one that stands without its build counts as missing", () => {
  const stateDir = tempFolder();
  const folder = join(stateDir, "node_modules", "node-llama-cpp");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "name": "node-llama-cpp", "version": "3.22.1", "main": "index.js" }');
  writeFileSync(join(folder, "index.js"), "");
  const machine = { platform: "linux", arch: "x64", home };
  expect(findLlama({ stateDir, beside: tempFolder(), machine })).toMatchObject({
    missing: "node-llama-cpp has no build for this machine beside it",
    action: expect.stringContaining("@node-llama-cpp/linux-x64@3.22.1"),
  });
});

test("without it opening fails with the command, and `auto` goes on", async () => {
  const plugin = createLocalPlugin({ beside: tempFolder() });
  const context = contextOf({ memorySearch: { local: { modelPath: tinyModel() } } });
  const failure = await failureOf(plugin.open(context));
  expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  expect(failure.message).toContain(`npm install --prefix ${context.stateDir} node-llama-cpp@3.22.1 @node-llama-cpp/`);
  expect(await plugin.available?.(context)).toEqual({ ok: false, reason: "node-llama-cpp is not installed" });
});

test("it works from the state folder", async () => {
  const entry = createRequire(import.meta.url).resolve("node-llama-cpp");
  const stateDir = tempFolder();
  mkdirSync(join(stateDir, "node_modules"));
  symlinkSync(join(dirname(entry), ".."), join(stateDir, "node_modules", "node-llama-cpp"));
  const plugin = createLocalPlugin({ beside: tempFolder() });
  const context = contextOf({ stateDir, memorySearch: { local: { modelPath: tinyModel() } } });
  const provider = closedAfterwards(await plugin.open(context));
  expect((await provider.embedQuery("text")).length).toBe(64);
});

test("a release that is too old is told", async () => {
  const stateDir = tempFolder();
  const folder = join(stateDir, "node_modules", "node-llama-cpp");
  mkdirSync(join(folder, "llama", "localBuilds"), { recursive: true });
  mkdirSync(join(folder, "dist"));
  writeFileSync(
    join(folder, "package.json"),
    '{ "name": "node-llama-cpp", "type": "module", "main": "dist/index.js" }',
  );
  writeFileSync(join(folder, "dist", "index.js"), "export const LlamaModel = 1;");
  const plugin = createLocalPlugin({ beside: tempFolder() });
  const context = contextOf({ stateDir, memorySearch: { local: { modelPath: tinyModel() } } });
  const provider = closedAfterwards(await plugin.open(context));
  expect(await failureOf(provider.embedQuery("text"))).toMatchObject({
    kind: "auth",
    message: expect.stringMatching(/node-llama-cpp .* is too old/),
  });
});
