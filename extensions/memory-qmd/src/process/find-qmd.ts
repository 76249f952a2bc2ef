import { access, constants, realpath, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, extname, isAbsolute, join, resolve } from "node:path";
import { type FoundQmd, QmdFailure } from "../qmd-contract.ts";
import { pickEnvironment } from "./child/child-environment.ts";
import { classifyEnd } from "./classify-failure.ts";
import { findPackage } from "./find-package.ts";
import { defaultLimits } from "./child/limits.ts";
import { runOnce } from "./child/run-once.ts";

export interface FindQmdOptions {
  /** A name that is looked up in `PATH`, or a path. */
  command: string;
  environment: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  /** What commands that are no package have said, by file and time of change: kept by whoever looks again and again. */
  known?: Map<string, FoundQmd> | undefined;
}

const oldestVersion = "2.8.3";
const installAction = `install it with: npm install -g @tobilu/qmd@${oldestVersion} (or set memory.qmd.command to where it is)`;

/**
 * Finds qmd without starting it where it is a package; another command is asked for its version. Throws `QmdFailure`
 * (`not_installed`, `not_built`, `unsupported_version`, or what a command that was asked has failed of).
 */
export async function findQmd({ command, environment, signal, known }: FindQmdOptions): Promise<FoundQmd> {
  signal.throwIfAborted();
  const file = await findCommand(command, environment);
  const found = await identify(file, { environment, signal, known });
  if (isOlder(found.version, oldestVersion))
    throw new QmdFailure(
      "unsupported_version",
      `qmd ${found.version} at ${found.location} is too old: ${oldestVersion} is needed`,
      {
        action: `update it with: npm install -g @tobilu/qmd@${oldestVersion}`,
      },
    );
  return found;
}

type Asking = Omit<FindQmdOptions, "command">;

async function identify(file: string, asking: Asking): Promise<FoundQmd> {
  const owner = await findPackage(file);
  if (owner === undefined) return recall(file, asking);
  // Its own entry and not the command: that is a wrapper which does not pass signals on and leaves a process behind.
  const entry = join(owner.folder, "dist/cli/qmd.js");
  if (!(await isFile(entry)))
    throw new QmdFailure("not_built", `qmd at ${owner.folder} is not built: ${entry} is not there`, {
      action: installAction,
    });
  return { version: owner.version, location: owner.folder, argv: [process.execPath, entry] };
}

/** What was asked before of the same file is not asked again. */
async function recall(file: string, asking: Asking): Promise<FoundQmd> {
  const key = `${await realpath(file)}\n${(await stat(file)).mtimeMs}`;
  const found = asking.known?.get(key) ?? (await ask(file, asking));
  asking.known?.set(key, found);
  return found;
}

/** Of a command that is no package, as one of another package manager. */
async function ask(file: string, { environment, signal }: Asking): Promise<FoundQmd> {
  if (/\.(?:cmd|bat|ps1)$/i.test(file))
    throw new QmdFailure("not_installed", `${file} is a script that does not name the package @tobilu/qmd`, {
      action: "set memory.qmd.command to bin/qmd in the folder of that package",
    });
  const deadlineMs = defaultLimits.probeMs;
  const argv = /\.[cm]?js$/.test(file) ? [process.execPath, file] : [file];
  const result = await runOnce({
    argv: [...argv, "--version"],
    environment: pickEnvironment(environment, "query"),
    folder: tmpdir(),
    graceMs: defaultLimits.killMs,
    deadlineMs,
    signal,
    waitsForEnd: false,
  });
  const what = `${file} --version`;
  if (result.stopped !== undefined)
    throw new QmdFailure("timeout", `${what} gave no answer within ${deadlineMs / 1000} s`);
  if (result.end.code !== 0) throw classifyEnd(what, result.end, result.stderr);
  const version = /^qmd (\d+\.\d+\.\d+)/m.exec(result.stdout)?.[1];
  if (version === undefined)
    throw new QmdFailure("not_installed", `${file} is not the qmd that finds notes: it printed no version of it`, {
      action: installAction,
    });
  return { version, location: file, argv };
}

/** The file of a command, as a shell would find it. */
async function findCommand(command: string, environment: FindQmdOptions["environment"]): Promise<string> {
  const isWindows = process.platform === "win32";
  const isPath = isAbsolute(command) || command.includes("/") || (isWindows && command.includes("\\"));
  const path = environment["PATH"] ?? environment["Path"] ?? "";
  const places = isPath
    ? [resolve(command)]
    : path
        .split(delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => join(folder, command));
  // There a command has an ending, which is left out when it is called. npm makes a `.cmd`.
  const endings = isWindows && extname(command) === "" ? [".exe", ".cmd", ".bat", ""] : [""];
  for (const place of places) {
    for (const ending of endings) if (await isCommand(`${place}${ending}`)) return `${place}${ending}`;
  }
  throw new QmdFailure(
    "not_installed",
    isPath ? `there is no command ${command}` : `the command ${command} is not in PATH`,
    {
      action: installAction,
    },
  );
}

async function isCommand(path: string): Promise<boolean> {
  if (!(await isFile(path))) return false;
  // A script is started with Node and needs no right of its own.
  return (
    /\.[cm]?js$/.test(path) ||
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
  );
}

async function isFile(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isFile() === true;
}

/** Whether a version comes before another; both are three numbers, and what follows them does not count. */
function isOlder(version: string, other: string): boolean {
  const numbers = (text: string): number[] => text.split(/[.+-]/).slice(0, 3).map(Number);
  const theirs = numbers(other);
  for (const [at, number] of numbers(version).entries()) {
    if (number !== theirs[at]) return number < (theirs[at] ?? 0);
  }
  return false;
}
