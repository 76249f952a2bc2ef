import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The real tool, or why it is not here. */
export type RealQmd = { command: string; reason?: undefined } | { command?: undefined; reason: string };

const version = "2.8.3";
const root = resolve(import.meta.dirname, "../../../..");
const folder = join(root, ".tools", `qmd-${version}`);
const command = join(folder, "node_modules/@tobilu/qmd/bin/qmd");
/** Stands there when everything does. */
const marker = join(folder, "complete");
const lock = join(root, ".tools", `qmd-${version}.lock`);
const fiveMinutes = 300_000;

/**
 * The real qmd 2.8.3, installed once into `.tools` and kept for the next run: without its models and the program that
 * runs them, which are hundreds of megabytes. A test waits while another one installs it. Never throws: tests
 * that want it skip with the reason.
 */
export async function realQmd(): Promise<RealQmd> {
  try {
    await install();
    return { command };
  } catch (error) {
    return { reason: `qmd ${version} cannot be installed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function install(): Promise<void> {
  await mkdir(join(root, ".tools"), { recursive: true });
  for (const until = Date.now() + fiveMinutes; !existsSync(marker); await sleep(200)) {
    if (Date.now() > until) throw new Error(`${lock} is held; delete it if no test runs`);
    if (!(await takeLock())) continue;
    try {
      if (!existsSync(marker)) await download();
    } finally {
      await rm(lock, { force: true });
    }
  }
}

/** Whether it is ours now. One that is older than an installation may take has lost its holder. */
async function takeLock(): Promise<boolean> {
  try {
    await (await open(lock, "wx")).close();
    return true;
  } catch {
    const facts = await stat(lock).catch(() => undefined);
    if (facts !== undefined && Date.now() - facts.mtimeMs > fiveMinutes) await rm(lock, { force: true });
    return false;
  }
}

async function download(): Promise<void> {
  const part = `${folder}.part`;
  await rm(part, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
  await mkdir(part);
  await writeFile(join(part, "package.json"), '{ "private": true }\n');
  const flags = ["--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"];
  try {
    await npm(["install", ...flags, `@tobilu/qmd@${version}`], part);
    await writeFile(join(part, "complete"), "");
    await rename(part, folder);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

async function npm(args: readonly string[], cwd: string): Promise<void> {
  // Nothing of the process that runs the tests: its own npm or pnpm may have set where things go.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => name !== "NODE_OPTIONS" && !/^npm_(?!config_registry)/i.test(name)),
  );
  const isWindows = process.platform === "win32";
  await new Promise<void>((done, fail) => {
    execFile("npm", args, { cwd, env, timeout: fiveMinutes, shell: isWindows }, (error, _stdout, stderr) => {
      if (error === null) done();
      else fail(new Error(/^npm error .*/m.exec(stderr)?.[0] ?? error.message, { cause: error }));
    });
  });
}
