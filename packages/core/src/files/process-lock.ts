import { randomUUID } from "node:crypto";
import { link, readFile, readlink, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryError } from "../contract/errors.ts";
import { codeOf, unlessMissing } from "./error-code.ts";
import { isRunning, processScope } from "./process-mark.ts";

/** A lock without an owner is being written, unless it is older than this. */
const writingMs = 3_000;
/** Heartbeat interval of a lock owner, for processes that cannot see its process. */
const beatMs = 10_000;
const silentMs = 60_000;
const pauseMs = 20;

/** The owner of a lock, as stored in its file. */
export interface LockHolder {
  readonly pid: number;
  readonly processStart?: string | undefined;
  readonly host: string;
  /** The scope of `pid`. Absent in a lock of an earlier version: that of the host. */
  readonly scope?: string | undefined;
  readonly since: string;
  readonly token: string;
}

export interface LockOptions {
  /** How long to wait for another holder, in milliseconds. */
  waitMs: number;
  busy: (holder: LockHolder | undefined) => string;
  signal?: AbortSignal | undefined;
}

export interface ProcessLock {
  release(): Promise<void>;
}

export async function acquireLock(file: string, options: LockOptions): Promise<ProcessLock> {
  const endsAt = performance.now() + options.waitMs;
  for (;;) {
    options.signal?.throwIfAborted();
    const own = await ownHolder();
    if (await createLock(file, own)) return held(file, own);
    const seen = await readLock(file);
    if (seen === "gone") continue;
    const mayTake = await isAbandoned(seen);
    if (mayTake && (await takeOver(file, own, options))) return held(file, own);
    if (performance.now() >= endsAt) throw new MemoryError("BUSY", options.busy(seen.holder));
    await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal: options.signal });
  }
}

type SeenLock = Exclude<Awaited<ReturnType<typeof readLock>>, "gone">;

/** Creates the lock with its owner; atomic if the file system has links. */
async function createLock(file: string, own: LockHolder): Promise<boolean> {
  const draft = await draftOf(file, own);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
  } finally {
    await rm(draft, { force: true });
  }
  try {
    await writeFile(file, JSON.stringify(own), { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function draftOf(file: string, own: LockHolder): Promise<string> {
  const draft = `${file}.${own.token}.tmp`;
  await writeFile(draft, JSON.stringify(own), { flag: "wx", mode: 0o600 });
  return draft;
}

/** Replaces an abandoned lock; a second lock serialises processes that find it abandoned at once. */
async function takeOver(file: string, own: LockHolder, options: LockOptions): Promise<boolean> {
  let claim: ProcessLock;
  try {
    claim = await acquireLock(`${file}.takeover`, { ...options, waitMs: 0 });
  } catch (error) {
    if (MemoryError.is(error, "BUSY")) return false;
    throw error;
  }
  try {
    const seen = await readLock(file);
    if (seen === "gone" || !(await isAbandoned(seen))) return false;
    const draft = await draftOf(file, own);
    await rename(draft, file).catch(async (error: unknown) => {
      await rm(draft, { force: true });
      throw error;
    });
    return true;
  } finally {
    await claim.release();
  }
}

function held(file: string, own: LockHolder): ProcessLock {
  const beat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => undefined);
  }, beatMs);
  beat.unref();
  let released: Promise<void> | undefined;
  return {
    release: () =>
      (released ??= (async () => {
        clearInterval(beat);
        const seen = await readLock(file);
        if (seen !== "gone" && seen.holder?.token === own.token) await rm(file, { force: true });
      })()),
  };
}

async function readLock(file: string) {
  try {
    const text = await readFile(file, "utf8");
    const { mtimeMs } = await stat(file);
    return { holder: holderOf(text), mtimeMs };
  } catch (error) {
    return unlessMissing(error) ?? "gone";
  }
}

function holderOf(text: string): LockHolder | undefined {
  try {
    const value = JSON.parse(text) as LockHolder;
    return Number.isSafeInteger(value.pid) && value.pid > 0 && typeof value.token === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

async function isAbandoned({ holder, mtimeMs }: SeenLock): Promise<boolean> {
  const ageMs = Date.now() - mtimeMs;
  if (!holder) return ageMs > writingMs;
  if (holder.host !== os.hostname() || (holder.scope ?? processScope()) !== processScope()) return ageMs > silentMs;
  const start = await processStart(holder.pid);
  if (start === "gone") return true;
  if (start !== undefined && holder.processStart !== undefined) return start !== holder.processStart;
  // Without start times, a lock with our pid that is older than this process belonged to another process.
  const ownStartMs = Date.now() - process.uptime() * 1000;
  return holder.pid === process.pid && Date.parse(holder.since) < ownStartMs - 2_000;
}

async function ownHolder(): Promise<LockHolder> {
  const start = await processStart(process.pid);
  return {
    pid: process.pid,
    processStart: start === "gone" ? undefined : start,
    host: os.hostname(),
    scope: processScope(),
    since: new Date().toISOString(),
    token: randomUUID(),
  };
}

/** When a process began, since its number may be another's by now. Undefined if the system does not report it. */
async function processStart(pid: number): Promise<string | "gone" | undefined> {
  if (isRunning(String(pid)) === false) return "gone";
  try {
    // A PID namespace may still see the /proc of its parent, with other numbers.
    if (Number(await readlink("/proc/self")) !== process.pid) return undefined;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The start time is field 22; the name before it may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return "gone";
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    return `${boot}:${fields[19]}`;
  } catch {
    return undefined;
  }
}
