/** A prompt may hold a pasted file; more than this is none. */
const maxCharacters = 16 * 1024 * 1024;

/** All of the input, or its beginning where it is endless. Ends where the signal does. */
export async function readInput(stdin: NodeJS.ReadableStream, signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stdin) {
    signal.throwIfAborted();
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    pieces.push(bytes);
    length += bytes.length;
    if (length > maxCharacters) break;
  }
  return Buffer.concat(pieces).toString("utf8");
}
