import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** A run of a command to its end. */
export interface Ran {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** An OpenClaw with a home of its own. */
export interface OpenClawHost {
  /** Its state folder, `~/.openclaw`. */
  stateDir: string;
  workspace: string;
  config(): Record<string, unknown>;
  run(...words: string[]): Promise<Ran>;
}

const installMs = 240_000;
const commandMs = 150_000;

/**
 * The folder of OpenClaw in this version: below `MEMSLOT_TEST_OPENCLAW/VERSION` where that is set, else installed from npm
 * into a folder of its own. Undefined, with one line that says how to get it, where npm does not bring it in time.
 */
export async function installedOpenClaw(version: string, folder: string): Promise<string | undefined> {
  const kept = process.env["MEMSLOT_TEST_OPENCLAW"];
  const place = path.join(kept ?? folder, version);
  const program = path.join(place, "node_modules/openclaw/openclaw.mjs");
  if (existsSync(program)) return program;
  mkdirSync(place, { recursive: true });
  writeFileSync(path.join(place, "package.json"), '{ "private": true }\n');
  const words = "install --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error".split(" ");
  const { exitCode } = await ran("npm", [...words, `openclaw@${version}`], { cwd: place, timeoutMs: installMs });
  if (exitCode === 0) return program;
  process.stderr.write(
    `skipped: openclaw@${version} could not be installed from npm; install it into DIR/${version} where there is a network, and set MEMSLOT_TEST_OPENCLAW=DIR\n`,
  );
  return undefined;
}

/** A home with two notes and an agent whose model is the given endpoint. */
export function createHost(program: string, folder: string, modelUrl: string): OpenClawHost {
  const home = mkdtempSync(path.join(folder, "home-"));
  const [stateDir, workspace] = [path.join(home, ".openclaw"), path.join(home, "notes")];
  mkdirSync(path.join(workspace, "memory"), { recursive: true });
  mkdirSync(stateDir);
  writeFileSync(path.join(workspace, "MEMORY.md"), "# Facts\n\n- The staging database listens on port 5544.\n");
  writeFileSync(path.join(workspace, "memory/2026-03-02.md"), "# Day\n\n- Anna moved the invoices to Thursday.\n");
  const model = {
    id: "scripted",
    name: "scripted",
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 4096,
  };
  const file = path.join(stateDir, "openclaw.json");
  const config = {
    agents: { defaults: { workspace, model: { primary: "scripted/scripted" } } },
    models: {
      providers: { scripted: { baseUrl: modelUrl, apiKey: "none", api: "openai-completions", models: [model] } },
    },
    // Else the model is told the names of tools alone.
    tools: { toolSearch: false },
  };
  writeFileSync(file, JSON.stringify(config));
  const env = {
    HOME: home,
    USERPROFILE: home,
    OPENCLAW_STATE_DIR: stateDir,
    // A search must not depend on keys of whoever runs the test.
    OPENAI_API_KEY: "",
    GEMINI_API_KEY: "",
    npm_config_userconfig: path.join(os.homedir(), ".npmrc"),
    npm_config_cache: path.join(folder, "npm-cache"),
  };
  return {
    stateDir,
    workspace,
    config: () => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>,
    run: (...words) => ran(process.execPath, [program, ...words], { cwd: home, env, timeoutMs: commandMs }),
  };
}

/** Runs a program to its end; one that takes too long is ended, and has no exit code. */
export async function ran(
  program: string,
  words: readonly string[],
  { cwd, env = {}, timeoutMs }: { cwd: string; env?: NodeJS.ProcessEnv; timeoutMs: number },
): Promise<Ran> {
  // What the runner of the tests sets for itself would change what the host loads.
  const own = /^(NODE_OPTIONS|NODE_ENV|NODE_COMPILE_CACHE|VITEST.*|MEMSLOT_.*|npm_.*)$/;
  const plain = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
  const child = spawn(program, words, {
    cwd,
    env: { ...plain, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32" && program === "npm",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (data: string) => (stdout += data));
  child.stderr.setEncoding("utf8").on("data", (data: string) => (stderr += data));
  const [exitCode] = (await once(child, "close")) as [number | null];
  return { exitCode, stdout, stderr };
}
