import { parseConfig } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { type FlushState, shouldFlush } from "@memslot/agent-kit";

function settingsWith(compaction: Record<string, unknown>) {
  return parseConfig({ agents: { defaults: { compaction } } }, { stateDir: "/nowhere", env: {} }).agent("main")
    .compaction;
}
const settings = settingsWith({});
const state: FlushState = { contextTokens: 0, contextWindowTokens: 200_000, compactionCount: 0 };

describe("a flush is due", () => {
  test.each([
    { contextTokens: 175_999, flush: false },
    { contextTokens: 176_000, flush: true },
    { contextTokens: 250_000, flush: true },
  ])("from the window less both figures: $contextTokens tokens, $flush", ({ contextTokens, flush }) => {
    const decision = shouldFlush({ ...state, contextTokens }, settings);
    expect(decision.flush).toBe(flush);
    expect(decision.reason).toContain("176,000");
    expect(decision.reason).toContain("200,000");
    expect(decision.reason).toContain("20,000");
    expect(decision.reason).toContain("4,000");
  });

  test.each([
    { contextWindowTokens: 8_192, due: 4_096 },
    { contextWindowTokens: 48_000, due: 24_000 },
    { contextWindowTokens: 47_999, due: 24_000 },
    { contextWindowTokens: 60_000, due: 36_000 },
  ])("at half of a small window, $contextWindowTokens: $due", ({ contextWindowTokens, due }) => {
    expect(shouldFlush({ ...state, contextWindowTokens, contextTokens: due - 1 }, settings).flush).toBe(false);
    expect(shouldFlush({ ...state, contextWindowTokens, contextTokens: due }, settings).flush).toBe(true);
  });

  test("by the size of the transcript, whatever the tokens are", () => {
    const grown = { ...state, bytesSinceCompaction: 2_097_152 };
    expect(shouldFlush(grown, settings)).toMatchObject({ flush: true, reason: expect.stringContaining("2,097,152") });
    expect(shouldFlush({ ...grown, bytesSinceCompaction: 2_097_151 }, settings).flush).toBe(false);
    expect(shouldFlush({ ...grown, contextWindowTokens: 0 }, settings).flush).toBe(true);
    const never = settingsWith({ memoryFlush: { forceFlushTranscriptBytes: 0 } });
    expect(shouldFlush(grown, never).flush).toBe(false);
  });

  test("once in each cycle, also when forced", () => {
    const full = { ...state, contextTokens: 190_000, bytesSinceCompaction: 9_000_000 };
    const flushed = shouldFlush({ ...full, compactionCount: 2, memoryFlushCompactionCount: 2 }, settings);
    expect(flushed).toMatchObject({ flush: false, reason: expect.stringContaining("already flushed in this cycle") });
    expect(shouldFlush({ ...full, compactionCount: 3, memoryFlushCompactionCount: 2 }, settings).flush).toBe(true);
    expect(shouldFlush({ ...full, compactionCount: 0 }, settings).flush).toBe(true);
  });

  test("never where it is off, or the window is not known", () => {
    const off = settingsWith({ memoryFlush: { enabled: false } });
    const full = { ...state, contextTokens: 190_000 };
    expect(shouldFlush(full, off)).toMatchObject({ flush: false, reason: expect.stringContaining("enabled is false") });
    expect(shouldFlush({ ...full, contextWindowTokens: 0 }, settings)).toMatchObject({
      flush: false,
      reason: expect.stringContaining("not known"),
    });
  });

  test("at the end of the window where nothing is to be kept free", () => {
    const none = settingsWith({ reserveTokensFloor: 0, memoryFlush: { softThresholdTokens: 0 } });
    expect(shouldFlush({ ...state, contextTokens: 199_999 }, none).flush).toBe(false);
    expect(shouldFlush({ ...state, contextTokens: 200_000 }, none).flush).toBe(true);
  });
});
