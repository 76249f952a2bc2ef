import type { FileHandle } from "node:fs/promises";

/** A longer line is passed over: no message that anybody wrote or read is that long. */
export const maxLineBytes: number = 4 * 1024 * 1024;

const blockBytes = 256 * 1024;

/** One line of a file, by its place in bytes. */
export interface TranscriptLine {
  start: number;
  /** Behind the line end. */
  end: number;
  /** Without the line end. Good until the next lines are asked for. Undefined where the line is too long. */
  bytes: Buffer | undefined;
  /** False for a last line that has no line end, so that more of it may come. */
  ended: boolean;
}

/**
 * The lines of a part of a file, several at a time; `from` is where a line begins. Holds one block and one line, however
 * long the file and its lines are.
 */
export async function* readLines(
  handle: FileHandle,
  from: number,
  to: number,
  signal: AbortSignal,
): AsyncGenerator<TranscriptLine[]> {
  const block = Buffer.allocUnsafe(Math.max(1, Math.min(blockBytes, to - from)));
  let carried: Buffer[] = [];
  let length = 0;
  let start = from;
  let position = from;

  const take = (end: number, rest: Buffer, ended: boolean): TranscriptLine => {
    const tooLong = length + rest.length > maxLineBytes;
    const bytes = tooLong ? undefined : carried.length === 0 ? rest : Buffer.concat([...carried, rest]);
    const line = { start, end, bytes, ended };
    carried = [];
    length = 0;
    start = end;
    return line;
  };

  while (position < to) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(block, 0, Math.min(block.length, to - position), position);
    if (bytesRead === 0) break;
    const read = block.subarray(0, bytesRead);
    const lines: TranscriptLine[] = [];
    let at = 0;
    for (let end = read.indexOf(10); end >= 0; end = read.indexOf(10, at)) {
      lines.push(take(position + end + 1, read.subarray(at, end), true));
      at = end + 1;
    }
    length += bytesRead - at;
    if (length > maxLineBytes) carried = [];
    else if (at < bytesRead) carried.push(Buffer.from(read.subarray(at)));
    position += bytesRead;
    if (lines.length > 0) yield lines;
  }
  if (position > start) {
    // What was carried is the whole of it; `length` says whether it is too long.
    const tooLong = length > maxLineBytes;
    yield [{ start, end: position, bytes: tooLong ? undefined : Buffer.concat(carried), ended: false }];
  }
}
