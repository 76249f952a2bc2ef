import type { Readable } from "node:stream";

export interface LineReader {
  stream: Readable;
  /** Of one line, in characters. */
  cap: number;
  onLine(line: string): void;
  /** A line was longer than the cap. It is left out. */
  onOverflow(): void;
}

/** Reads a stream by lines. What stands behind the last line break is no line. */
export function readLines({ stream, cap, onLine, onOverflow }: LineReader): void {
  let parts: string[] = [];
  let length = 0;
  stream.setEncoding("utf8");
  stream.on("data", (data: string) => {
    const lines = data.split("\n");
    for (const [at, part] of lines.entries()) {
      parts.push(part);
      length += part.length;
      if (length > cap) {
        parts = [];
        length = 0;
        onOverflow();
      }
      if (at === lines.length - 1) break;
      const line = parts.join("").trim();
      parts = [];
      length = 0;
      if (line !== "") onLine(line);
    }
  });
  stream.on("error", () => {});
}
