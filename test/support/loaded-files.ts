import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { plainEnvironment } from "./run-command.ts";

/** What a command has loaded to its end, or until it was answered. */
export interface LoadedFiles {
  exitCode: number | null;
  stdout: string;
  /** Processes, and threads in them, that loaded anything. */
  threads: number;
  /** Each file as often as it was loaded, without what stands before the last `node_modules/`. */
  files: string[];
}

/** A message of JSON-RPC; one with an id is answered. */
export interface Asked {
  jsonrpc: "2.0";
  method: string;
  id?: number;
  params?: object;
}

const hook = pathToFileURL(path.join(import.meta.dirname, "count-loads.mjs")).href;

/**
 * Runs a program of Node and tells which files it loads: a figure that is the same on every machine. With `ask` these lines
 * are given to it as JSON, and it ends when it has printed a line for each that has an id.
 */
export async function loadedFiles(
  program: readonly string[],
  { home, cwd, ask = [] }: { home: string; cwd: string; ask?: readonly object[] },
): Promise<LoadedFiles> {
  const lists = mkdtempSync(path.join(os.tmpdir(), "memslot-loads-"));
  try {
    mkdirSync(home, { recursive: true });
    const child = spawn(process.execPath, [`--import=${hook}`, ...program], {
      cwd,
      env: { ...plainEnvironment(), HOME: home, USERPROFILE: home, MEMSLOT_TEST_LOADS: lists },
      stdio: ["pipe", "pipe", "inherit"],
      timeout: 60_000,
    });
    const answers = ask.filter((line) => "id" in line).length;
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (data: string) => {
      stdout += data;
      if (answers > 0 && stdout.split("\n").length > answers) child.stdin.end();
    });
    for (const line of ask) child.stdin.write(`${JSON.stringify(line)}\n`);
    if (answers === 0) child.stdin.end();
    const [exitCode] = (await once(child, "close")) as [number | null];
    const threads = readdirSync(lists);
    const files = threads.flatMap((name) => readFileSync(path.join(lists, name), "utf8").trim().split("\n"));
    return {
      exitCode,
      stdout,
      threads: threads.length,
      files: files.map((url) => url.split("/node_modules/").at(-1) ?? url),
    };
  } finally {
    rmSync(lists, { recursive: true, force: true });
  }
}
