import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { openForReading } from "../scan/open-file.ts";

/** Longer lines are skipped: no message that a person or a model wrote is that long. */
export const maxLineBytes: number = 4 * 1024 * 1024;

const blockBytes = 256 * 1024;

/** One line of a file, by its place in bytes. */
export interface TranscriptLine {
  start: number;
  /** Behind the line end. */
  end: number;
  /** Without the line end. Valid until the next lines are requested. Undefined if the line is too long. */
  bytes: Buffer | undefined;
  /** False for a last line that has no line end, so that more of it may come. */
  ended: boolean;
}

/**
 * The lines of a part of a file, several at a time; `from` is where a line begins, `longest` how many bytes one may have. Holds one block and one line, however
 * long the file and its lines are.
 */
export async function* readLines(
  handle: FileHandle,
  from: number,
  to: number,
  signal?: AbortSignal | undefined,
  longest: number = maxLineBytes,
): AsyncGenerator<TranscriptLine[]> {
  const block = Buffer.allocUnsafe(Math.max(1, Math.min(blockBytes, to - from)));
  yield* linesOf(blocks(), from, longest);

  async function* blocks(): AsyncGenerator<Buffer> {
    for (let position = from; position < to;) {
      signal?.throwIfAborted();
      const { bytesRead } = await handle.read(block, 0, Math.min(block.length, to - position), position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  }
}

/** The lines of consecutive blocks. A block may be used again once the next one is requested. */
async function* linesOf(blocks: AsyncIterable<Buffer>, from = 0, longest = maxLineBytes) {
  let carried: Buffer[] = [];
  let length = 0;
  let start = from;
  let position = from;

  const take = (end: number, rest: Buffer, ended: boolean): TranscriptLine => {
    const tooLong = length + rest.length > longest;
    const bytes = tooLong ? undefined : carried.length === 0 ? rest : Buffer.concat([...carried, rest]);
    const line = { start, end, bytes, ended };
    carried = [];
    length = 0;
    start = end;
    return line;
  };

  for await (const read of blocks) {
    const lines: TranscriptLine[] = [];
    let at = 0;
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, at)) {
      lines.push(take(position + end + 1, read.subarray(at, end), true));
      at = end + 1;
    }
    length += read.length - at;
    if (length > longest) carried = [];
    else if (at < read.length) carried.push(Buffer.from(read.subarray(at)));
    position += read.length;
    if (lines.length > 0) yield lines;
  }
  if (position > start) yield [take(position, Buffer.alloc(0), false)];
}

/** Which lines of a file are read. */
export interface LineChoice {
  signal: AbortSignal;
  /** Absent: all of them. */
  isAsked?: ((number: number) => boolean) | undefined;
  /** Lines that begin behind so many bytes are not. */
  mostBytes?: number | undefined;
}

/** The requested lines of a file, each with its number. A file that is named `.zst` is decompressed meanwhile. */
export async function* numberedLines(
  file: string,
  { signal, isAsked = () => true, mostBytes = Infinity }: LineChoice,
): AsyncGenerator<readonly [number: number, line: TranscriptLine]> {
  const handle = await open(file, openForReading);
  try {
    const lines = /\.zst$/iu.test(file)
      ? linesOf(decompressed(handle, signal))
      : readLines(handle, 0, Math.min((await handle.stat()).size, mostBytes), signal);
    let number = 0;
    for await (const several of lines) for (const line of several) if (isAsked(++number)) yield [number, line];
  } finally {
    await handle.close();
  }
}

function decompressed(handle: FileHandle, signal: AbortSignal): AsyncIterable<Buffer> {
  // The reader of the stream gets the error.
  return pipeline(handle.createReadStream({ signal }), createZstdDecompress(), () => undefined);
}
