import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { MemoryError, messageOf } from "../errors.ts";
import { isObject } from "./deep.ts";
import { canonicalPath } from "./paths.ts";
import { readConfigBytes, sha256Of } from "./read-file.ts";

/** A configuration file that the user vouched for, as it was then. */
export interface TrustRecord {
  /** Canonical and absolute. */
  readonly file: string;
  /** Of its content, in hexadecimal. Another content is not trusted. */
  readonly sha256: string;
  /** ISO 8601. */
  readonly trustedAt: string;
}

/**
 * Trusts a configuration file with the content that it has now. `stateDir` is where this is kept, see
 * `resolveStateDir`. Throws `CONFIG` where the file cannot be read or the record cannot be written.
 */
export async function trustConfig(file: string, options: { stateDir: string }): Promise<TrustRecord> {
  const sha256 = sha256Of(readConfigBytes(file));
  const record: TrustRecord = { file: canonical(file), sha256, trustedAt: new Date().toISOString() };
  writeRecords(options.stateDir, [...recordsExcept(options.stateDir, record.file), record]);
  return record;
}

/** Every file that is trusted, oldest first. Empty where nothing was trusted or the record is damaged. */
export async function listTrusted(options: { stateDir: string }): Promise<TrustRecord[]> {
  return readRecords(options.stateDir);
}

/** Takes trust back, also for a file that is gone. False where it was not trusted. */
export async function revokeTrust(file: string, options: { stateDir: string }): Promise<boolean> {
  const kept = recordsExcept(options.stateDir, canonical(file));
  if (kept.length === readRecords(options.stateDir).length) return false;
  writeRecords(options.stateDir, kept);
  return true;
}

/** Whether a file is trusted with this content. */
export function isTrusted(file: string, sha256: string, stateDir: string): boolean {
  const path = canonical(file);
  return readRecords(stateDir).some((record) => record.file === path && record.sha256 === sha256);
}

function canonical(file: string): string {
  const path = canonicalPath(resolve(file));
  if (path === undefined) throw new MemoryError("CONFIG", `${file} cannot be reached; check its folders and links`);
  return path;
}

function recordsExcept(stateDir: string, file: string): TrustRecord[] {
  return readRecords(stateDir).filter((record) => record.file !== file);
}

function readRecords(stateDir: string): TrustRecord[] {
  try {
    const content: unknown = JSON.parse(readFileSync(recordFile(stateDir), "utf8"));
    const files: unknown = isObject(content) ? content["files"] : undefined;
    return Array.isArray(files) ? files.filter(isRecord) : [];
  } catch {
    return []; // Missing or damaged: then nothing is trusted, and the next `trustConfig` writes it anew.
  }
}

function isRecord(value: unknown): value is TrustRecord {
  return isObject(value) && ["file", "sha256", "trustedAt"].every((name) => typeof value[name] === "string");
}

/** Replaces the record as a whole, so that a crash leaves the old one or the new one. */
function writeRecords(stateDir: string, files: readonly TrustRecord[]): void {
  const target = recordFile(stateDir);
  const draft = `${target}.${randomUUID()}.tmp`;
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const handle = openSync(draft, "wx", 0o600);
    try {
      writeSync(handle, `${JSON.stringify({ version: 1, files }, undefined, 2)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new MemoryError(
      "CONFIG",
      `${target} cannot be written: ${messageOf(error)}; check the state folder, or name another one in MEMSLOT_HOME`,
      {
        cause: error,
      },
    );
  }
}

function recordFile(stateDir: string): string {
  return join(stateDir, "trusted.json");
}
