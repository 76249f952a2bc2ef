import { mkdir, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { EmbeddingError, MemoryError, messageOf, type SyncProgress, withDeadline } from "@memslot/core";
import { takeLock } from "./download-lock.ts";
import { openSource, type Source } from "./download-source.ts";
import { readGguf } from "../gguf-file.ts";
import { type Disk, PartFile, realDisk } from "./part-file.ts";
import { codeOf } from "@memslot/core/files";
import { networkFailure } from "@memslot/core/providers";

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
  disk?: Disk | undefined;
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

type Download = Omit<DownloadRequest, "limits" | "disk"> & { limits: DownloadLimits; disk: Disk; part: PartFile };

/**
 * Downloads a model file once for all processes, resuming a partial one, and verifies size, checksum and head. Throws
 * an `EmbeddingError`: `transient` for network faults, `auth` if an immediate retry is pointless.
 */
export async function download(request: DownloadRequest): Promise<void> {
  const limits = { ...defaultLimits, ...request.limits };
  const task: Download = { ...request, limits, disk: request.disk ?? realDisk, part: new PartFile(request.path) };
  const { path, part, signal } = task;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const release = await takeLock({
      path: `${part.path}.lock`,
      look: () => part.size(),
      onWait: async () => report(task, await part.size(), (await part.notes())?.size),
      isDone: () => exists(path),
      pollMs: limits.pollMs,
      // A live owner reaches its own limits earlier.
      takeOverMs: limits.connectMs + limits.stallMs,
      signal,
    });
    if (release === "done") return;
    try {
      await complete(task);
    } finally {
      await release();
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failureOf(error, task);
  }
}

async function complete(task: Download): Promise<void> {
  const { part } = task;
  const notes = await part.notes();
  const isWhole = notes?.url === task.url && notes.size !== undefined && (await part.size()) === notes.size;
  if (!isWhole) await transfer(task);
  try {
    await verify(task);
    await part.removeNotes();
    await rename(part.path, task.path);
  } catch (error) {
    // Another process has finished and verified the same file.
    if ((await exists(part.path)) || !(await exists(task.path))) throw error;
  }
}

async function transfer(task: Download): Promise<void> {
  const source = await resume(task);
  const { from, size, sha256, validator } = source;
  const missing = (size ?? from) - from;
  if ((await task.disk.freeBytes(dirname(task.path))) < missing) {
    await source.body.cancel();
    throw noRoom(task, missing);
  }
  const file = await task.part.open(from, { url: task.url, size, sha256, validator });
  let written = from;
  const read = async (signal: AbortSignal, extend: () => void): Promise<void> => {
    const stop = (): void => void source.body.cancel().catch(() => undefined);
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const { done, value } = await source.body.read();
        if (done) break;
        extend();
        // Otherwise it could fill the disk before it is verified.
        if (written + value.length > (size ?? task.limits.unknownSizeBytes)) throw tooLong(task, source);
        await task.disk.write(file, value, written);
        written += value.length;
        report(task, written, size);
      }
      await file.sync();
    } finally {
      stop();
      await file.close();
    }
  };
  const { stallMs } = task.limits;
  try {
    await withDeadline({ what: task.fileName, deadlineMs: stallMs, signals: [task.signal] }, read);
  } catch (error) {
    if (isFull(error)) throw noRoom(task, (size ?? written) - written, error);
    // A broken connection is a TypeError of `fetch`; other errors are those of the disk.
    if (task.signal.aborted || !(MemoryError.is(error) || error instanceof TypeError)) throw error;
    const why = MemoryError.is(error)
      ? `no byte came for ${stallMs / 1000} s`
      : networkFailure(error, { url: task.url }).message;
    const what = `local: downloading ${task.fileName} from ${source.host} came to a stop (${why})`;
    const kept = `${megabytes(written)} MB are kept, and the next try goes on from there`;
    throw new EmbeddingError("transient", `${what}; ${kept}`, { cause: error });
  }
}

/** Opens the source at the end of the part, or at 0 if the part has other content. */
async function resume(task: Download): Promise<Source> {
  const { part, limits, url, token, fileName, signal } = task;
  const ask = { url, token, fileName, signal, connectMs: limits.connectMs };
  const notes = await part.notes();
  const size = await part.size();
  const canGoOn = notes?.url === url && (notes.sha256 ?? notes.validator) !== undefined;
  if (canGoOn && size > 0) {
    const validator = notes.sha256 === undefined ? notes.validator : undefined;
    const source = await openSource({ ...ask, from: size, validator });
    if (source?.from === 0) return source;
    const isSame = source?.sha256 === notes.sha256 && source?.size === notes.size;
    if (source?.from === size && isSame) return source;
    await source?.body.cancel();
  }
  const source = await openSource({ ...ask, from: 0, validator: undefined });
  if (source?.from !== 0)
    throw new EmbeddingError("transient", `local: ${new URL(url).host} did not send the beginning of ${fileName}`);
  return source;
}

async function verify(task: Download): Promise<void> {
  const { part, fileName, signal } = task;
  const notes = await part.notes();
  const size = await part.size();
  if (notes?.size !== undefined && size < notes.size) {
    const text = `local: only ${size} of ${notes.size} bytes of ${fileName} came; the next try goes on from there`;
    throw new EmbeddingError("transient", text);
  }
  const why = await faultOf(part, notes?.size, notes?.sha256, signal);
  if (why === undefined) return;
  await part.remove();
  const text = `local: what came from ${new URL(task.url).host} is not ${fileName}: ${why}. It was deleted; try again later`;
  throw new EmbeddingError("auth", text);
}

async function faultOf(
  part: PartFile,
  size: number | undefined,
  sha256: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (size !== undefined && (await part.size()) !== size)
    return `it is longer than the ${size} bytes that it should have`;
  if (sha256 !== undefined && (await part.sha256(signal)) !== sha256) return "its checksum (SHA-256) is another one";
  try {
    await readGguf(part.path);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function report({ fileName, progress }: Download, bytes: number, size: number | undefined): void {
  const completed = megabytes(bytes);
  const total = Math.max(1, size === undefined ? completed : Math.ceil(size / megabyte));
  progress({ completed: bytes === size ? total : completed, total, label: `downloading ${fileName}` });
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / megabyte);
}

function tooLong({ fileName, limits }: Download, { host, size }: Source): EmbeddingError {
  const limit =
    size === undefined ? `${megabytes(limits.unknownSizeBytes)} MB` : `the ${size} bytes that it should have`;
  return new EmbeddingError("auth", `local: ${host} sends more of ${fileName} than ${limit}; the rest was not read`);
}

function noRoom({ path, fileName }: Download, missing: number, cause?: unknown): EmbeddingError {
  const what = `local: the disk of ${dirname(path)} is full: ${fileName} needs ${Math.ceil(missing / megabyte)} MB more`;
  const action = "make room, or set agents.defaults.memorySearch.local.modelCacheDir to another folder";
  return new EmbeddingError("auth", `${what}; ${action}`, { cause });
}

function failureOf(error: unknown, { path, fileName }: Download): EmbeddingError {
  if (EmbeddingError.is(error)) return error;
  const text = `local: ${fileName} cannot be written to ${dirname(path)}: ${messageOf(error)}`;
  return new EmbeddingError("auth", text, { cause: error });
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "");
}
