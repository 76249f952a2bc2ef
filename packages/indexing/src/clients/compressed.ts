import { open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { openForReading } from "../files/file-kind.ts";
import { maxLineBytes } from "../sessions/transcript-lines.ts";
import type { RecordReader } from "../sessions/transcript-record.ts";
import type { ClientFile } from "./client.ts";

/** Reads a compressed transcript line by line. One line and one block of it are held at a time. */
export function recordsOfZstd(file: string, recordOf: RecordReader): NonNullable<ClientFile["records"]> {
  return async function* records(signal) {
    const handle = await open(file, openForReading);
    const stream = pipeline(
      handle.createReadStream({ signal }),
      createZstdDecompress(),
      // Whoever reads the stream is told.
      () => undefined,
    );
    let number = 0;
    for await (const line of linesOf(stream))
      yield [++number, line === undefined ? { kind: "broken" } : recordOf(line)];
  };
}

/** Undefined stands for a line that is too long. What has no line end at the end is a line too. */
async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer | undefined> {
  let carried: Buffer[] = [];
  let length = 0;
  const take = (rest: Buffer): Buffer | undefined => {
    const line = length + rest.length > maxLineBytes ? undefined : Buffer.concat([...carried, rest]);
    [carried, length] = [[], 0];
    return line;
  };
  for await (const block of stream) {
    let at = 0;
    for (let end = block.indexOf(10); end >= 0; end = block.indexOf(10, at)) {
      yield take(block.subarray(at, end));
      at = end + 1;
    }
    length += block.length - at;
    if (length > maxLineBytes) carried = [];
    else if (at < block.length) carried.push(Buffer.from(block.subarray(at)));
  }
  if (length > 0) yield take(Buffer.alloc(0));
}
