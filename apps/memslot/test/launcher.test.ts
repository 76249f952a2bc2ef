import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { tempFolder } from "@memslot/test-tools/files";
import { beforeEach, describe, expect, test } from "vitest";

async function installedPackage(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const made = tempFolder({ "package.json": { type: "module" }, ...files });
  await cp(fileURLToPath(new URL("../bin", import.meta.url)), path.join(made, "bin"), { recursive: true });
  return made;
}

function launch(
  installed: string,
  nodeOptions: readonly string[] = [],
  command = "--version",
  NODE_OPTIONS = "",
): { exitCode: number | null; stdout: string; stderr: string } {
  const args = [...nodeOptions, path.join(installed, "bin", "memslot.js"), command];
  const env = { ...process.env, NODE_OPTIONS };
  const ended = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 300_000, env });
  return { exitCode: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

test("the launcher of a checkout that was not built says how to build it", async () => {
  const { exitCode, stdout, stderr } = launch(await installedPackage());
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toContain("pnpm build");
});

test("the launcher refuses a Node that is too old and names the one it needs", async () => {
  const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.21.1" } });';
  const installed = await installedPackage({ "older.mjs": older });
  const { exitCode, stderr } = launch(installed, ["--import", path.join(installed, "older.mjs")]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("Node 22.22 or newer is needed, and this is 22.21.1");
});

test.each([
  ["--version", "true", "true", [], ""],
  ["search", "false", "true", [], ""],
  ["search", "false", "false", ["--jitless"], ""],
  ["search", "false", "false", [], "--jitless"],
])(
  "the launcher starts %s with the last compiler: %s, %s after a second, %j %s",
  async (word, atFirst, later, nodeOptions, fromEnvironment) => {
    const code = `import { setFlagsFromString } from "node:v8";
    setFlagsFromString("--allow-natives-syntax");
    const tell = new Function("process.stdout.write(process.argv[2] + %IsTurbofanEnabled())");
    tell(); await new Promise((resolve) => setTimeout(resolve, 1100)); tell();`;
    const installed = await installedPackage({ "dist/cli.js": code });
    const stdout = `${word}${atFirst}${word}${later}`;
    expect(launch(installed, nodeOptions, word, fromEnvironment)).toEqual({ exitCode: 0, stdout, stderr: "" });
  },
);

describe("the compile cache", () => {
  let folder = "";
  let stateDir = "";

  beforeEach(() => {
    folder = tempFolder();
    stateDir = path.join(folder, "state");
    cpSync(fileURLToPath(new URL("../bin", import.meta.url)), path.join(folder, "app/bin"), { recursive: true });
    mkdirSync(path.join(folder, "app/dist"));
    writeFileSync(path.join(folder, "app/package.json"), '{ "type": "module" }');
    writeFileSync(
      path.join(folder, "app/dist/cli.js"),
      'import module from "node:module"; process.stdout.write(module.getCompileCacheDir() ?? "none");',
    );
  });

  /** Starts a command that prints where the cache is that it was started with. */
  function cacheOfStart(env: NodeJS.ProcessEnv = {}): string {
    const {
      NODE_COMPILE_CACHE: _cache,
      NODE_DISABLE_COMPILE_CACHE: _off,
      NODE_OPTIONS: _options,
      ...own
    } = process.env;
    return execFileSync(process.execPath, [path.join(folder, "app/bin/memslot.js")], {
      encoding: "utf8",
      env: { ...own, HOME: folder, MEMSLOT_HOME: stateDir, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
  }

  function makeState(): void {
    mkdirSync(stateDir, { mode: 0o700 });
  }

  test("what was compiled is kept in the state folder, where nobody else can write", () => {
    makeState();
    const cache = path.join(stateDir, "cache/node");
    expect(path.dirname(cacheOfStart())).toBe(cache);
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(1);
  });

  test("without a state folder nothing is kept, and none is made", () => {
    expect(cacheOfStart()).toBe("none");
    expect(existsSync(stateDir)).toBe(false);
  });

  test.skipIf(process.platform === "win32").each([
    ["others can write in the state folder", { ".": 0o707 }],
    ["a group can write in the state folder", { ".": 0o770 }],
    ["others can write in the cache", { cache: 0o755, "cache/node": 0o777 }],
    ["others can write beside the cache", { cache: 0o777 }],
    ["the cache is a link to another folder", { cache: 0o755, "cache/node": "link" }],
    ["a file has its path", { cache: "file" }],
  ] as [string, Record<string, number | "link" | "file">][])(
    "the command starts without it where %s",
    (_case, places) => {
      makeState();
      mkdirSync(path.join(folder, "elsewhere"));
      for (const [name, kind] of Object.entries(places)) {
        const place = path.join(stateDir, name);
        if (kind === "link") symlinkSync(path.join(folder, "elsewhere"), place);
        else if (kind === "file") writeFileSync(place, "");
        else {
          mkdirSync(place, { recursive: true });
          chmodSync(place, kind);
        }
      }
      expect(cacheOfStart()).toBe("none");
      expect(readdirSync(path.join(folder, "elsewhere"))).toEqual([]);
    },
  );

  test.skipIf(process.getuid?.() !== 0)(
    "the command starts without it where the state folder is somebody else's",
    () => {
      makeState();
      execFileSync("chown", ["12345", stateDir]);
      expect(cacheOfStart()).toBe("none");
    },
  );

  test("what Node is told about its cache goes before it", () => {
    makeState();
    const named = path.join(folder, "named");
    expect(path.dirname(cacheOfStart({ NODE_COMPILE_CACHE: named }))).toBe(named);
    expect(cacheOfStart({ NODE_DISABLE_COMPILE_CACHE: "1" })).toBe("none");
  });
});
