import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../src/cli.ts", import.meta.url));

/** A place of its own for a run: an empty home and an empty folder for temporary files. */
export interface DemoPlace {
  rootDir: string;
  homeDir: string;
  tmpDir: string;
  /** What stands in home and in the folder for temporary files. */
  leftovers(): Promise<string[]>;
  remove(): Promise<void>;
}

export interface DemoResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export async function createPlace(): Promise<DemoPlace> {
  const rootDir = await mkdtemp(path.join(os.tmpdir(), "memslot-demo-test-"));
  const [homeDir, tmpDir] = [path.join(rootDir, "home"), path.join(rootDir, "tmp")];
  await Promise.all([mkdir(homeDir), mkdir(tmpDir)]);
  return {
    rootDir,
    homeDir,
    tmpDir,
    leftovers: async () => [...(await readdir(homeDir)), ...(await readdir(tmpDir))],
    remove: () => rm(rootDir, { recursive: true, force: true }),
  };
}

export function startDemo(
  place: DemoPlace,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): ChildProcessWithoutNullStreams {
  const command = ["--conditions=@memslot/source", cli, ...args];
  return spawn(process.execPath, command, { cwd: place.rootDir, env: demoEnv(place, env) });
}

/** The environment of a run: nothing of whoever runs the tests but where programs are found. */
export function demoEnv(place: DemoPlace, env: Record<string, string> = {}): Record<string, string> {
  const { homeDir, tmpDir } = place;
  const folders = { HOME: homeDir, USERPROFILE: homeDir, TMPDIR: tmpDir, TEMP: tmpDir, TMP: tmpDir };
  return { PATH: process.env["PATH"] ?? "", ...folders, ...env };
}

export async function ended(child: ChildProcessWithoutNullStreams): Promise<DemoResult> {
  const result: DemoResult = { exitCode: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
  // A process that has ended takes no more questions.
  child.stdin.on("error", () => undefined);
  return await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ ...result, exitCode }));
  });
}

/** Runs the real process on a script of questions. */
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

/** Waits until the process has said something on a stream. */
export async function heard(stream: NodeJS.ReadableStream, wanted: string): Promise<void> {
  let text = "";
  await new Promise<void>((resolve, reject) => {
    stream.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes(wanted)) resolve();
    });
    stream.on("end", () => reject(new Error(`ended without "${wanted}": ${text}`)));
  });
}
