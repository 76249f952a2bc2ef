import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { eventually } from "@memslot/test-tools/wait";
import { onTestFinished } from "vitest";
import type { ClientId } from "@memslot/core";
import { type Asked, askServer } from "../../src/warm-hook.ts";
import { initialize, startServer } from "../mcp/server.ts";
import { type Finished, type Sandbox, command, createSandbox } from "../run-memslot.ts";

/** A sandbox with some notes that are indexed. */
export async function createNotes(folder?: string): Promise<Sandbox> {
  const sandbox = await createSandbox(folder);
  await sandbox.write(
    "MEMORY.md",
    "# Memory\n\n- The staging database listens on port 5544.\n- Ada prefers tabs to spaces.\n",
  );
  await sandbox.write("memory/boats.md", "# Boats\n\nThe harbour code of the Lisbon marina is HX-19.\n");
  const { exitCode, stderr } = await sandbox.runHere(["memory", "index"]);
  if (exitCode !== 0) throw new Error(stderr);
  return sandbox;
}

/** Runs the hook in this process. */
export async function sendTo(
  sandbox: Sandbox,
  client: ClientId,
  input: object | string,
  ...more: string[]
): Promise<Finished> {
  const stdin = typeof input === "string" ? input : JSON.stringify(input);
  return await sandbox.runHere(["hook", client, ...more], { stdin });
}

export const runFolder = ({ stateDir }: Sandbox): string => path.join(stateDir, "run");

export async function socketsOf(sandbox: Sandbox): Promise<string[]> {
  const names = await readdir(runFolder(sandbox)).catch(() => []);
  return names.map((name) => path.join(runFolder(sandbox), name));
}

/** Starts a server beside the hooks. */
export async function served(sandbox: Sandbox, env: NodeJS.ProcessEnv = {}): Promise<void> {
  await initialize(startServer(sandbox, [], env));
  await eventually(async () => (await socketsOf(sandbox)).length === 1);
}

/** Runs the hook as far as it asks a server. */
export function ask(
  sandbox: Sandbox,
  client: string,
  input: object | string,
  { more = [], env = {} }: { more?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<Asked> {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return askServer([client, "--workspace", sandbox.workspace, ...more], {
    cwd: sandbox.cwd,
    env: { ...sandbox.env, ...env },
    stdin: Readable.from([Buffer.from(text)]),
    runningMs: () => 0,
    stateDirOf: ({ MEMSLOT_HOME }) => MEMSLOT_HOME,
  });
}

/** Runs it as the agent does, in a process of its own. `killAfterMs` ends it by force. */
export function spawnHook(
  sandbox: Sandbox,
  client: ClientId,
  input: object | undefined,
  {
    killAfterMs,
    more = [],
    program: line = command,
  }: { killAfterMs?: number | undefined; more?: readonly string[]; program?: readonly string[] } = {},
): Promise<Finished> {
  const [program = "", ...words] = [...line, "hook", client, "--workspace", sandbox.workspace, ...more];
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: sandbox.cwd, env: sandbox.env });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
    child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
    child.on("error", reject);
    child.on("close", (code) => resolve({ exitCode: code ?? -1, stdout, stderr }));
    child.stdin.on("error", () => undefined);
    // Without an input the agent never closes its end.
    if (input !== undefined) child.stdin.end(JSON.stringify(input));
    else onTestFinished(() => void child.stdin.destroy());
    if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  });
}

/** What stands in the daily logs. */
export async function logsOf(sandbox: Sandbox): Promise<string> {
  const folder = path.join(sandbox.workspace, "memory");
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^\d{4}-\d{2}-\d{2}\.md$/u.test(name));
  return (await Promise.all(names.toSorted().map((name) => readFile(path.join(folder, name), "utf8")))).join("\n");
}

/** What the journal keeps. */
export async function journalOf(sandbox: Sandbox): Promise<string> {
  const folder = path.join(sandbox.stateDir, "agents", "main", "journal");
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith(".jsonl"));
  return (await Promise.all(files.map((name) => readFile(path.join(folder, name), "utf8")))).join("\n");
}

/** The text that the model is given. */
export function contextOf({ stdout }: Finished): string {
  if (stdout === "") return "";
  const answer = JSON.parse(stdout) as Record<string, unknown>;
  const inner = (answer["hookSpecificOutput"] ?? answer) as Record<string, unknown>;
  return String(inner["additionalContext"] ?? inner["additional_context"] ?? inner["text"] ?? "");
}
