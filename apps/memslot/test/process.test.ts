import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { command, createSandbox } from "./run-memslot.ts";

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
      const shell = spawn("sh", ["-c", line], { cwd: sandbox.cwd, env: sandbox.env, timeout: 30_000 });
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

  test("writes a long answer to its end into a pipe", async () => {
    const sandbox = await createSandbox();
    for (let index = 0; index < 200; index++)
      await sandbox.write(`memory/${"a long way down/".repeat(20)}${index}.md`, `The ferry ${index}.\n`);
    const limits = ["--max-results", "200", "--max-tokens", "4000"];
    const { stdout } = await sandbox.runHere(["memory", "search", "ferry", "--json", ...limits]);
    expect(stdout.length).toBeGreaterThan(70_000);
    expect(JSON.parse(stdout).results).toHaveLength(200);
  });

  test("ends with 130 on Ctrl-C, and the next run goes on", async () => {
    const sandbox = await createSandbox();
    for (let index = 0; index < 3000; index++)
      await sandbox.write(`memory/${index}.md`, `# Note ${index}\n\n${"It left late. ".repeat(200)}\n`);
    const [program = "", ...fixed] = command;
    const child = spawn(program, [...fixed, "memory", "index", "--verbose", "--workspace", sandbox.workspace], {
      cwd: sandbox.cwd,
      env: sandbox.env,
      timeout: 30_000,
    });
    let stderr = "";
    // The first file that is named shows that the work has begun.
    await new Promise<void>((resolve) => {
      child.stderr.on("data", (data) => {
        stderr += data;
        if (stderr.includes("memory/")) resolve();
      });
      child.once("close", () => resolve());
    });
    child.kill("SIGINT");
    if (child.exitCode === null) await once(child, "close");
    expect({ exitCode: child.exitCode, signal: child.signalCode }).toEqual({ exitCode: 130, signal: null });
    expect(stderr).toMatch(/memslot: interrupted$/mu);
    // All of them would take long, and say no more.
    for (let index = 300; index < 3000; index++) await rm(path.join(sandbox.workspace, `memory/${index}.md`));
    expect((await sandbox.runHere(["memory", "index"])).stdout).toMatch(/^Indexed 300 files/u);
  });
});
