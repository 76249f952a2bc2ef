import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type CallMessages, EmbeddingError, MemoryError } from "@memslot/core";
import { channels } from "../src/debug/channels.ts";
import { lineOf } from "../src/debug/print-calls.ts";
import { traceCall } from "../src/debug/trace-call.ts";
import { unseenCharacter } from "../src/text/visible-text.ts";
import { gate, guarded, hang, pass, rejected, report, result, stopClock } from "./support/fakes.ts";
import data from "./data/debug.json" with { type: "json" };

type SyncMessage = CallMessages["sync"];

/** Listens to a channel until the end of the test. */
function heard(channel: string, take: (message: unknown) => void): void {
  subscribe(channel, take);
  onTestFinished(() => void unsubscribe(channel, take));
}

/** Every message at the end of a call, until the end of the test. */
function listen<Name extends keyof CallMessages>(name: Name): CallMessages[Name][] {
  const seen: CallMessages[Name][] = [];
  heard(`tracing:memslot:${name}:asyncEnd`, (message) => void seen.push(message as CallMessages[Name]));
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
    expect(seen).toMatchObject(data.blankQuery);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });

  test("is told once of each failure, by its code alone", async () => {
    const seen = listen("search");
    const controller = new AbortController();
    const failing = async (): Promise<never> => {
      throw new Error(`${query} ${secret}`);
    };
    stopClock();
    const hanging = guarded({ search: hang });
    await rejected(guarded({ search: failing }).search(query));
    const late = rejected(hanging.search(query));
    await pass(30_000);
    await late;
    await rejected(hanging.search(7 as never));
    const aborted = rejected(hanging.search(query, { signal: controller.signal }));
    controller.abort(new Error(secret));
    await aborted;
    const closed = rejected(hanging.search(query));
    const closing = hanging.close();
    await closed;
    await pass(10_000);
    await closing;
    const ends = seen.map(({ outcome, errorCode }) => errorCode ?? outcome);
    expect(ends).toEqual(["PLUGIN", "UNAVAILABLE", "INVALID_ARGUMENT", "aborted", "CLOSED"]);
    expect(seen[2]?.queryLength).toBe(0);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
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
        const pendingVectors = { chunks: 5, reason: secret };
        return { added: 1, changed: 2, removed: 3, unchanged: 4, failed, pendingVectors };
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

  test("is told once of each failure, by its code alone", async () => {
    const seen = listen("sync");
    const failing = guarded({ sync: () => Promise.reject(new MemoryError("BUSY", secret)) });
    await rejected(failing.sync());
    await rejected(failing.sync({ reason: "" }));
    await rejected(failing.sync({ signal: AbortSignal.abort() }));
    expect(seen.map(({ outcome, errorCode }) => errorCode ?? outcome)).toEqual(["BUSY", "INVALID_ARGUMENT", "aborted"]);
    expect(JSON.stringify(seen)).not.toMatch(/WORDOF/u);
  });
});

/** What is published for syncs until the end of the test, in its order. */
function listenToSyncs(): { event: string; message: SyncMessage }[] {
  const seen: { event: string; message: SyncMessage }[] = [];
  const tell = (event: string) => (message: SyncMessage) => void seen.push({ event, message });
  for (const event of ["start", "end", "error", "asyncStart", "asyncEnd"])
    heard(`tracing:memslot:sync:${event}`, (message) => tell(event)(message as SyncMessage));
  return seen;
}

const asked = (): SyncMessage => ({ agentId: "main", backend: "fake" });

test("a call without a listener is run and nothing else: no message is built, and the promise is its own", () => {
  const promise = Promise.resolve(7);
  const build = vi.fn<() => SyncMessage>(asked);
  const run = (tell: (facts: () => object) => void): Promise<number> => {
    tell(build);
    return promise;
  };
  expect(traceCall("sync", build, run, build)).toBe(promise);
  expect(build).not.toHaveBeenCalled();
});

describe("a call that somebody listens to", () => {
  test("is one object from beginning to end, in the order of Node's own traces", async () => {
    const seen = listenToSyncs();
    const result = await traceCall(
      "sync",
      asked,
      async (tell) => {
        expect(seen.map(({ event }) => event)).toEqual(["start"]);
        tell(() => ({ reason: "test" }));
        await Promise.resolve();
        return 3;
      },
      (added) => ({ added }),
    );
    expect(result).toBe(3);
    expect(seen.map(({ event }) => event)).toEqual(["start", "end", "asyncStart", "asyncEnd"]);
    expect(new Set(seen.map(({ message }) => message)).size).toBe(1);
    const ended = { reason: "test", added: 3, outcome: "ok", tookMs: expect.any(Number) };
    expect(seen[0]?.message).toEqual({ ...asked(), ...ended });
  });

  test.each<[string, Error, object]>([
    ["a MemoryError", new MemoryError("BUSY", "SECRET"), { outcome: "failed", errorCode: "BUSY" }],
    ["an EmbeddingError", new EmbeddingError("rate", "SECRET"), { outcome: "failed", errorCode: "rate" }],
    ["an abort", new DOMException("SECRET", "AbortError"), { outcome: "aborted" }],
    ["a time limit", new DOMException("SECRET", "TimeoutError"), { outcome: "failed", errorCode: "TIMEOUT" }],
    ["the system", Object.assign(new Error("SECRET"), { code: "ENOSPC" }), { outcome: "failed", errorCode: "ENOSPC" }],
    ["a code that is none", Object.assign(new Error(), { code: "SECRET one" }), { errorCode: "UNKNOWN" }],
    ["any other error", new TypeError("SECRET"), { outcome: "failed", errorCode: "UNKNOWN" }],
  ])("tells %s by a code, and never by its words", async (_, error, expected) => {
    const seen = listenToSyncs();
    await expect(traceCall("sync", asked, () => Promise.reject(error))).rejects.toBe(error);
    expect(seen.map(({ event }) => event)).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    expect(seen[0]?.message).toMatchObject(expected);
    expect(JSON.stringify(seen)).not.toContain("SECRET");
  });

  test("does not mind a listener that freezes the message, nor facts that cannot be told", async () => {
    heard("tracing:memslot:sync:start", Object.freeze);
    const broken = (): never => {
      throw new Error("no facts");
    };
    const run = async (tell: (facts: () => object) => void): Promise<string> => {
      tell(broken);
      return "answer";
    };
    expect(await traceCall("sync", asked, run, broken)).toBe("answer");
    expect(await traceCall("sync", broken, run)).toBe("answer");
  });

  test("runs within what is bound to its start, so that a tracer can put one call below another", async () => {
    const storage = new AsyncLocalStorage<SyncMessage>();
    channels.sync.start.bindStore(storage as never);
    onTestFinished(() => void channels.sync.start.unbindStore(storage as never));
    const within = await traceCall("sync", asked, async () => {
      await Promise.resolve();
      return storage.getStore();
    });
    expect(within).toMatchObject(asked());
    expect(storage.getStore()).toBeUndefined();
  });
});

describe("a line", () => {
  test("shows nothing that a terminal obeys, nothing like a key, and nothing that a listener has added", () => {
    const line = lineOf("sync", data.hostile as never);
    expect(line).toBe(
      String.raw`memslot:sync ok 0.0 ms agentId=main backend="b\u{202E}\u{A}memslot:search ok" reason="after \"x\" with (set)"`,
    );
    expect(unseenCharacter(line)).toBeUndefined();
  });
});
