/**
 * What a file's bytes say, cut into lines as editors and `grep -n` count them: UTF-8, or UTF-16 where a byte order mark
 * says so. Bytes that are neither become U+FFFD; NUL becomes a space.
 */
export function decodeLines(bytes: Uint8Array): string[] {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  // The decoder takes the byte order mark away.
  const text = new TextDecoder(encoding).decode(bytes);
  return splitLines(withoutConnectBlock(text.includes("\0") ? text.replaceAll("\0", " ") : text));
}

/** The lines around the block that `memslot connect` writes into CLAUDE.md, AGENTS.md and GEMINI.md. */
export const connectMarkers = {
  begin: "<!-- memslot connect: begin -->",
  end: "<!-- memslot connect: end -->",
} as const;
const connectBlock = new RegExp(`^[ \\t]*${connectMarkers.begin}[^]{0,4000}?${connectMarkers.end}`, "gmu");

/** Empties the lines of that block, which is an instruction to a model and no note. */
export function withoutConnectBlock(text: string): string {
  return text.includes(connectMarkers.begin)
    ? text.replaceAll(connectBlock, (block) => block.replaceAll(/[^\r\n]/gu, ""))
    : text;
}

/** Lines end at LF or CRLF. A final line end does not begin another line. */
export function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf("\n", start);
    if (end < 0) {
      lines.push(text.slice(start));
      break;
    }
    lines.push(text.slice(start, end > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end));
    start = end + 1;
  }
  return lines;
}
