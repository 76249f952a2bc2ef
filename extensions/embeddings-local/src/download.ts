import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ProviderError, MemoryError, messageOf, type SyncProgress, withDeadline } from "@memslot/core";
import { acquireLock, codeOf, type ProcessLock } from "@memslot/core/files";
import { networkFailure } from "@memslot/core/providers";
import { openSource, type Source } from "./download-source.ts";
import { readGguf } from "./gguf-file.ts";

export interface DownloadRequest {
  url: string;
  /** Sent to the origin of `url` and nowhere else. */
  token?: string | undefined;
  /** The target file. It appears only when complete. */
  path: string;
  fileName: string;
  signal: AbortSignal;
  progress: (update: SyncProgress) => void;
  limits?: Partial<DownloadLimits> | undefined;
}

export interface DownloadLimits {
  connectMs: number;
  stallMs: number;
  /** Between two checks of another process's progress. */
  pollMs: number;
  unknownSizeBytes: number;
}

const megabyte = 1_000_000;
const defaultLimits: DownloadLimits = {
  connectMs: 15_000,
  stallMs: 30_000,
  pollMs: 250,
  unknownSizeBytes: 20_000 * megabyte,
};

interface Download extends Omit<DownloadRequest, "limits"> {
  limits: DownloadLimits;
  /** Path of the partial file. Its notes are beside it. */
  part: string;
}

type PartNotes = Partial<Pick<Source, "size" | "sha256" | "validator">> & { url: string };

/**
 * Downloads a model file once for all processes, resuming a partial one, and verifies size, checksum and head. Throws
 * an `ProviderError`: `transient` for network faults, `auth` if an immediate retry is pointless.
 */
export async function download(request: DownloadRequest): Promise<void> {
  const limits = { ...defaultLimits, ...request.limits };
  const task: Download = { ...request, limits, part: partOf(request.path) };
  const { path, fileName, signal } = task;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const lock = await lockOrWait(task);
    await complete(task, lock).finally(() => lock?.release());
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (ProviderError.is(error)) throw error;
    const text = `local: ${fileName} cannot be written to ${dirname(path)}: ${messageOf(error)}`;
    throw new ProviderError("auth", text, { cause: error });
  }
}

export function partOf(path: string): string {
  return `${path}.part`;
}

/** 0 if there is no file. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/** Waits for the download of another process. Undefined if that has completed the file. */
async function lockOrWait(task: Download): Promise<ProcessLock | undefined> {
  const { path, part, limits, signal } = task;
  let [size, changedAt] = [-1, 0];
  for (;;) {
    signal.throwIfAborted();
    if (await exists(path)) return undefined;
    try {
      return await acquireLock(`${part}.lock`, { waitMs: 0, busy: () => `${part} is locked`, signal });
    } catch (error) {
      if (!MemoryError.is(error, "BUSY")) throw error;
      const now = await sizeOf(part);
      if (now !== size) [size, changedAt] = [now, performance.now()];
      report(task, now, (await notesOf(part))?.size);
      // A process that is suspended (Ctrl-Z) keeps its lock. One that works reaches its own limits earlier.
      const isSuspended = performance.now() - changedAt > limits.connectMs + limits.stallMs;
      if (isSuspended) await rm(`${part}.lock`, { force: true });
      else await sleep(limits.pollMs, undefined, { signal });
    }
  }
}

async function complete(task: Download, lock: ProcessLock | undefined): Promise<void> {
  const { path, part, url } = task;
  // The last owner of the lock may have completed it.
  if (lock === undefined || (await exists(path))) return;
  const notes = await notesOf(part);
  const isWhole = notes?.url === url && notes.size !== undefined && (await sizeOf(part)) === notes.size;
  if (!isWhole) await transfer(task);
  try {
    await verify(task);
    await rm(`${part}.json`, { force: true });
    await rename(part, path);
  } catch (error) {
    // A process that lost its lock has completed the same file.
    if ((await exists(part)) || !(await exists(path))) throw error;
  }
}

async function notesOf(part: string): Promise<PartNotes | undefined> {
  const text = await readFile(`${part}.json`, "utf8").catch(() => "");
  try {
    return JSON.parse(text) as PartNotes;
  } catch {
    return undefined;
  }
}

async function transfer(task: Download): Promise<void> {
  const { part, path, url, fileName, limits, signal } = task;
  const source = await resume(task);
  const { from, size, sha256, validator, host, body } = source;
  const missing = (size ?? from) - from;
  const { blocks, bavail, bsize } = await statfs(dirname(path));
  if (blocks > 0 && bavail * bsize < missing) {
    await body.cancel();
    throw fullDisk(task, missing);
  }
  const notes: PartNotes = { url, size, sha256, validator };
  await writeFile(`${part}.json`, JSON.stringify(notes), { mode: 0o600 });
  let received = from;
  async function* parts(extend: () => void): AsyncGenerator<Uint8Array> {
    for (;;) {
      const { done, value } = await body.read();
      if (done) return;
      extend();
      // Otherwise it could fill the disk before it is verified.
      if (received + value.length > (size ?? limits.unknownSizeBytes)) throw tooLong(task, source);
      received += value.length;
      report(task, received, size);
      yield value;
    }
  }
  // Not for appending: a second writer writes the same bytes to the same places.
  const file = { flags: from === 0 ? "w" : "r+", start: from, mode: 0o600, flush: true };
  const stop = (): void => void body.cancel().catch(() => undefined);
  const write = async (inner: AbortSignal, extend: () => void): Promise<void> => {
    inner.addEventListener("abort", stop, { once: true });
    await pipeline(parts(extend), createWriteStream(part, file), { signal: inner }).finally(stop);
  };
  try {
    await withDeadline({ what: fileName, deadlineMs: limits.stallMs, signals: [signal] }, write);
  } catch (error) {
    if (["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "")) throw fullDisk(task, (size ?? received) - received, error);
    // A broken connection is a TypeError of `fetch`; other errors are those of the disk.
    if (signal.aborted || !(MemoryError.is(error) || error instanceof TypeError)) throw error;
    const why = MemoryError.is(error)
      ? `no byte came for ${limits.stallMs / 1000} s`
      : networkFailure(error, { url }).message;
    const what = `local: downloading ${fileName} from ${host} stopped (${why})`;
    const kept = `${megabytes(received)} MB are kept, and the next attempt resumes the download`;
    throw new ProviderError("transient", `${what}; ${kept}`, { cause: error });
  }
}

/** Opens the source at the end of the part, or at 0 if the part has other content. */
async function resume(task: Download): Promise<Source> {
  const { part, limits, url, token, fileName, signal } = task;
  const ask = { url, token, fileName, signal, connectMs: limits.connectMs };
  const notes = await notesOf(part);
  const size = await sizeOf(part);
  if (notes?.url === url && (notes.sha256 ?? notes.validator) !== undefined && size > 0) {
    const validator = notes.sha256 === undefined ? notes.validator : undefined;
    const source = await openSource({ ...ask, from: size, validator });
    if (source?.from === 0) return source;
    const isSame = source?.sha256 === notes.sha256 && source?.size === notes.size;
    if (source?.from === size && isSame) return source;
    await source?.body.cancel();
  }
  const source = await openSource({ ...ask, from: 0, validator: undefined });
  if (source?.from !== 0)
    throw new ProviderError("transient", `local: ${new URL(url).host} did not send the beginning of ${fileName}`);
  return source;
}

async function verify({ part, url, fileName, signal }: Download): Promise<void> {
  const notes = await notesOf(part);
  const size = await sizeOf(part);
  if (notes?.size !== undefined && size < notes.size) {
    const text = `local: only ${size} of ${notes.size} bytes of ${fileName} came; the next attempt resumes the download`;
    throw new ProviderError("transient", text);
  }
  const fault = await faultOf(part, size, notes, signal);
  if (fault === undefined) return;
  for (const path of [part, `${part}.json`]) await rm(path, { force: true });
  const text = `local: the file from ${new URL(url).host} is not ${fileName}: ${fault}. It was deleted; try again later`;
  throw new ProviderError("auth", text);
}

async function faultOf(
  part: string,
  size: number,
  notes: PartNotes | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (notes?.size !== undefined && size > notes.size) return `it is longer than ${notes.size} bytes`;
  const hash = createHash("sha256");
  if (notes?.sha256 !== undefined) await pipeline(createReadStream(part), hash, { signal });
  if (notes?.sha256 !== undefined && hash.digest("hex") !== notes.sha256) return "its checksum (SHA-256) differs";
  return await readGguf(part).then(() => undefined, messageOf);
}

function report({ fileName, progress }: Download, bytes: number, size: number | undefined): void {
  const completed = megabytes(bytes);
  const total = Math.max(1, size === undefined ? completed : Math.ceil(size / megabyte));
  progress({ completed: bytes === size ? total : completed, total, label: `downloading ${fileName}` });
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / megabyte);
}

function tooLong({ fileName, limits }: Download, { host, size }: Source): ProviderError {
  const limit = size === undefined ? `${megabytes(limits.unknownSizeBytes)} MB` : `its ${size} bytes`;
  return new ProviderError("auth", `local: ${host} sends more of ${fileName} than ${limit}; the rest was not read`);
}

function fullDisk({ path, fileName }: Download, missing: number, cause?: unknown): ProviderError {
  const what = `local: the disk of ${dirname(path)} is full: ${fileName} needs ${Math.ceil(missing / megabyte)} MB more`;
  const action = "free disk space, or set agents.defaults.memorySearch.local.modelCacheDir to another folder";
  return new ProviderError("auth", `${what}; ${action}`, { cause });
}
