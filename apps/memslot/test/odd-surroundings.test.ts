import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { type Sandbox, command, createSandbox } from "./run-memslot.ts";

const [program = "", ...fixed] = command;

describe("a current folder that was deleted", () => {
  test.skipIf(process.platform === "win32")("is told in a sentence", async () => {
    const sandbox = await createSandbox();
    const gone = path.join(sandbox.cwd, "gone");
    await mkdir(gone);
    const script = 'rmdir "$PWD" && exec "$@"';
    const args = ["-c", script, "sh", program, ...fixed, "memory", "status"];
    const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile("sh", args, { cwd: gone, env: sandbox.env }, (error, out, err) =>
        resolve({ code: error?.code ?? 0, stdout: out, stderr: err }),
      );
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe("memslot: the current folder does not exist any more; change to another one\n");
  });
});

describe("a reader that has seen enough", () => {
  test.each([[["--help"]], [["config"]], [["memory", "search", "espresso"]], [["memory", "status", "--json"]]])(
    "ends %j without a word",
    async (args) => {
      const sandbox = await createSandbox();
      await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
      const child = spawn(program, [...fixed, ...args, "--workspace", sandbox.workspace], {
        cwd: sandbox.cwd,
        env: sandbox.env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      child.stdout.destroy();
      const stderr = text(child.stderr);
      expect(await once(child, "exit")).toEqual([0, null]);
      expect(await stderr).not.toMatch(/EPIPE|Error|written/u);
    },
  );
});

describe("an empty HOME", () => {
  test.skipIf(process.platform === "win32")("is as good as none: the system knows the home folder", async () => {
    const sandbox = await createSandbox();
    const env = { HOME: "", USERPROFILE: "", MEMSLOT_HOME: "" };
    const { stdout, exitCode } = await sandbox.run(["config", "--json"], { env, apart: true });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(JSON.stringify(path.join(userInfo().homedir, ".memslot")).slice(1, -1));
    expect(await readdir(sandbox.cwd)).toEqual([]);
    const named = await sandbox.run(["memory", "status", "--workspace", "~/nobody-has-this"], {
      env: { ...env, MEMSLOT_HOME: sandbox.stateDir },
      apart: true,
    });
    expect(named.stderr).toContain(path.join(userInfo().homedir, "nobody-has-this"));
  });
});

describe("a command that was killed while it wrote the configuration", () => {
  const draftOf = (file: string, digit: string): string =>
    `${file}.${digit.repeat(8)}-0000-4000-8000-${digit.repeat(12)}.tmp`;

  async function withDrafts(sandbox: Sandbox): Promise<{ file: string; old: string; young: string; other: string }> {
    const file = path.join(sandbox.stateDir, "memslot.json5");
    const [old, young, other] = [draftOf(file, "1"), draftOf(file, "2"), `${file}.mine.tmp`];
    await mkdir(sandbox.stateDir, { recursive: true });
    for (const each of [file, old, young, other]) await writeFile(each, "{}\n");
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const each of [old, other]) await utimes(each, longAgo, longAgo);
    return { file, old, young, other };
  }

  test("leaves a draft that the next one removes, and no file of anybody else", async () => {
    const sandbox = await createSandbox();
    const { file, old, young, other } = await withDrafts(sandbox);
    expect((await sandbox.run(["plugins", "use", "none"])).exitCode).toBe(0);
    expect(await readFile(file, "utf8")).toContain("none");
    expect([old, young, other].map((each) => existsSync(each))).toEqual([false, true, true]);
    await rm(young);
  });
});

describe("a Node that is too old", () => {
  test("is named by the library, with the one that is needed", async () => {
    const sandbox = await createSandbox();
    const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });';
    const script = `
      import { loadConfig, openMemory } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
      for (const call of [() => loadConfig(), () => openMemory({ agentId: "main", config: {} })])
        await call().catch((error) => console.log(error.code + " " + error.message));`;
    const child = spawn(
      process.execPath,
      [
        "--conditions=@memslot/source",
        "--import",
        `data:text/javascript,${encodeURIComponent(older)}`,
        "--input-type=module",
        "-e",
        script,
      ],
      { cwd: sandbox.cwd, env: sandbox.env, stdio: ["ignore", "pipe", "inherit"] },
    );
    const said = await text(child.stdout);
    expect(said.trim().split("\n")).toEqual([
      expect.stringContaining("CONFIG memslot needs Node 22.22 or newer, and this is 20.20.2"),
      expect.stringContaining("CONFIG memslot needs Node 22.22 or newer, and this is 20.20.2"),
    ]);
    const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
    expect(JSON.parse(manifest)).toMatchObject({ engines: { node: ">=22.22" } });
  });
});
