import { once } from "node:events";
import { expect, test } from "vitest";
import data from "../../test/mcp/requests.json" with { type: "json" };
import { messageLines } from "./serve-stdio.ts";

type Row = [name: string, maxBytes: number, chunks: (string | Uint8Array)[], lines: string[], tooLong: number];
const snowman = [...Buffer.from("\u2603\n")].map((byte) => Uint8Array.of(byte));

test.each([...(data.lines as Row[]), ["byte by byte", 9, snowman, ["\u2603\n"], 0] satisfies Row])(
  "lines are whole, %s",
  async (_, maxBytes, chunks, lines, tooLong) => {
    let [told, passed] = [0, [] as string[]];
    const stream = messageLines(maxBytes, () => told++);
    stream.on("data", (line: Buffer) => passed.push(line.toString()));
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    await once(stream, "end");
    expect([passed, told]).toEqual([lines, tooLong]);
  },
);
