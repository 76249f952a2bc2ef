import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { TrustedCode } from "../../contract/config.ts";
import { MemoryError, messageOf } from "../../contract/errors.ts";
import { isObject } from "../deep.ts";
import { type ConfigLayer, type FoundValue, allValues, textsAt } from "../layer.ts";
import { foldersOfLoadPath, installedPluginsDir, isPackageName, packageFolder, readJson } from "../packages.ts";
import { hashCode } from "./code-hash.ts";

const nameKeys =
  /^plugins\.(?:slots\.memory|entries\.\*\.fallback)$|\.memorySearch\.(?:provider|fallback|query\.rerank\.provider)$/;

/** Whether a value may name code. */
export function mayNameCode({ key: { key }, name }: FoundValue): boolean {
  if (key === "plugins.load.paths" || key === "memory.qmd" || nameKeys.test(key)) return true;
  return key.endsWith(".store.vector.extensionPath") || isOptionsOfQmd(key, name);
}

function isOptionsOfQmd(key: string, name: string | undefined): boolean {
  return key === "plugins.entries.*.config" && name === "memory-qmd";
}

/** What the values of a settled layer bring in, as it is now. */
export async function codeNamedBy(layer: ConfigLayer, stateDir: string): Promise<TrustedCode[]> {
  const places = new Set<string>();
  for (const path of textsAt(layer.values, "plugins.load.paths")) {
    const folders = await foldersOfLoadPath(path).catch(() => []);
    for (const place of folders.length > 0 ? folders : [path])
      if (existsSync(place)) places.add(realpathSync.native(place));
  }
  const installed: string[] = [];
  for (const name of namesIn(layer)) {
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

/**
 * Refuses code that is not what was trusted, before it is loaded. Throws `CONFIG` in one line that says what has changed.
 */
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
    `${what} is not loaded: the code in ${place} ${how}; look at it, and if it is yours, run \`memslot trust\` in the folder of the configuration`,
    { cause },
  );
}

/**
 * Programs and libraries that a configuration names by path, other than plugins, and which value names them. `baseDir` is
 * where a relative command is looked for. Other paths are absolute by now.
 */
export function programsIn(layer: ConfigLayer, baseDir: string): { path: string; found: FoundValue }[] {
  const programs: { path: string; found: FoundValue }[] = [];
  for (const found of allValues(layer)) {
    const { key, name, value } = found;
    if (key.key.endsWith(".store.vector.extensionPath")) programs.push({ path: String(value), found });
    const isQmd = key.key === "memory.qmd" || isOptionsOfQmd(key.key, name);
    const command = isQmd && isObject(value) ? value["command"] : undefined;
    // A bare name is looked up in PATH, which is no matter of this file.
    if (typeof command === "string" && /[/\\]/.test(command)) programs.push({ path: resolve(baseDir, command), found });
  }
  return programs;
}

/** A program that belongs to a package runs what else is in there. */
export function placeOfProgram(path: string, { baseDir }: Pick<ConfigLayer, "baseDir">): string {
  const real = realpathSync.native(path);
  const own = `${realpathSync.native(baseDir)}/`.replaceAll("\\", "/");
  for (let folder = dirname(real); folder !== dirname(folder); folder = dirname(folder)) {
    // The folder of the configuration itself holds more than code, and changes all the time.
    if (own.startsWith(`${folder}/`.replaceAll("\\", "/"))) return real;
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  return real;
}

function namesIn(layer: ConfigLayer): string[] {
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
