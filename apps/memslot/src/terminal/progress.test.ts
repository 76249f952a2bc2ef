import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import data from "../../test/data/terminal.json" with { type: "json" };
import { createProgress, reportFirstIndex } from "./progress.ts";

function inPipe(): { stderr: NodeJS.WriteStream; canRedraw: boolean; text(): string } {
  const stream = new PassThrough();
  return { stderr: stream as unknown as NodeJS.WriteStream, canRedraw: false, text: () => String(stream.read() ?? "") };
}

describe("progress on a terminal", () => {
  test("is a bar with count and time left, which is gone at the end", async () => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    // What cli-progress needs of a terminal that is no real one.
    const moves = { cursorTo: () => true, clearLine: () => true, clearScreenDown: () => true, moveCursor: () => true };
    const stderr = Object.assign(stream, moves) as unknown as NodeJS.WriteStream;
    let nowMs = 0;
    const progress = createProgress({ stderr, canRedraw: true }, "indexing", () => nowMs);
    progress.update({ completed: 0, total: 100, label: "a.md" });
    nowMs = 1000;
    progress.update({ completed: 5, total: 100, label: "a.md" });
    await vi.waitFor(() => expect(stream.readableLength).toBeGreaterThan(0));
    nowMs = 2000;
    progress.update({ completed: 20, total: 100, label: "memory/b.md" });
    progress.stop();
    const shown = String(stream.read());
    expect(shown).toMatch(/indexing =+-+ 20\/100 files, 6 s left/u);
    // oxlint-disable-next-line no-control-regex -- the cursor is shown again
    expect(shown).toMatch(/\u001B\[\?25h/u);
  });
});

test("a first index is announced within the first second, unless it has ended", () => {
  vi.useFakeTimers();
  try {
    const output = inPipe();
    reportFirstIndex(output, "/quick")();
    reportFirstIndex(output, "/notes");
    vi.advanceTimersByTime(1000);
    expect(output.text()).toBe("memslot: indexing /notes for the first time …\n");
  } finally {
    vi.useRealTimers();
  }
});

describe("progress in a pipe", () => {
  test("says nothing about a short sync", () => {
    const output = inPipe();
    const progress = createProgress(output, "indexing", () => 0);
    progress.update({ completed: 5, total: 10 });
    progress.stop();
    expect(output.text()).toBe("");
  });

  test("is a plain line now and then in a long one, and none after its end", () => {
    const output = inPipe();
    let nowMs = 0;
    const progress = createProgress(output, "indexing", () => nowMs);
    for (let completed = 0; completed <= 120; completed++) {
      progress.update({ completed, total: 120 });
      nowMs += 100;
    }
    progress.stop();
    nowMs += 60_000;
    progress.update({ completed: 120, total: 120 });
    expect(output.text()).toBe(
      "memslot: indexing: 10 of 120 files (1 s)\nmemslot: indexing: 60 of 120 files (6 s)\nmemslot: indexing: 110 of 120 files (11 s)\n",
    );
  });

  test.each(data.progress)("$name", ({ updates, shown }) => {
    const output = inPipe();
    let nowMs = 0;
    const progress = createProgress(output, "indexing", () => nowMs);
    for (const { atMs, ...update } of updates) {
      nowMs = atMs;
      progress.update(update);
    }
    expect(output.text()).toBe(shown.map((line) => `memslot: ${line}\n`).join(""));
  });
});
