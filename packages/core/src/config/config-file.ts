import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { type Environment, absolutePath, variable } from "./paths.ts";
import { codeOf } from "../files/error-code.ts";
import { sha256Of } from "./agent-ids.ts";
import type { ConfigContent } from "./read-layer.ts";

const configFileName = "memslot.json5";

const maxBytes = 1024 * 1024;

interface ConfigFile {
  readonly path: string;
  /** `named` by option or variable, in the `current` folder, or in the `state` folder. */
  readonly found: "named" | "current" | "state";
}

export interface ConfigSource extends ConfigFile, ConfigContent {
  readonly sha256: string;
}

export function findConfigFile(options: {
  cwd: string;
  found?: { folder: string } | undefined;
  env: Environment;
  stateDir: string;
  configPath?: string | undefined;
}): ConfigFile | undefined {
  const own = join(options.stateDir, configFileName);
  const named = options.configPath ?? variable(options.env, "MEMSLOT_CONFIG");
  if (named !== undefined) {
    if (named.trim() === "") throw new MemoryError("CONFIG", "--config is blank; name a file, or leave it out");
    const path = absolutePath(named, options.cwd, options.env);
    return { path, found: isSameFile(path, own) ? "state" : "named" };
  }
  const here = join(options.found?.folder ?? options.cwd, configFileName);
  if (!exists(here)) return exists(own) ? { path: own, found: "state" } : undefined;
  if (isSameFile(here, own)) return { path: own, found: "state" };
  // Whoever can put a link in the current folder must not decide what another file's relative paths mean.
  return { path: realpathSync.native(here), found: "current" };
}

function isSameFile(left: string, right: string): boolean {
  return left === right || (exists(left) && exists(right) && realpathSync.native(left) === realpathSync.native(right));
}

export function ownConfigFile(stateDir: string): ConfigFile | undefined {
  const path = join(stateDir, configFileName);
  return exists(path) ? { path, found: "state" } : undefined;
}

export async function readConfigFile(file: ConfigFile): Promise<ConfigSource> {
  const { path } = file;
  const bytes = readConfigBytes(path);
  const content = await parseJson5(decode(bytes, path), path);
  return { ...file, content, label: path, baseDir: dirname(path), sha256: sha256Of(bytes) };
}

/** The bytes of a configuration file. A few small reads when a program starts are quickest without promises. */
export function readConfigBytes(path: string): Uint8Array {
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) throw new MemoryError("CONFIG", `${path} is a folder; name the ${configFileName} in it`);
    if (!stat.isFile()) throw new MemoryError("CONFIG", `${path} is not a file; name a ${configFileName}`);
    if (stat.size > maxBytes)
      throw new MemoryError("CONFIG", `${path} is larger than 1 MiB, the limit of a configuration; name another file`);
    return readFileSync(path);
  } catch (error) {
    if (MemoryError.is(error)) throw error;
    const isMissing = codeOf(error) === "ENOENT";
    const message = isMissing
      ? `${path} does not exist; name an existing file, or write one with \`memslot init\``
      : `${path} cannot be read: ${messageOf(error)}`;
    throw new MemoryError("CONFIG", message, { cause: error });
  }
}

async function parseJson5(text: string, label: string): Promise<unknown> {
  const { parse } = await import("./json5.ts");
  try {
    return parse<unknown>(text);
  } catch (error) {
    const reason = messageOf(error)
      .replace(/^JSON5: /, "")
      .replace(/ at \d+:\d+$/, "");
    throw new MemoryError("CONFIG", `${label}:${position(error, text)}: ${reason}`, { cause: error });
  }
}

function position(error: unknown, text: string): string {
  const { lineNumber = 1, columnNumber = 1 } = error as { lineNumber?: number; columnNumber?: number };
  if (columnNumber > 0) return `${lineNumber}:${columnNumber}`;
  const line = text.split(/\r\n|[\n\r\u2028\u2029]/)[lineNumber - 2] ?? "";
  return `${lineNumber - 1}:${line.length + 1}`;
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new MemoryError("CONFIG", `${path} is not UTF-8 text; save it as UTF-8`, { cause: error });
  }
}

function exists(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw new MemoryError("CONFIG", `${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
