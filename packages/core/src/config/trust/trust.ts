import { readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { MemoryError, messageOf } from "../../contract/errors.ts";
import { isObject } from "../deep.ts";
import { changeValues } from "../layer.ts";
import { type Environment, canonicalPath } from "../paths.ts";
import { namesIn } from "../../files/error-code.ts";
import { replaceFile } from "../../files/replace-file.ts";
import { readConfigFile, sha256Of } from "../read-file.ts";
import { readLayer } from "../read-layer.ts";
import { codeNamedBy, mayNameCode } from "./trusted-code.ts";
import { type TrustedCode } from "../../contract/config.ts";

/** Of the state folder. */
const folder = "trusted";

/** A configuration file that the user vouched for, as it was then. */
export interface TrustRecord {
  /** Canonical and absolute. */
  readonly file: string;
  /** Of its content, in hexadecimal. Another content is not trusted. */
  readonly sha256: string;
  /** ISO 8601. */
  readonly trustedAt: string;
  /** The code that it brings in. Code that is not here, or is not what it was, is not loaded. */
  readonly code: readonly TrustedCode[];
}

/**
 * Trusts a configuration file with the content that it has now, and the code that it names with that of now. `stateDir`
 * is where this is kept, see `resolveStateDir`: one record in a file of its own, so that two that are written at once are
 * both there. Of code that is in `earlier` that record stays, so that what has changed since is asked about all the same.
 * Throws `CONFIG` where the file cannot be read, or the record cannot be written.
 */
export async function trustConfig(
  file: string,
  options: { stateDir: string; env?: Environment | undefined; earlier?: readonly TrustedCode[] | undefined },
): Promise<TrustRecord> {
  const { stateDir, env = process.env, earlier = [] } = options;
  const path = canonical(file);
  const source = await readConfigFile({ path, found: "current" });
  // A key of a provider, say, may stand in a variable that is not set now, and is no matter here.
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

/** Every file that is trusted, oldest first. A record that is damaged does not count. */
export async function listTrusted({ stateDir }: { stateDir: string }): Promise<TrustRecord[]> {
  const names = namesIn(join(stateDir, folder)).filter((name) => name.endsWith(".json"));
  const records = names.flatMap((name) => readRecord(join(stateDir, folder, name)) ?? []);
  return records.toSorted((a, b) => compare(a.trustedAt, b.trustedAt) || compare(a.file, b.file));
}

/** Takes trust back, also for a file that is gone. False where it was not trusted. */
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

/** The record of a file that is trusted with this content; undefined where it is not. */
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
    return undefined; // Missing or damaged: then the file is not trusted, and the next `trustConfig` writes it anew.
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

/** Named for the path of the file, which may have any characters and any length. */
function placeOf(file: string, stateDir: string): string {
  return join(stateDir, folder, `${sha256Of(Buffer.from(file))}.json`);
}

function compare(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}
