import { describe, expect, onTestFinished, test } from "vitest";
import { unseenCharacter } from "../text/visible-text.ts";
import { channelNames, channels } from "./channels.ts";
import { lineOf, printCalls } from "./print-calls.ts";

/** Which channels are printed, and what was said, when the variable holds `value`. */
function printing(value: string | undefined): { names: string[]; said: string[] } {
  const said: string[] = [];
  onTestFinished(() => printCalls({}, () => undefined));
  printCalls({ MEMSLOT_DEBUG: value }, (line) => said.push(line));
  return { names: channelNames.filter((name) => channels[name].hasSubscribers), said };
}

describe("MEMSLOT_DEBUG", () => {
  test.each([
    [undefined, []],
    [" ", []],
    ["search", ["search"]],
    ["search,sync", ["search", "sync"]],
    [" search, store ,", ["search", "store"]],
    ["*", [...channelNames]],
  ])("%j prints %j", (value, names) => {
    expect(printing(value)).toEqual({ names, said: [] });
  });

  test("says what is no channel and which there are, in one line, and prints the others", () => {
    expect(printing("serach,sync,\u001B[2Jall")).toEqual({
      names: ["sync"],
      said: [
        String.raw`MEMSLOT_DEBUG: "serach", "\u{1B}[2Jall" are no channels; known are search, sync, embedding, store, provider, and * for all, with commas between them`,
      ],
    });
    expect(printing("Search").said[0]).toContain('"Search" is no channel;');
  });

  test("is followed when it changes, and nothing is printed twice", () => {
    printing("search");
    printing("search");
    expect(printing("sync").names).toEqual(["sync"]);
    expect(printing(undefined).names).toEqual([]);
  });
});

describe("a line", () => {
  test("holds outcome, time and what is known, in one order", () => {
    const line = lineOf("search", {
      results: 4,
      queryLength: 23,
      agentId: "main",
      backend: "memory-core",
      sources: ["memory", "sessions"],
      state: "ok",
      outcome: "ok",
      tookMs: 12.345,
    });
    expect(line).toBe(
      "memslot:search ok 12.3 ms agentId=main backend=memory-core queryLength=23 sources=memory,sessions results=4 state=ok",
    );
    const failed = {
      agentId: "main",
      backend: "it",
      operation: "stats",
      outcome: "failed",
      errorCode: "ENOSPC",
    } as const;
    expect(lineOf("store", failed)).toBe("memslot:store failed ENOSPC 0.0 ms operation=stats agentId=main backend=it");
  });

  test("shows nothing that a terminal obeys, nothing like a key, and nothing that a listener has added", () => {
    const line = lineOf("sync", {
      agentId: "main",
      backend: "b\u202E\nmemslot:search ok",
      reason: 'after "x" with sk-abcdefghij123456',
      outcome: "ok",
      span: "of a tracer",
    } as never);
    expect(line).toBe(
      String.raw`memslot:sync ok 0.0 ms agentId=main backend="b\u{202E}\u{A}memslot:search ok" reason="after \"x\" with (set)"`,
    );
    expect(unseenCharacter(line)).toBeUndefined();
  });
});
