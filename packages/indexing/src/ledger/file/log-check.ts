import { closeSync, openSync, readSync } from "node:fs";

const headerBytes = 32;
const frameHeaderBytes = 24;
/**
 * False where a page in the log of a database is not what was written. SQLite compares the checksums in it only when it
 * takes a log over from a process that has died: one that is damaged while it is in use is read as it is. `countFrames`:
 * how many of its frames count now, as a connection knows it.
 */
export function isLogSound(path: string, countFrames: () => number): boolean {
  const expected = countFrames();
  if (expected <= 0) return true;
  const file = openIfThere(`${path}-wal`);
  if (file === undefined) return true;
  try {
    const header = readHeader(file);
    if (soundFrames(file, header, expected) >= expected) return true;
    // It was begun anew meanwhile.
    return countFrames() !== expected || !readHeader(file).equals(header);
  } finally {
    // Of the log alone: SQLite keeps no locks on it. On the files beside it they would go with this.
    closeSync(file);
  }
}

function readHeader(file: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  return header.subarray(0, readSync(file, header, 0, headerBytes, 0));
}

/** How many frames from the beginning have the salt and the checksum that they should have. */
function soundFrames(file: number, header: Buffer, most: number): number {
  if (header.length < headerBytes) return 0;
  const salt = header.subarray(16, 24);
  const isBigEndian = (header.readUInt32BE(0) & 1) === 1;
  const pageBytes = header.readUInt32BE(8);
  let sums = checksum(header.subarray(0, 24), isBigEndian, [0, 0]);
  if (sums[0] !== header.readUInt32BE(24) || sums[1] !== header.readUInt32BE(28)) return 0;
  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  for (let count = 0; count < most; count++) {
    const at = headerBytes + count * frame.length;
    if (readSync(file, frame, 0, frame.length, at) < frame.length) return count;
    if (!frame.subarray(8, 16).equals(salt)) return count;
    sums = checksum(frame.subarray(0, 8), isBigEndian, sums);
    sums = checksum(frame.subarray(frameHeaderBytes), isBigEndian, sums);
    if (sums[0] !== frame.readUInt32BE(16) || sums[1] !== frame.readUInt32BE(20)) return count;
  }
  return most;
}

/** The checksum of SQLite's log, which goes on from one frame to the next. */
function checksum(bytes: Buffer, isBigEndian: boolean, from: readonly [number, number]): [number, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [first, second] = from;
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + view.getUint32(at, !isBigEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, !isBigEndian) + first) >>> 0;
  }
  return [first, second];
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}
