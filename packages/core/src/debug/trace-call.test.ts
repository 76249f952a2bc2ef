import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { EmbeddingError } from "../contract/embedding-error.ts";
import { MemoryError } from "../contract/errors.ts";
import { channels } from "./channels.ts";
import type { SyncMessage } from "./messages.ts";
import { traceCall } from "./trace-call.ts";

/** What is published for syncs until the end of the test, in its order. */
function listen(): { event: string; message: SyncMessage }[] {
  const seen: { event: string; message: SyncMessage }[] = [];
  const tell = (event: string) => (message: SyncMessage) => void seen.push({ event, message });
  const events = ["start", "end", "error", "asyncStart", "asyncEnd"] as const;
  const handlers = Object.fromEntries(events.map((event) => [event, tell(event)])) as Record<
    (typeof events)[number],
    (message: SyncMessage) => void
  >;
  channels.sync.subscribe(handlers);
  onTestFinished(() => void channels.sync.unsubscribe(handlers));
  return seen;
}

const asked = (): SyncMessage => ({ agentId: "main", backend: "fake" });

describe("a call that nobody listens to", () => {
  test("is run and nothing else: no message is built, and the promise is its own", async () => {
    const promise = Promise.resolve(7);
    let built = 0;
    const build = (): SyncMessage => {
      built += 1;
      return asked();
    };
    const run = (tell: (facts: () => object) => void): Promise<number> => {
      tell(build);
      return promise;
    };
    const traced = traceCall("sync", build, run, build);
    expect(built).toBe(0);
    expect(traced).toBe(promise);
    expect(await traced).toBe(7);
    expect(built).toBe(0);
  });
});

describe("a call that somebody listens to", () => {
  test("is one object from beginning to end, in the order of Node's own traces", async () => {
    const seen = listen();
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
    expect(seen[0]?.message).toEqual({
      ...asked(),
      reason: "test",
      added: 3,
      outcome: "ok",
      tookMs: expect.any(Number),
    });
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
    const seen = listen();
    await expect(traceCall("sync", asked, () => Promise.reject(error))).rejects.toBe(error);
    expect(seen.map(({ event }) => event)).toEqual(["start", "end", "error", "asyncStart", "asyncEnd"]);
    expect(seen[0]?.message).toMatchObject(expected);
    expect(JSON.stringify(seen)).not.toContain("SECRET");
  });

  test("is told of as failed when it throws before it gives a promise", async () => {
    const seen = listen();
    const call = traceCall("sync", asked, () => {
      throw new MemoryError("CLOSED", "closed");
    });
    await expect(call).rejects.toThrow("closed");
    expect(seen.at(-1)).toMatchObject({ event: "asyncEnd", message: { outcome: "failed", errorCode: "CLOSED" } });
  });

  test("does not mind a listener that freezes the message, nor facts that cannot be told", async () => {
    const freeze = (message: SyncMessage): void => void Object.freeze(message);
    channels.sync.start.subscribe(freeze as never);
    onTestFinished(() => void channels.sync.start.unsubscribe(freeze as never));
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
