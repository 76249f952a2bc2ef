import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { userInfo } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { createMemoryTools, loadConfig, openMemory } from "memslot";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { watchedBackend } from "./mcp/watched-backend.ts";
import { command, createSandbox } from "./run-memslot.ts";
import { writePlugin } from "./written-plugin.ts";

const [program = "", ...fixed] = command;
const shellWords = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(" ");

describe("the process", () => {
  test("says nothing when its reader has seen enough", async () => {
    const sandbox = await createSandbox();
    for (let index = 0; index < 200; index++)
      await sandbox.write(`memory/${index}.md`, `The ferry number ${index}.\n${"It left late. ".repeat(60)}\n`);
    await sandbox.runHere(["memory", "index"]);
    const search = [...command, "memory", "search", "ferry", "--max-results", "200", "--workspace", sandbox.workspace];
    const pipe = async (reader: string): Promise<{ stdout: string; stderr: string }> => {
      const line = `${shellWords(search)} | ${reader}`;
      const shell = spawn("sh", ["-c", line], { cwd: sandbox.cwd, env: sandbox.env, timeout: 300_000 });
      let stdout = "";
      let stderr = "";
      shell.stdout.on("data", (data) => (stdout += data));
      shell.stderr.on("data", (data) => (stderr += data));
      await once(shell, "close");
      return { stdout, stderr };
    };
    const firstLine = await pipe("head -1");
    expect(firstLine.stdout).toMatch(/^[01]\.\d{3} .*\d+\.md:\d+\n$/u);
    expect(firstLine.stderr).toBe("");
    // Gone before there is anything to write.
    expect(await pipe("true")).toEqual({ stdout: "", stderr: "" });
  });

  test("ends with 130 on Ctrl-C while it indexes", async () => {
    const sandbox = await createSandbox();
    const args = [...fixed, "memory", "index", "--workspace", sandbox.workspace];
    const config = await watchedBackend(sandbox, { sync: "held" });
    const child = spawn(program, [...args, ...config], { cwd: sandbox.cwd, env: sandbox.env });
    let stderr = "";
    await new Promise<void>((resolve) => {
      child.stderr.on("data", (data: Buffer) => {
        stderr += data.toString();
        if (stderr.includes("backend: sync")) resolve();
      });
      child.once("close", () => resolve());
    });
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([130, null]);
    expect(stderr).toMatch(/memslot: interrupted$/mu);
  });

  test("ends where a backend leaves a handle open", async () => {
    const sandbox = await createSandbox();
    const members = "async sync() { setInterval(() => {}, 1000); return undefined; },";
    const place = writePlugin(path.join(sandbox.cwd, "open"), { id: "open", members });
    const plugins = { slots: { memory: "open" }, load: { paths: [place] } };
    const config = await sandbox.writeConfig(JSON.stringify({ plugins }));
    const finished = await sandbox.runHere(["memory", "search", "x", "--config", config], { apart: true });
    expect(finished).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("From open."), stderr: "" });
  });

  test.skipIf(process.platform === "win32")("names a current folder that was deleted", async () => {
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

test("a long answer is written to its end", async () => {
  const sandbox = await createSandbox();
  for (let index = 0; index < 200; index++)
    await sandbox.write(`memory/${"a long way down/".repeat(20)}${index}.md`, `The ferry ${index}.\n`);
  const limits = ["--max-results", "200", "--max-tokens", "4000"];
  const { stdout } = await sandbox.runHere(["memory", "search", "ferry", "--json", ...limits]);
  expect(stdout.length).toBeGreaterThan(70_000);
  expect(JSON.parse(stdout).results).toHaveLength(200);
});

test.skipIf(process.platform === "win32")(
  "an empty HOME is as good as none: the system knows the home folder",
  async () => {
    const sandbox = await createSandbox();
    const env = { HOME: "", USERPROFILE: "", MEMSLOT_HOME: "" };
    // The command runs in this process, and the system reads its environment.
    for (const name of ["HOME", "USERPROFILE"]) vi.stubEnv(name, "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { stdout, exitCode } = await sandbox.run(["config", "--json"], { env });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(JSON.stringify(path.join(userInfo().homedir, ".memslot")).slice(1, -1));
    expect(await readdir(sandbox.cwd)).toEqual([]);
    const named = await sandbox.run(["memory", "status", "--workspace", "~/nobody-has-this"], {
      env: { ...env, MEMSLOT_HOME: sandbox.stateDir },
    });
    expect(named.stderr).toContain(path.join(userInfo().homedir, "nobody-has-this"));
  },
);

describe("the library", () => {
  test("opens a memory with the default backend, which needs no plugin to be named", async () => {
    const sandbox = await createSandbox();
    await sandbox.write("MEMORY.md", "Anna likes espresso.\n");
    const config = await loadConfig({ cwd: sandbox.cwd, env: sandbox.env, workspace: sandbox.workspace });
    const memory = await openMemory({ config, agentId: "main" });
    try {
      expect(await memory.search("espresso")).toMatchObject([{ path: "MEMORY.md", startLine: 1, endLine: 1 }]);
      expect(memory.status().backend).toBe("memory-core");
      expect(createMemoryTools({ memory, citations: config.citations }).map(({ name }) => name)).toEqual([
        "memory_search",
        "memory_get",
        "memory_append",
      ]);
    } finally {
      await memory.close();
    }
  });

  test("names a Node that is too old, and the one that is needed", async () => {
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
