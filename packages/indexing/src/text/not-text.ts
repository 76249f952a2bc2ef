/** How much of the beginning of a file is looked at. */
const sampleBytes = 64 * 1024;
/** A stray NUL or a name in an old encoding makes no binary file. */
const fewStrangers = 8;
const mostStrangers = 0.2;

/**
 * Why bytes are no note: a picture under the name of a note, say, or text in an old encoding that nobody would find.
 * Undefined for UTF-8, for UTF-16 with a byte order mark, and for text with some bytes in it that are neither. NULs at
 * the end do not count: a machine that lost power leaves them behind what was written.
 */
export function whyNotText(bytes: Uint8Array): string | undefined {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isUtf16) return undefined;
  const text = new TextDecoder().decode(bytes.subarray(0, sampleBytes)).replace(/\0+$/, "");
  let strangers = 0;
  for (let index = 0; index < text.length; index++) if (isStrange(text.charCodeAt(index))) strangers++;
  if (strangers <= fewStrangers || strangers <= text.length * mostStrangers) return undefined;
  return "is not text, or not in UTF-8: save it as UTF-8, or give it another name than .md";
}

/** Control characters that no editor writes, and what takes the place of bytes that are not UTF-8. */
function isStrange(code: number): boolean {
  if (code === 0xfffd || code === 0x7f) return true;
  // Bell to carriage return are used in text now and then, and escape begins the colours of a terminal.
  return code < 32 && (code < 7 || code > 13) && code !== 27;
}
