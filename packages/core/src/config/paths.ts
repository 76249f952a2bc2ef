import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { clientFolderPatterns } from "../contract/client-ids.ts";
import type { ClientFolders } from "../contract/config.ts";
import { MemoryError } from "../contract/errors.ts";
import { codeOf } from "../files/error-code.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export function variable(env: Environment, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value.trim() === "" ? undefined : value;
}

export function homeDir(env: Environment): string {
  const named = [variable(env, "HOME"), variable(env, "USERPROFILE")].find((path) => path !== undefined);
  // An empty HOME makes `homedir()` empty; the user database still knows.
  const home = named ?? [homedir(), userHome()].find((path) => isAbsolute(path));
  if (home === undefined)
    throw new MemoryError("CONFIG", "there is no home folder: set HOME, or MEMSLOT_HOME to where state may be kept");
  return home;
}

function userHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return ""; // A user that the system has no record of.
  }
}

export function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new MemoryError("CONFIG", "the current folder does not exist any more; change to another one", {
      cause: error,
    });
  }
}

/** Where state is kept: `MEMSLOT_HOME`, else `~/.memslot`. Absolute. */
export function resolveStateDir(options: { cwd?: string | undefined; env?: Environment | undefined } = {}): string {
  const env = options.env ?? process.env;
  const named = variable(env, "MEMSLOT_HOME");
  if (named === undefined) return join(homeDir(env), ".memslot");
  return absolutePath(named, options.cwd ?? currentFolder(), env);
}

export function absolutePath(path: string, baseDir: string, env: Environment): string {
  if (path === "~") return resolve(homeDir(env));
  if (/^~[/\\]/.test(path)) return resolve(homeDir(env), path.slice(2));
  return resolve(baseDir, path);
}

export function isAddress(path: string): boolean {
  return /^[a-z][a-z\d+.-]+:/i.test(path);
}

/** Resolves symbolic links, also of missing paths. Undefined for a circle of links or an unreadable folder. */
export function canonicalPath(path: string, links = 0): string | undefined {
  const parent = dirname(path);
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (!isMissing(error) || parent === path || links > 40) return undefined;
  }
  const target = linkTarget(path);
  if (target !== undefined) return canonicalPath(resolve(parent, target), links + 1);
  const above = canonicalPath(parent, links);
  return above === undefined ? undefined : join(above, relative(parent, path));
}

/** Whether a path is a folder or is in it, links followed. A path that cannot be followed is outside. */
export function isInside(path: string, folder: string): boolean {
  const [inner, outer] = [canonicalPath(path), canonicalPath(folder)];
  return inner !== undefined && outer !== undefined && isBelow(inner, outer);
}

/** Whether an absolute path is a folder or is in it, by its text alone. */
export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined; // Nothing is there, so nothing leads elsewhere.
  }
}

function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "");
}

/** The folders in which other agents keep their conversations, from `clientFolderPatterns`. They need not exist. */
export function clientFolders(env: Environment): ClientFolders {
  let home: string;
  try {
    home = homeDir(env);
  } catch {
    return {}; // Without a home there are none.
  }
  const where = { home, env, platform: process.platform };
  return Object.fromEntries(
    Object.entries(clientFolderPatterns).map(([id, patterns]) => [
      id,
      patterns.flatMap((pattern) => patternPath(pattern, where) ?? []),
    ]),
  );
}

/** A place by its environment. */
export interface PatternPlace {
  readonly home: string;
  readonly env: Environment;
  readonly platform: string;
  readonly cwd?: string | undefined;
}

/** Resolves a pattern: the first of its `|` alternatives with a known base, else undefined. */
export function patternPath(pattern: string, { home, env, platform, cwd }: PatternPlace): string | undefined {
  const xdg = variable(env, "XDG_CONFIG_HOME") ?? join(home, ".config");
  const baseOf = (base: string): string | undefined => {
    if (base === "~") return home;
    if (base === "@dotconfig") return platform === "darwin" ? join(home, ".config") : xdg;
    if (base !== "@config") {
      const value = variable(env, base.slice(1));
      return value === undefined || isAbsolute(value) ? value : cwd && resolve(cwd, value);
    }
    if (platform === "darwin") return join(home, "Library", "Application Support");
    return platform === "win32" ? (variable(env, "APPDATA") ?? join(home, "AppData", "Roaming")) : xdg;
  };
  for (const alternative of pattern.split("|")) {
    const [base = "", ...rest] = alternative.split("/");
    const folder = baseOf(base);
    if (folder !== undefined) return join(folder, ...rest);
  }
  return undefined;
}
