import { describe, expect, test } from "vitest";
import {
  type CompactReport,
  type IndexCheck,
  type IndexDetails,
  type MemorySearchManager,
  type QuarantineRelease,
} from "@memslot/core";
import { guarded } from "./support/fakes.ts";

const good: IndexCheck = { ok: true, findings: [{ name: "files", ok: true, message: "3 files" }] };

describe("check", () => {
  test("looks only, unless it is told to mend", async () => {
    const seen: boolean[] = [];
    const check: MemorySearchManager["check"] = async ({ fix, signal }) => {
      expect(signal).toBeInstanceOf(AbortSignal);
      seen.push(fix);
      return good;
    };
    const memory = guarded({ check });
    expect(await memory.check()).toEqual(good);
    expect(await memory.check({ fix: true })).toEqual(good);
    expect(seen).toEqual([false, true]);
  });

  test("is undefined where the manager cannot tell", async () => {
    expect(await guarded().check()).toBeUndefined();
    expect(await guarded({ check: async () => undefined }).check()).toBeUndefined();
  });

  test.each([
    [null, "gave null where an object is wanted"],
    [{ findings: [] }, '"ok" must be true or false'],
    [{ ok: true }, '"findings" must be a list'],
  ])("%j of a manager is refused by name", async (given, words) => {
    const memory = guarded({ check: async () => given as unknown as IndexCheck });
    await expect(memory.check()).rejects.toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
  });

  test("that throws names the plugin", async () => {
    const memory = guarded({ check: async () => Promise.reject(new Error("torn page")) });
    await expect(memory.check()).rejects.toThrow('memory plugin "fake" failed in check: torn page');
  });
});

describe("compact", () => {
  test("gives the figures of the manager, and undefined where there is nothing to give back", async () => {
    const report: CompactReport = { beforeBytes: 9, afterBytes: 4 };
    expect(await guarded({ compact: async () => report }).compact()).toEqual(report);
    expect(await guarded().compact()).toBeUndefined();
    expect(await guarded({ compact: async () => undefined }).compact()).toBeUndefined();
  });

  test.each([
    [5, "gave 5 where an object is wanted"],
    [{ beforeBytes: -1, afterBytes: 0 }, '"beforeBytes" must be a whole number, 0 or more, not -1'],
    [{ beforeBytes: 1 }, '"afterBytes" must be a whole number, 0 or more, not undefined'],
  ])("%j of a manager is refused by name", async (given, words) => {
    const memory = guarded({ compact: async () => given as unknown as CompactReport });
    await expect(memory.compact()).rejects.toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
  });
});

describe("details", () => {
  const details: IndexDetails = {
    syncs: [{ reason: "cli", finishedAt: "2026-03-05T09:00:00Z", durationMs: 3 }],
    spaces: [],
  };

  test("are those of the manager, and undefined where it cannot tell", async () => {
    expect(await guarded({ details: async () => details }).details()).toEqual(details);
    expect(await guarded().details()).toBeUndefined();
    expect(await guarded({ details: async () => undefined }).details()).toBeUndefined();
  });

  test.each([
    [5, "gave 5 where an object is wanted"],
    [{ syncs: {}, spaces: [] }, '"syncs" must be a list'],
    [{ syncs: [] }, '"spaces" must be a list'],
  ])("%j of a manager is refused by name", async (given, words) => {
    const memory = guarded({ details: async () => given as unknown as IndexDetails });
    await expect(memory.details()).rejects.toMatchObject({ code: "PLUGIN", message: expect.stringContaining(words) });
  });
});

describe("releaseQuarantine", () => {
  test("says how many there were, and undefined where nothing is kept", async () => {
    expect(await guarded({ releaseQuarantine: async () => ({ chunks: 2 }) }).releaseQuarantine()).toEqual({
      chunks: 2,
    });
    expect(await guarded().releaseQuarantine()).toBeUndefined();
  });

  test("that gives no count is refused by name", async () => {
    const memory = guarded({ releaseQuarantine: async () => ({}) as unknown as QuarantineRelease });
    await expect(memory.releaseQuarantine()).rejects.toThrow(
      '"chunks" must be a whole number, 0 or more, not undefined',
    );
  });
});

test.each(["check", "compact", "details", "releaseQuarantine"] as const)(
  "a manager whose %s is no function is refused",
  (method) => {
    expect(() => guarded({ [method]: true } as object)).toThrow(`"${method}" must be a function, not true`);
  },
);
