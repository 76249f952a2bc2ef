import { access, constants, readFile, realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, extname, isAbsolute, join, resolve } from "node:path";
import { childEnvironment } from "@memslot/core/providers";
import { QmdFailure } from "../failures.ts";
import { type HostEnvironment, runQmd } from "./run-qmd.ts";

export interface FoundQmd {
  version: string;
  location: string;
  argv: readonly string[];
}

export interface FindQmdOptions {
  command: string;
  environment: HostEnvironment;
  signal: AbortSignal;
}

const oldestVersion = "2.8.3";
const versionDeadlineMs = 5000;

/** Finds qmd; a command outside of a package is started with `--version`. Throws `QmdFailure`. */
export async function findQmd(options: FindQmdOptions): Promise<FoundQmd> {
  options.signal.throwIfAborted();
  const file = await findCommand(options.command, options.environment);
  const found = (await packageOf(file)) ?? (await askVersion(file, options));
  if (!isOlder(found.version, oldestVersion)) return found;
  const message = `qmd ${found.version} at ${found.location} is too old: ${oldestVersion} is needed`;
  throw new QmdFailure("unsupported_version", message);
}

async function findCommand(command: string, environment: HostEnvironment): Promise<string> {
  const isWindows = process.platform === "win32";
  const isPath = isAbsolute(command) || command.includes("/") || (isWindows && command.includes("\\"));
  const folders = (environment["PATH"] ?? environment["Path"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const places = isPath ? [resolve(command)] : folders.map((folder) => join(folder, command));
  // On Windows the ending of a command may be left out. npm makes a `.cmd`.
  const endings = isWindows && extname(command) === "" ? [".exe", ".cmd", ".bat", ""] : [""];
  for (const place of places) {
    for (const ending of endings) if (await isCommand(`${place}${ending}`)) return `${place}${ending}`;
  }
  const problem = isPath ? `there is no command ${command}` : `the command ${command} is not in PATH`;
  throw new QmdFailure("not_installed", problem);
}

async function isCommand(path: string): Promise<boolean> {
  if (!(await isFile(path))) return false;
  // A script is started with Node and needs no permission of its own.
  if (/\.[cm]?js$/.test(path)) return true;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function isFile(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isFile() === true;
}

/** The package `@tobilu/qmd` above a command, or above the file that the shim of a package manager names. */
async function packageOf(command: string): Promise<FoundQmd | undefined> {
  const file = await realpath(command);
  const target = (await packageAbove(file)) ?? (await packageAbove(await shimTarget(file)));
  if (target === undefined) return undefined;
  const { folder, version } = target;
  // Its own entry: the command is a wrapper that passes no signals on and leaves a process behind.
  const entry = join(folder, "dist/cli/qmd.js");
  if (await isFile(entry)) return { version, location: folder, argv: [process.execPath, entry] };
  throw new QmdFailure("not_built", `qmd at ${folder} is not built: ${entry} is missing`);
}

async function packageAbove(file: string | undefined): Promise<{ folder: string; version: string } | undefined> {
  if (file === undefined || dirname(file) === file) return undefined;
  const folder = dirname(file);
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "");
  const [, version] = /"name":\s*"@tobilu\/qmd"/.test(text) ? (/"version":\s*"([^"]+)"/.exec(text) ?? []) : [];
  return version === undefined ? packageAbove(folder) : { folder, version };
}

const longestShim = 16 * 1024;

/** The file that a shim of npm (`.cmd`) or pnpm (shell script) starts. */
async function shimTarget(file: string): Promise<string | undefined> {
  const text = await readFile(file, "latin1").catch(() => "");
  if (text.length > longestShim || text.includes("\0")) return undefined;
  const named = /"([^"\n]*@tobilu[\\/]qmd[\\/]bin[\\/]qmd[^"\n]*)"/.exec(text)?.[1];
  if (named === undefined) return undefined;
  const path = Buffer.from(named, "latin1").toString("utf8").replaceAll("\\", "/");
  const own = path.replace(/^(?:%~?dp0%?|\$basedir|\$\{basedir\})/, "");
  return realpath(own === path ? path : join(dirname(file), own)).catch(() => undefined);
}

/** For a command that is no package, as of another package manager. */
async function askVersion(file: string, { environment, signal }: FindQmdOptions): Promise<FoundQmd> {
  if (/\.(?:cmd|bat|ps1)$/i.test(file)) {
    const action = "set memory.qmd.command to bin/qmd in the folder of that package";
    throw new QmdFailure("not_installed", `${file} is a script that does not name the package @tobilu/qmd`, { action });
  }
  const argv = /\.[cm]?js$/.test(file) ? [process.execPath, file] : [file];
  const { stdout } = await runQmd({
    what: `${file} --version`,
    argv: [...argv, "--version"],
    environment: childEnvironment(environment),
    folder: tmpdir(),
    graceMs: 500,
    deadlineMs: versionDeadlineMs,
    signal,
  });
  const version = /^qmd (\d+\.\d+\.\d+)/m.exec(stdout)?.[1];
  if (version !== undefined) return { version, location: file, argv };
  throw new QmdFailure("not_installed", `${file} is not the qmd that searches notes: it printed no version of it`);
}

function isOlder(version: string, other: string): boolean {
  const numbers = (text: string): number[] => text.split(/[.+-]/).slice(0, 3).map(Number);
  const theirs = numbers(other);
  const at = numbers(version).findIndex((number, index) => number !== theirs[index]);
  return at >= 0 && (numbers(version)[at] ?? 0) < (theirs[at] ?? 0);
}
