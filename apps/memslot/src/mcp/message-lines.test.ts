import { once } from "node:events";
import { expect, test } from "vitest";
import { messageLines } from "./serve-stdio.ts";

async function passed(maxBytes: number, chunks: readonly string[]): Promise<{ lines: string[]; tooLong: number }> {
  let tooLong = 0;
  const stream = messageLines(maxBytes, () => tooLong++);
  const lines: string[] = [];
  stream.on("data", (line: Buffer) => lines.push(line.toString()));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await once(stream, "end");
  return { lines, tooLong };
}

test("lines are whole, however the bytes come", async () => {
  expect(await passed(9, ["a", "b\nc", "d\n", "e\nf\n\n"])).toEqual({
    lines: ["ab\n", "cd\n", "e\n", "f\n", "\n"],
    tooLong: 0,
  });
  const snowman = Buffer.from("☃\n");
  const stream = messageLines(9, () => undefined);
  const parts: string[] = [];
  stream.on("data", (line: Buffer) => parts.push(line.toString()));
  for (const byte of snowman) stream.write(Uint8Array.of(byte));
  stream.end();
  await once(stream, "end");
  expect(parts).toEqual(["☃\n"]);
});

test("a line that is too long is left out, told once, and those around it are passed on", async () => {
  expect(await passed(5, ["1234\n", "12345\n", "ok\n"])).toEqual({ lines: ["1234\n", "ok\n"], tooLong: 1 });
  expect(await passed(5, ["a\n123", "45", "6789", "0\nb", "\n"])).toEqual({ lines: ["a\n", "b\n"], tooLong: 1 });
  expect(await passed(5, ["123456\n123456\nb\n"])).toEqual({ lines: ["b\n"], tooLong: 2 });
});

test("what has no end of line is no message", async () => {
  expect(await passed(9, ["a\nb"])).toEqual({ lines: ["a\n"], tooLong: 0 });
});
