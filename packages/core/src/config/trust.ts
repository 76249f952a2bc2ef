import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { TrustedCode } from "../contract/config.ts";
import { MemoryError, messageOf } from "../contract/errors.ts";
import { namesIn } from "../files/error-code.ts";
import { replaceFile } from "../files/replace-file.ts";
import { isObject } from "./plain-data.ts";
import {
  foldersOfLoadPath,
  hashCode,
  installedPluginsDir,
  isPackageName,
  packageFolder,
  readJson,
} from "./plugin-packages.ts";
import { type Environment, canonicalPath } from "./paths.ts";
import { sha256Of } from "./agent-ids.ts";
import { readConfigFile } from "./config-file.ts";
import { type ConfigLayer, type FoundValue, allValues, changeValues, readLayer, textsAt } from "./read-layer.ts";

const folder = "trusted";

export interface TrustRecord {
  readonly file: string;
  readonly sha256: string;
  readonly trustedAt: string;
  /** The code that the file names. Code that is missing here or has changed is not loaded. */
  readonly code: readonly TrustedCode[];
}

/** Trusts the present content of a configuration file and the code it names. Throws `CONFIG`. */
export async function trustConfig(
  file: string,
  options: { stateDir: string; env?: Environment | undefined; earlier?: readonly TrustedCode[] | undefined },
): Promise<TrustRecord> {
  const { stateDir, env = process.env, earlier = [] } = options;
  const path = canonical(file);
  const source = await readConfigFile({ path, found: "current" });
  const layer = readLayer(source, env, (all) => changeValues(all, (found) => (mayNameCode(found) ? found : undefined)));
  const now = await codeNamedBy(layer, stateDir);
  const code = now.map((one) => earlier.find(({ place }) => place === one.place) ?? one);
  const record: TrustRecord = { file: path, sha256: source.sha256, trustedAt: new Date().toISOString(), code };
  const target = placeOf(path, stateDir);
  await replaceFile(target, `${JSON.stringify(record, undefined, 2)}\n`).catch((error: unknown) => {
    throw cannotWrite(target, error);
  });
  return record;
}

/** All trusted files, oldest record first. Damaged records are ignored. */
export async function listTrusted({ stateDir }: { stateDir: string }): Promise<TrustRecord[]> {
  const names = namesIn(join(stateDir, folder)).filter((name) => name.endsWith(".json"));
  const records = names.flatMap((name) => readRecord(join(stateDir, folder, name)) ?? []);
  return records.toSorted((a, b) => compare(a.trustedAt, b.trustedAt) || compare(a.file, b.file));
}

/** Revokes trust, also for a deleted file. False if it was not trusted. */
export async function revokeTrust(file: string, { stateDir }: { stateDir: string }): Promise<boolean> {
  const path = canonical(file);
  const place = placeOf(path, stateDir);
  const wasTrusted = readRecord(place)?.file === path;
  try {
    rmSync(place, { force: true });
  } catch (error) {
    throw cannotWrite(place, error);
  }
  return wasTrusted;
}

/** The record of a file that is trusted with this content; undefined if it is not. */
export function trustOf(file: string, sha256: string, stateDir: string): TrustRecord | undefined {
  const path = canonical(file);
  const record = readRecord(placeOf(path, stateDir));
  return record?.file === path && record.sha256 === sha256 ? record : undefined;
}

function canonical(file: string): string {
  const path = canonicalPath(resolve(file));
  if (path === undefined) throw new MemoryError("CONFIG", `${file} cannot be reached; check its folders and links`);
  return path;
}

function readRecord(place: string): TrustRecord | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(place, "utf8"));
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined; // Missing or damaged: the file is not trusted, and the next `trustConfig` rewrites the record.
  }
}

function isRecord(value: unknown): value is TrustRecord {
  if (!isObject(value) || !["file", "sha256", "trustedAt"].every((name) => typeof value[name] === "string"))
    return false;
  const { code } = value;
  return Array.isArray(code) && code.every((one: unknown) => isObject(one) && typeof one["place"] === "string");
}

function cannotWrite(target: string, error: unknown): MemoryError {
  return new MemoryError(
    "CONFIG",
    `${target} cannot be written: ${messageOf(error)}; check the state folder, or name another one in MEMSLOT_HOME`,
    { cause: error },
  );
}

function placeOf(file: string, stateDir: string): string {
  return join(stateDir, folder, `${sha256Of(file)}.json`);
}

function compare(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

const nameKeys =
  /^plugins\.(?:slots\.memory|entries\.\*\.fallback)$|\.memorySearch\.(?:provider|fallback|query\.rerank\.provider)$/;

function mayNameCode({ key: { key }, name }: FoundValue): boolean {
  if (key === "plugins.load.paths" || key === "memory.qmd" || nameKeys.test(key)) return true;
  return key.endsWith(".store.vector.extensionPath") || isOptionsOfQmd(key, name);
}

function isOptionsOfQmd(key: string, name: string | undefined): boolean {
  return key === "plugins.entries.*.config" && name === "memory-qmd";
}

async function codeNamedBy(layer: ConfigLayer, stateDir: string): Promise<TrustedCode[]> {
  const places = new Set<string>();
  for (const path of textsAt(layer.values, "plugins.load.paths")) {
    const folders = await foldersOfLoadPath(path).catch(() => []);
    for (const place of folders.length > 0 ? folders : [path])
      if (existsSync(place)) places.add(realpathSync.native(place));
  }
  const installed: string[] = [];
  for (const name of packagesNamedIn(layer)) {
    const near = packageFolder(name, join(layer.baseDir, "package.json"));
    if (near !== undefined) places.add(realpathSync.native(near));
    const added = join(installedPluginsDir(stateDir), "node_modules", name);
    if (existsSync(added)) installed.push(realpathSync.native(added));
  }
  for (const { path } of programsIn(layer, layer.baseDir))
    if (existsSync(path)) places.add(placeOfProgram(path, layer));
  return [
    ...(await Promise.all(
      [...places].map(async (place) => ({ ...(await versioned(place)), ...(await hashCode(place)) })),
    )),
    ...(await Promise.all(installed.map(versioned))),
  ];
}

/** Throws `CONFIG` with a description of the change if code differs from what was trusted. */
export async function assertTrusted(place: string, what: string, trusted: readonly TrustedCode[]): Promise<void> {
  if (!existsSync(place)) throw changed(what, place, "is not there");
  const real = realpathSync.native(place);
  const record = trusted.find((code) => code.place === real);
  if (record === undefined) throw changed(what, place, "was not there when the configuration was trusted");
  if (record.sha256 === undefined) {
    const { version } = await versioned(real);
    if (version === record.version) return;
    throw changed(what, place, `was ${record.version ?? "without a version"} and is ${version ?? "without one"} now`);
  }
  let sha256: string;
  try {
    ({ sha256 } = await hashCode(real));
  } catch (error) {
    throw changed(what, place, `cannot be compared with what was trusted: ${messageOf(error)}`, error);
  }
  if (sha256 !== record.sha256) throw changed(what, place, "has changed since the configuration was trusted");
}

function changed(what: string, place: string, how: string, cause?: unknown): MemoryError {
  return new MemoryError(
    "CONFIG",
    `${what} is not loaded: the code in ${place} ${how}; check it, and if it is yours, run \`memslot trust\` in the folder of the configuration`,
    { cause },
  );
}

/** Lists programs and libraries (not plugins) that a configuration names by path, with the key of each. */
export function programsIn(layer: ConfigLayer, baseDir: string): { path: string; found: FoundValue }[] {
  const programs: { path: string; found: FoundValue }[] = [];
  for (const found of allValues(layer)) {
    const { key, name, value } = found;
    if (key.key.endsWith(".store.vector.extensionPath")) programs.push({ path: String(value), found });
    const isQmd = key.key === "memory.qmd" || isOptionsOfQmd(key.key, name);
    const command = isQmd && isObject(value) ? value["command"] : undefined;
    if (typeof command === "string" && /[/\\]/.test(command)) programs.push({ path: resolve(baseDir, command), found });
  }
  return programs;
}

/** A program that belongs to a package runs what else is in there. */
export function placeOfProgram(path: string, { baseDir }: Pick<ConfigLayer, "baseDir">): string {
  const real = realpathSync.native(path);
  const own = `${realpathSync.native(baseDir)}/`.replaceAll("\\", "/");
  for (let folder = dirname(real); folder !== dirname(folder); folder = dirname(folder)) {
    if (own.startsWith(`${folder}/`.replaceAll("\\", "/"))) return real;
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  return real;
}

function packagesNamedIn(layer: ConfigLayer): string[] {
  const texts = allValues(layer)
    .filter(({ key }) => nameKeys.test(key.key))
    .map(({ value }) => String(value).trim());
  return [...new Set(texts)].filter(isPackageName);
}

async function versioned(place: string): Promise<TrustedCode> {
  const packageJson = await readJson(join(place, "package.json")).catch(() => undefined);
  const version = isObject(packageJson) ? packageJson["version"] : undefined;
  return { place, ...(typeof version === "string" && { version }) };
}
