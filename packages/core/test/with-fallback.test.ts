import { describe, expect, test, vi } from "vitest";
import {
  type FallbackOptions,
  type ManagerSearchOptions,
  type Memory,
  MemoryError,
  type MemorySearchManager,
  type SearchReport,
  type SyncProgress,
  createMemory,
  isAbort,
  withFallback,
} from "@memslot/core";
import { type FakeManager, fakeManager, gate, hang, report, result, settings, settle } from "./support/fakes.ts";

const away = (): MemoryError => new MemoryError("UNAVAILABLE", "qmd is not installed");
const fail = async (): Promise<never> => Promise.reject(away());
/** A primary of which nothing works. */
const dead: Partial<MemorySearchManager> = {
  search: fail,
  readFile: fail,
  sync: fail,
  probeEmbeddingAvailability: fail,
  probeVectorAvailability: fail,
};

interface Pair {
  memory: Memory;
  manager: MemorySearchManager;
  primary: FakeManager;
  spare: FakeManager;
  opens: () => number;
}

function pair(
  primaryOwn: Partial<MemorySearchManager>,
  spareOwn: Partial<MemorySearchManager> = {},
  options: FallbackOptions = { holdOffMs: 600_000 },
): Pair {
  let opens = 0;
  const primary = fakeManager(primaryOwn);
  const spare = fakeManager({ status: () => ({ backend: "memory-core", provider: "none" }), ...spareOwn });
  const open = async (): Promise<MemorySearchManager> => {
    opens += 1;
    await settle();
    return spare;
  };
  const manager = withFallback({ name: "memory-qmd", manager: primary }, { name: "memory-core", open }, options);
  const memory = createMemory(manager, {
    agentId: "main",
    workspaceDir: "/notes",
    backend: "memory-qmd",
    settings: settings(),
  });
  return { memory, manager, primary, spare, opens: () => opens };
}

test("others who read along are not told what the primary said: it may name the note that it failed at", async () => {
  const sync = async (): Promise<never> =>
    Promise.reject(new MemoryError("UNAVAILABLE", "qmd update failed: EACCES, open '/notes/memory/divorce.md'"));
  const { memory } = pair({ sync });
  await memory.sync();
  const told: SearchReport[] = [];
  const ask = (sessionKey: string): Promise<unknown> =>
    memory.search("q", { sessionKey, onDebug: (given) => told.push(given) });
  await ask("agent:main:main");
  expect(JSON.stringify(told)).toContain("divorce");
  told.length = 0;
  await ask("agent:main:telegram:group:-1");
  expect(JSON.stringify(told)).not.toContain("divorce");
  expect(told[0]).toMatchObject({
    state: "degraded",
    conditions: [{ state: "degraded", reason: '"memory-qmd" is unavailable' }],
    fallback: { from: "memory-qmd", to: "memory-core" },
  });
});

/** A search straight through the manager, without the guard. */
function search(manager: MemorySearchManager, reports: SearchReport[] = []): ReturnType<MemorySearchManager["search"]> {
  const options: ManagerSearchOptions = {
    maxResults: 6,
    maxTokens: 1000,
    minScore: 0,
    strict: false,
    sources: ["memory"],
    sessionKey: undefined,
    audience: "private",
    signal: new AbortController().signal,
    onDebug: (given) => reports.push(given),
  };
  return manager.search("q", options);
}

describe("while the primary answers", () => {
  test("nothing else is opened, and its answers and reports are its own", async () => {
    const given = report({ backend: "memory-qmd" });
    const { manager, opens } = pair({
      search: async (_query, { onDebug }) => {
        onDebug(given);
        return [result({ path: "primary.md" })];
      },
    });
    const reports: SearchReport[] = [];
    await expect(search(manager, reports)).resolves.toMatchObject([{ path: "primary.md" }]);
    expect(reports).toEqual([given]);
    expect(manager.status().fallback).toBeUndefined();
    expect(opens()).toBe(0);
  });

  test.each(["PLUGIN", "PATH_NOT_ALLOWED", "CONFIG", "INVALID_ARGUMENT", "BUSY"] as const)(
    "an error %s is thrown as it is",
    async (code) => {
      const { memory, opens } = pair({ readFile: async () => Promise.reject(new MemoryError(code, "no")) });
      await expect(memory.readFile({ relPath: "a.md" })).rejects.toMatchObject({ code, message: "no" });
      expect(opens()).toBe(0);
    },
  );

  test("an abort stays an AbortError", async () => {
    const { memory, opens } = pair({ search: hang });
    const controller = new AbortController();
    const aborted = memory.search("q", { signal: controller.signal }).catch((error: unknown) => error);
    await settle();
    controller.abort();
    expect(isAbort(await aborted)).toBe(true);
    expect(opens()).toBe(0);
  });

  test("the capabilities are those of the primary, also when the spare can do more", () => {
    const capabilities = { keyword: true, vector: false, ownsIndex: false };
    expect(pair({ capabilities }).manager.capabilities).toEqual(capabilities);
  });
});

describe("when the primary is UNAVAILABLE", () => {
  test("each call is answered by the spare, which is opened once", async () => {
    const { memory, opens } = pair(dead, { search: async () => [result({ path: "spare.md" })] });
    const answers = await Promise.all([
      memory.search("q"),
      memory.search("q"),
      memory.readFile({ relPath: "a.md" }),
      memory.sync(),
      memory.probeEmbeddingAvailability(),
      memory.probeVectorAvailability(),
    ]);
    expect(answers[0]).toMatchObject([{ path: "spare.md" }]);
    expect(answers[2]).toMatchObject({ text: "text" });
    expect(answers[3]).toMatchObject({ unchanged: 0 });
    expect(answers[4]).toEqual({ ok: true });
    expect(answers[5]).toBe(true);
    expect(opens()).toBe(1);
  });

  test("the report is degraded and names both and the reason", async () => {
    const { manager } = pair(dead, {
      search: async (_query, { onDebug }) => {
        onDebug(report({ backend: "memory-core", reason: "nothing matched" }));
        return [];
      },
    });
    const reports: SearchReport[] = [];
    await search(manager, reports);
    expect(reports).toMatchObject([
      {
        backend: "memory-core",
        state: "degraded",
        fallback: { from: "memory-qmd", to: "memory-core", reason: "qmd is not installed" },
      },
    ]);
    expect(reports[0]?.reason).toBe('"memory-qmd" is unavailable: qmd is not installed; nothing matched');
  });

  test("the report is degraded also when the spare forgets its own", async () => {
    const { manager } = pair(dead);
    const reports: SearchReport[] = [];
    await search(manager, reports);
    expect(reports).toMatchObject([{ backend: "memory-core", state: "degraded", fallback: { from: "memory-qmd" } }]);
  });

  test("the report that the primary gave before it failed does not count", async () => {
    const { manager } = pair({
      search: async (_query, { onDebug }) => {
        onDebug(report({ backend: "memory-qmd" }));
        throw away();
      },
    });
    const reports: SearchReport[] = [];
    await search(manager, reports);
    expect(reports.map(({ backend }) => backend)).toEqual(["memory-core"]);
  });

  test("the status is that of the spare and carries the fallback", async () => {
    const { memory } = pair(dead);
    await memory.search("q");
    expect(memory.status()).toMatchObject({
      backend: "memory-core",
      fallback: { from: "memory-qmd", to: "memory-core", reason: "qmd is not installed" },
    });
  });

  test("a primary that hangs counts as UNAVAILABLE after its time, so that the spare can still answer", async () => {
    const { memory } = pair(
      { search: hang, readFile: hang, probeVectorAvailability: hang },
      { search: async () => [result({ path: "spare.md" })] },
      { holdOffMs: 0, searchMs: 20, readFileMs: 20, probeMs: 20 },
    );
    await expect(memory.search("q")).resolves.toMatchObject([{ path: "spare.md" }]);
    await expect(memory.readFile({ relPath: "a.md" })).resolves.toMatchObject({ text: "text" });
    await expect(memory.probeVectorAvailability()).resolves.toBe(true);
    expect(memory.status().fallback?.reason).toContain("gave no answer within 0.02 s");
  });

  test("what the spare says about the call itself is the answer", async () => {
    const { memory } = pair(dead, {
      readFile: async () => Promise.reject(new MemoryError("PATH_NOT_ALLOWED", "outside")),
    });
    await expect(memory.readFile({ relPath: "../x" })).rejects.toMatchObject({
      code: "PATH_NOT_ALLOWED",
      message: "outside",
    });
  });

  test.each([
    ["UNAVAILABLE", new MemoryError("UNAVAILABLE", "the index is locked")],
    ["an error of its own", new TypeError("the index is locked")],
  ])("and the spare fails with %s, the error names both", async (_name, error) => {
    const { memory } = pair(dead, { search: async () => Promise.reject(error) });
    const caught = await memory.search("q").catch((thrown: unknown) => thrown);
    expect(caught).toMatchObject({ code: "UNAVAILABLE" });
    for (const words of ['"memory-qmd"', "qmd is not installed", '"memory-core"', "the index is locked"])
      expect(String(caught)).toContain(words);
    expect((caught as Error).cause).toMatchObject({ errors: [{ message: "qmd is not installed" }, error] });
  });

  test("a spare that failed to open is opened again with the next call", async () => {
    let opens = 0;
    const open = async (): Promise<MemorySearchManager> => {
      opens += 1;
      if (opens === 1) throw new Error("disk full");
      return fakeManager({ search: async () => [result({ path: "spare.md" })] });
    };
    const manager = withFallback({ name: "memory-qmd", manager: fakeManager(dead) }, { name: "memory-core", open });
    await expect(search(manager)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("disk full"),
    });
    await expect(search(manager)).resolves.toMatchObject([{ path: "spare.md" }]);
    expect(opens).toBe(2);
  });

  test("a spare that hangs while it opens is given up", async () => {
    const manager = withFallback(
      { name: "memory-qmd", manager: fakeManager(dead) },
      { name: "memory-core", open: hang },
      { openMs: 20 },
    );
    await expect(search(manager)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining('opening "memory-core"'),
    });
  });
});

describe("the way back", () => {
  test("the primary is left alone for the hold-off, then tried again, and answers again", async () => {
    const now = vi.spyOn(performance, "now");
    try {
      let asked = 0;
      let works = false;
      const own = async (): Promise<[]> => {
        asked += 1;
        return works ? [] : fail();
      };
      const { memory } = pair({ search: own }, {}, { holdOffMs: 30_000 });
      now.mockReturnValue(1_000);
      await memory.search("q");
      await memory.search("q");
      now.mockReturnValue(30_999);
      await memory.search("q");
      expect(asked).toBe(1);
      expect(memory.status().fallback).toBeDefined();
      works = true;
      now.mockReturnValue(31_000);
      await memory.search("q");
      expect(asked).toBe(2);
      expect(memory.status().fallback).toBeUndefined();
      await memory.search("q");
      expect(asked).toBe(3);
    } finally {
      now.mockRestore();
    }
  });

  test("is tried by one call; the others go on to the spare meanwhile", async () => {
    const now = vi.spyOn(performance, "now");
    try {
      const answer = gate<[]>();
      let asked = 0;
      const own = async (): Promise<[]> => {
        asked += 1;
        return asked === 1 ? fail() : answer.opened;
      };
      const { memory } = pair(
        { search: own },
        { search: async () => [result({ path: "spare.md" })] },
        { holdOffMs: 1000 },
      );
      now.mockReturnValue(0);
      await memory.search("q");
      now.mockReturnValue(1000);
      const trying = memory.search("q");
      await settle();
      await expect(memory.search("q")).resolves.toMatchObject([{ path: "spare.md" }]);
      expect(asked).toBe(2);
      answer.open([]);
      await expect(trying).resolves.toEqual([]);
    } finally {
      now.mockRestore();
    }
  });

  test("a try that was aborted says nothing: the next call tries again", async () => {
    let asked = 0;
    const own = (): Promise<[]> => {
      asked += 1;
      if (asked === 1) return fail();
      return asked === 2 ? hang() : Promise.resolve([]);
    };
    const now = vi.spyOn(performance, "now");
    try {
      const { memory } = pair({ search: own }, {}, { holdOffMs: 1000 });
      now.mockReturnValue(1);
      await memory.search("q");
      now.mockReturnValue(1001);
      const controller = new AbortController();
      const aborted = memory.search("q", { signal: controller.signal }).catch(() => undefined);
      await settle();
      controller.abort();
      await aborted;
      await memory.search("q");
      expect(asked).toBe(3);
      expect(memory.status().fallback).toBeUndefined();
    } finally {
      now.mockRestore();
    }
  });

  test("is 30 s after the failure unless told otherwise", async () => {
    const now = vi.spyOn(performance, "now");
    try {
      let asked = 0;
      const own = (): Promise<never> => {
        asked += 1;
        return fail();
      };
      const { memory } = pair({ search: own }, {}, {});
      now.mockReturnValue(0);
      await memory.search("q");
      now.mockReturnValue(29_999);
      await memory.search("q");
      expect(asked).toBe(1);
      now.mockReturnValue(30_000);
      await memory.search("q");
      expect(asked).toBe(2);
    } finally {
      now.mockRestore();
    }
  });
});

describe("sync", () => {
  const done = { added: 1, changed: 0, removed: 0, unchanged: 0, failed: [] };

  test("goes to the primary alone while the spare is not open", async () => {
    let synced = 0;
    const { memory, opens } = pair(
      { sync: async () => done },
      {
        sync: async () => {
          synced += 1;
          return undefined;
        },
      },
    );
    await expect(memory.sync()).resolves.toEqual(done);
    expect([opens(), synced]).toEqual([0, 0]);
  });

  test("goes to both when the spare is open, and says whose progress it is", async () => {
    let works = false;
    const spareSyncs: string[] = [];
    const { memory } = pair(
      {
        search: async () => (works ? [] : fail()),
        sync: async ({ progress }) => {
          progress({ completed: 1, total: 1, label: "a.md" });
          return done;
        },
      },
      {
        sync: async ({ reason, progress }) => {
          spareSyncs.push(reason);
          progress({ completed: 2, total: 2 });
          return { ...done, added: 7 };
        },
      },
      { holdOffMs: 0 },
    );
    await memory.search("q");
    works = true;
    await memory.search("q");
    const seen: SyncProgress[] = [];
    await expect(memory.sync({ reason: "watch", progress: (update) => seen.push(update) })).resolves.toEqual(done);
    expect(spareSyncs).toEqual(["watch"]);
    expect(seen.map(({ label }) => label)).toEqual(["memory-qmd: a.md", "memory-core"]);
  });

  test("of the spare that fails leaves the primary's report and a notice in the status", async () => {
    let spareWorks = false;
    let works = false;
    const { memory } = pair(
      { search: async () => (works ? [] : fail()), sync: async () => done },
      { sync: async () => (spareWorks ? done : Promise.reject(new Error("disk full"))) },
      { holdOffMs: 0 },
    );
    await memory.search("q");
    works = true;
    await memory.search("q");
    await expect(memory.sync()).resolves.toEqual(done);
    expect(memory.status().custom?.notices).toEqual(['the spare "memory-core" could not be synced: disk full']);
    spareWorks = true;
    await memory.sync();
    expect(memory.status().custom?.notices).toBeUndefined();
  });

  test("of a primary without an index goes to the open spare, and says nothing about the primary", async () => {
    const own = { search: fail, sync: undefined as never };
    const { memory } = pair(own, { sync: async () => done }, { holdOffMs: 0 });
    await expect(memory.sync()).resolves.toBeUndefined();
    await memory.search("q");
    await expect(memory.sync()).resolves.toEqual(done);
    expect(memory.status().fallback).toBeDefined();
  });
});

describe("what is said of an index, or done to it", () => {
  const about = (files: number): Partial<MemorySearchManager> => ({
    estimate: async () => ({
      files,
      changedFiles: 0,
      chunks: 0,
      cachedTexts: 0,
      pendingTexts: 0,
      tokens: 0,
      requests: 0,
      provider: "none",
    }),
    check: async ({ fix }) => ({ ok: fix, findings: [{ name: "files", ok: true, message: `${files} files` }] }),
    compact: async () => ({ beforeBytes: files, afterBytes: 0 }),
    details: async () => ({
      syncs: [],
      spaces: [],
      price: { usdPerMillionTokens: files, asOf: "2026-03-05", source: "here" },
    }),
    releaseQuarantine: async () => ({ chunks: files }),
  });

  test("is about the primary while that answers, and about the spare while that does", async () => {
    const { memory, opens } = pair({ ...about(1), search: fail }, about(2));
    expect(await memory.estimate()).toMatchObject({ files: 1 });
    expect(await memory.check({ fix: true })).toMatchObject({ ok: true, findings: [{ message: "1 files" }] });
    expect(await memory.compact()).toEqual({ beforeBytes: 1, afterBytes: 0 });
    expect(await memory.details()).toMatchObject({ price: { usdPerMillionTokens: 1 } });
    expect(await memory.releaseQuarantine()).toEqual({ chunks: 1 });
    expect(opens()).toBe(0);
    await memory.search("q");
    expect(await memory.details()).toMatchObject({ price: { usdPerMillionTokens: 2 } });
    expect(await memory.releaseQuarantine()).toEqual({ chunks: 2 });
    expect(await memory.estimate()).toMatchObject({ files: 2 });
    expect(await memory.check()).toMatchObject({ ok: false, findings: [{ message: "2 files" }] });
    expect(await memory.compact()).toEqual({ beforeBytes: 2, afterBytes: 0 });
  });

  test("is nothing where the one that answers has no index of its own", async () => {
    const { memory } = pair({}, about(2));
    expect(await Promise.all([memory.estimate(), memory.check(), memory.compact()])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("close", () => {
  test("closes both when both are open", async () => {
    const { memory, primary, spare } = pair(dead);
    await memory.search("q");
    await memory.close();
    expect([primary.closed, spare.closed]).toEqual([1, 1]);
  });

  test("opens no spare to close it", async () => {
    const { memory, primary, spare, opens } = pair({});
    await memory.close();
    expect([primary.closed, spare.closed, opens()]).toEqual([1, 0, 0]);
  });

  test("waits for a spare that is about to open, and closes it", async () => {
    const opening = gate<MemorySearchManager>();
    const spare = fakeManager();
    const manager = withFallback(
      { name: "memory-qmd", manager: fakeManager(dead) },
      { name: "memory-core", open: () => opening.opened },
    );
    const searching = search(manager).catch(() => undefined);
    await settle();
    const closing = manager.close?.();
    await settle();
    opening.open(spare);
    await closing;
    await searching;
    expect(spare.closed).toBe(1);
  });

  test("closes the spare also when the primary fails to, and gives that error", async () => {
    const { memory, spare } = pair({ ...dead, close: async () => Promise.reject(new Error("still busy")) });
    await memory.search("q");
    await expect(memory.close()).rejects.toThrow("still busy");
    expect(spare.closed).toBe(1);
  });

  test("tells both errors when both fail to close", async () => {
    const close = async (): Promise<never> => Promise.reject(new Error("still busy"));
    const { memory } = pair({ ...dead, close }, { close: async () => Promise.reject(new Error("disk gone")) });
    await memory.search("q");
    await expect(memory.close()).rejects.toThrow("still busy; disk gone");
  });

  test("is the end: a late call opens no spare", async () => {
    const { manager, opens } = pair(dead);
    await manager.close?.();
    await expect(search(manager)).rejects.toMatchObject({ code: "CLOSED" });
    expect(opens()).toBe(0);
  });
});
