import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test } from "vitest";
import { type CallMessages, MemoryError } from "@memslot/core";
import { gate, guarded, hang, report, result } from "./support/fakes.ts";

/** Every message at the end of a call, until the end of the test. */
function listen<Name extends keyof CallMessages>(name: Name): CallMessages[Name][] {
  const seen: CallMessages[Name][] = [];
  const channel = `tracing:memslot:${name}:asyncEnd`;
  const take = (message: unknown): void => void seen.push(message as CallMessages[Name]);
  subscribe(channel, take);
  onTestFinished(() => void unsubscribe(channel, take));
  return seen;
}

const query = "what is the WORDOFQUERY";
const secret = "WORDOFNOTE";

describe("memslot:search", () => {
  test("is told once of a search, with its counts", async () => {
    const seen = listen("search");
    const memory = guarded({
      async search(_, { onDebug }) {
        onDebug(report({ state: "stale", reason: secret, legs: { keyword: { candidates: 9, kept: 1 } } }));
        return [result({ snippet: secret, path: `memory/${secret}.md` })];
      },
    });
    expect(await memory.search(query, { maxResults: 3 })).toHaveLength(1);
    expect(seen).toEqual([
      {
        agentId: "main",
        backend: "fake",
        queryLength: query.length,
        sources: ["memory", "journal"],
        maxResults: 3,
        audience: "private",
        results: 1,
        state: "stale",
        keywordCandidates: 9,
        outcome: "ok",
        tookMs: expect.any(Number),
      },
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });

  test("is told of a blank one, and of one whose plugin says nonsense of its legs", async () => {
    const seen = listen("search");
    const legs = { keyword: { candidates: secret, kept: 1 }, vector: null } as never;
    const memory = guarded({ search: async (_, { onDebug }) => (onDebug(report({ legs })), []) });
    await memory.search(" ");
    await memory.search(query);
    expect(seen).toMatchObject([
      { results: 0, state: "ok", queryLength: 1 },
      { results: 0, outcome: "ok" },
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });

  test("is told once of each failure, by its code alone", async () => {
    const seen = listen("search");
    const controller = new AbortController();
    const failing = async (): Promise<never> => {
      throw new Error(`${query} ${secret}`);
    };
    const hanging = guarded({ search: hang }, { deadlines: { searchMs: 20, closeMs: 20 } });
    const waiting = guarded({ search: hang }, { deadlines: { closeMs: 20 } });
    await guarded({ search: failing })
      .search(query)
      .catch(() => undefined);
    await hanging.search(query).catch(() => undefined);
    await hanging.search(query, { maxResults: -1 }).catch(() => undefined);
    await hanging.search(7 as never).catch(() => undefined);
    const aborted = waiting.search(query, { signal: controller.signal }).catch(() => undefined);
    controller.abort(new Error(secret));
    await aborted;
    await waiting.search(query, { signal: controller.signal }).catch(() => undefined);
    const closed = waiting.search(query).catch(() => undefined);
    await waiting.close();
    await closed;
    await waiting.search(query).catch(() => undefined);
    const ends = seen.map(({ outcome, errorCode }) => errorCode ?? outcome);
    const expected = ["PLUGIN", "UNAVAILABLE", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "aborted", "aborted"];
    expect(ends).toEqual([...expected, "CLOSED", "CLOSED"]);
    expect(seen[3]?.queryLength).toBe(0);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });

  test("gives copies: what a listener does to a message changes no search", async () => {
    const change = (message: unknown): void => {
      const { sources } = message as { sources?: string[] };
      sources?.splice(0);
    };
    subscribe("tracing:memslot:search:asyncEnd", change);
    onTestFinished(() => void unsubscribe("tracing:memslot:search:asyncEnd", change));
    const asked: (readonly string[])[] = [];
    const memory = guarded({ search: async (_, { sources }) => (asked.push(sources), []) });
    await memory.search(query);
    await memory.search(query);
    expect(asked).toEqual([
      ["memory", "journal"],
      ["memory", "journal"],
    ]);
  });
});

describe("memslot:sync", () => {
  test("is told once of each call, of those too that join another", async () => {
    const seen = listen("sync");
    const { opened, open } = gate();
    const memory = guarded({
      async sync() {
        await opened;
        const failed = [{ path: `memory/${secret}.md`, reason: secret }];
        return {
          added: 1,
          changed: 2,
          removed: 3,
          unchanged: 4,
          failed,
          pendingVectors: { chunks: 5, reason: secret },
        };
      },
    });
    const calls = [memory.sync({ reason: "first" }), memory.sync({ reason: "second", force: true }), memory.sync()];
    open();
    await Promise.all(calls);
    const counts = { added: 1, changed: 2, removed: 3, unchanged: 4, failed: 1, pendingVectors: 5, outcome: "ok" };
    expect(seen.toSorted((a, b) => String(a.reason).localeCompare(String(b.reason)))).toMatchObject([
      { reason: "application", force: false, ...counts },
      { reason: "first", force: false, ...counts },
      { reason: "second", force: true, ...counts },
    ]);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });

  test("is told once of each failure", async () => {
    const seen = listen("sync");
    const controller = new AbortController();
    const failing = guarded({ sync: () => Promise.reject(new MemoryError("BUSY", secret)) });
    await failing.sync().catch(() => undefined);
    await failing.sync({ reason: "" }).catch(() => undefined);
    const call = guarded({ sync: hang }).sync({ signal: controller.signal });
    controller.abort();
    await call.catch(() => undefined);
    expect(seen.map(({ outcome, errorCode }) => errorCode ?? outcome)).toEqual(["BUSY", "INVALID_ARGUMENT", "aborted"]);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });
});
