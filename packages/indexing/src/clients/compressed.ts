import { open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { openForReading } from "../files/file-kind.ts";
import { linesOf } from "../sessions/transcript-lines.ts";
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
    for await (const lines of linesOf(stream))
      for (const { bytes } of lines) yield [++number, bytes === undefined ? { kind: "broken" } : recordOf(bytes)];
  };
}
