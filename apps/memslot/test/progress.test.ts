import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createProgress } from "../src/progress.ts";

function inPipe(): { stderr: NodeJS.WriteStream; canRedraw: boolean; text(): string } {
  const stream = new PassThrough();
  return { stderr: stream as unknown as NodeJS.WriteStream, canRedraw: false, text: () => String(stream.read() ?? "") };
}

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
});
