import { PassThrough, Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { readQuery } from "./read-query.ts";

const never = new AbortController().signal;
const stdinOf = (...pieces: (string | Buffer)[]): NodeJS.ReadableStream => Readable.from(pieces, { objectMode: false });

async function read(
  stdin: NodeJS.ReadableStream & { isTTY?: boolean },
  words: string[],
  named?: string,
): Promise<string> {
  return readQuery({ stdin, signal: never }, { named, words });
}

describe("the query of a search", () => {
  test("is --query, else the words, and stdin is left alone then", async () => {
    const stdin = stdinOf("no");
    expect(await read(stdin, ["a", "b"])).toBe("a b");
    expect(await read(stdin, [], "--x")).toBe("--x");
    expect(await read(stdin, ["-", "b"])).toBe("- b");
    expect(stdin.readable).toBe(true);
    expect(await read(stdin, ["-"])).toBe("no");
  });

  test("comes from stdin whole, also when characters come in halves", async () => {
    const bytes = Buffer.from("\uFEFF备份 server\n");
    expect(await read(stdinOf(...[...bytes].map((byte) => Buffer.of(byte))), ["-"])).toBe("备份 server");
  });

  test("is asked for on a terminal, which is not read unless - says so", async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    await expect(read(terminal, [])).rejects.toThrow("pass a query");
    terminal.end("typed\n");
    expect(await read(terminal, ["-"])).toBe("typed");
  });

  test("is waited for no longer than the deadline, and not after an abort", async () => {
    const silent = new PassThrough();
    await expect(readQuery({ stdin: silent, signal: never }, { named: undefined, words: [] }, 20)).rejects.toThrow(
      "no query on stdin within 0.02 s",
    );
    const controller = new AbortController();
    const waiting = readQuery({ stdin: silent, signal: controller.signal }, { named: undefined, words: ["-"] });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    expect(silent.listenerCount("data")).toBe(0);
  });

  test("is not read on when it is too long: what pours in is no query", async () => {
    let given = 0;
    const endless = new Readable({
      read() {
        given++;
        this.push(given > 100 ? null : Buffer.alloc(16 * 1024, "x"));
      },
    });
    await expect(read(endless, ["-"])).rejects.toThrow("longer than 64 KiB");
    expect(given).toBeLessThan(20);
  });

  test("that cannot be read says why", async () => {
    const broken = new Readable({
      read() {
        this.destroy(new Error("EISDIR: illegal operation"));
      },
    });
    await expect(read(broken, ["-"])).rejects.toThrow("stdin cannot be read: EISDIR");
  });
});
