import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import tables from "../data/openclaw-host.json" with { type: "json" };

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
  /** With more variables in the environment. */
  runWith(env: NodeJS.ProcessEnv, ...words: string[]): Promise<Ran>;
  /** Starts its Gateway on this machine alone, with a bot of the Telegram at the given address. */
  gateway(telegramUrl: string): Promise<OpenClawGateway>;
}

export interface OpenClawGateway {
  /** What it printed. */
  output(): string;
  stop(): Promise<void>;
}

const installMs = 240_000;
const commandMs = 600_000;
/** Remarks of the host about the pace of the machine. */
const paceRemarks = /^\[[^\]\n]+\] (?:slow |\[trace:).*\n?/gmu;

/**
 * The folder of OpenClaw in this version: below `MEMSLOT_PROGRAMS/openclaw-VERSION` where that is set, else installed from npm
 * into a folder of its own. Undefined, with one line that says how to get it, where npm does not bring it in time.
 */
export async function installedOpenClaw(version: string, folder: string): Promise<string | undefined> {
  const kept = process.env["MEMSLOT_PROGRAMS"];
  const place = path.join(kept ?? folder, `openclaw-${version}`);
  const program = path.join(place, "node_modules/openclaw/openclaw.mjs");
  if (existsSync(program)) return program;
  mkdirSync(place, { recursive: true });
  writeFileSync(path.join(place, "package.json"), '{ "private": true }\n');
  const words = "install --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error".split(" ");
  const { exitCode } = await ran("npm", [...words, `openclaw@${version}`], { cwd: place, timeoutMs: installMs });
  if (exitCode === 0) return program;
  process.stderr.write(
    `skipped: openclaw@${version} could not be installed from npm; install it into DIR/openclaw-${version} where there is a network, and set MEMSLOT_PROGRAMS=DIR\n`,
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
  const model = tables.model;
  const file = path.join(stateDir, "openclaw.json");
  const config = {
    agents: {
      // A short conversation is compacted whole.
      defaults: {
        workspace,
        model: { primary: "scripted/scripted" },
        compaction: { mode: "default", keepRecentTokens: 200 },
      },
    },
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
  const runWith: OpenClawHost["runWith"] = async (more, ...words) => {
    const given = { cwd: home, env: { ...env, ...more }, timeoutMs: commandMs };
    const result = await ran(process.execPath, [program, ...words], given);
    return { ...result, stderr: result.stderr.replaceAll(paceRemarks, "") };
  };
  const run: OpenClawHost["run"] = (...words) => runWith({}, ...words);
  return {
    stateDir,
    workspace,
    gateway: (telegramUrl) => startGateway({ program, home, env, file, telegramUrl }),
    config: () => JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>,
    run,
    runWith,
  };
}

/** A run of a command, and the files of memslot that it loaded. */
export async function loadedBy(
  host: OpenClawHost,
  folder: string,
  ...words: string[]
): Promise<Ran & { loaded: string[] }> {
  const [hook, list] = [path.join(folder, "list-loads.mjs"), path.join(folder, "loads.txt")];
  writeFileSync(hook, tables.listLoads.join("\n"));
  writeFileSync(list, "");
  const result = await host.runWith({ NODE_OPTIONS: `--import=${pathToFileURL(hook).href}`, LOADS: list }, ...words);
  return { ...result, loaded: readFileSync(list, "utf8").split("\n").filter(Boolean) };
}

async function startGateway(given: {
  program: string;
  home: string;
  env: NodeJS.ProcessEnv;
  file: string;
  telegramUrl: string;
}): Promise<OpenClawGateway> {
  const { program, home, env, file, telegramUrl } = given;
  const auth = { mode: "token", token: "a-token-of-the-test" };
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  const gateway = { mode: "local", bind: "loopback", port: await freePort(), auth };
  const { channels, ...others } = tables.gateway;
  const telegram = { ...channels.telegram, apiRoot: telegramUrl };
  writeFileSync(file, JSON.stringify({ ...config, ...others, channels: { telegram }, gateway }));
  const child = spawn(process.execPath, [program, "gateway", "run"], {
    cwd: home,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (data: string) => (said += data));
  const untilMs = performance.now() + commandMs;
  while (!said.includes("[gateway] ready") && child.exitCode === null && performance.now() < untilMs) await sleep(200);
  return {
    output: () => said,
    async stop() {
      child.kill();
      const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
      await ended;
      clearTimeout(late);
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
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
