import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterwards, type Files, tempFolder } from "@memslot/test-tools/files";

export const cli: string = fileURLToPath(new URL("../src/cli.ts", import.meta.url));

/** Folders of a run: an empty home, an empty folder for temporary files, and what the test puts beside them. */
export interface DemoPlace {
  rootDir: string;
  homeDir: string;
  tmpDir: string;
  /** Names in the home and in the folder for temporary files. */
  leftovers(): string[];
}

export interface DemoResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Removed after the test. */
export function createPlace(files: Files = {}): DemoPlace {
  const rootDir = tempFolder(files);
  const [homeDir, tmpDir] = [path.join(rootDir, "home"), path.join(rootDir, "tmp")];
  for (const folder of [homeDir, tmpDir]) mkdirSync(folder);
  return { rootDir, homeDir, tmpDir, leftovers: () => [homeDir, tmpDir].flatMap((folder) => readdirSync(folder)) };
}

/** Starts the demo. It is killed after the test. */
export function startDemo(
  place: DemoPlace,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): ChildProcessWithoutNullStreams {
  const command = ["--conditions=@memslot/source", cli, ...args];
  const child = spawn(process.execPath, command, { cwd: place.rootDir, env: demoEnv(place, env) });
  afterwards(() => child.kill("SIGKILL"));
  return child;
}

/** The environment of a run: nothing of the developer's but the path of programs. */
export function demoEnv(place: DemoPlace, env: Record<string, string> = {}): Record<string, string> {
  const { homeDir, tmpDir } = place;
  const folders = { HOME: homeDir, USERPROFILE: homeDir, TMPDIR: tmpDir, TEMP: tmpDir, TMP: tmpDir };
  return { PATH: process.env["PATH"] ?? "", ...folders, ...env };
}

export async function ended(child: ChildProcessWithoutNullStreams): Promise<DemoResult> {
  const result: DemoResult = { exitCode: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
  // A process that has ended reads no more questions.
  child.stdin.on("error", () => undefined);
  return await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ ...result, exitCode }));
  });
}

/** Runs the demo on a script of questions. */
export async function runDemo(
  place: DemoPlace,
  input: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<DemoResult> {
  const child = startDemo(place, args, env);
  const result = ended(child);
  child.stdin.end(input);
  return await result;
}
