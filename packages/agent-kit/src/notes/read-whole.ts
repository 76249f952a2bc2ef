import type { FileHandle } from "node:fs/promises";

/** So many bytes from a place, the beginning if none is given, wherever the handle stands; fewer where the file has become shorter. */
export async function readWhole(handle: FileHandle, size: number, from = 0): Promise<Buffer> {
  const room = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(room, length, size - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return room.subarray(0, length);
}
