import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { tempFolder } from "@memslot/test-tools/files";
import { listen } from "../../test/listen.ts";
import { createBudget } from "./budget.ts";
import { deskIn, failures, pass, run, scriptedProvider, stopClock } from "./test/scripted-provider.ts";

const never = new AbortController().signal;
const how = { signal: never, reason: "sync", asked: true };
const texts = ["WORDOFNOTE one", "WORDOFNOTE two"];

beforeEach(() => stopClock("2026-03-02T12:00:00Z"));
afterEach(() => void vi.useRealTimers());

describe("requests to a provider", () => {
  test("are told one by one, and what was wanted of them once", async () => {
    const [embedding, provider] = [listen("embedding"), listen("provider")];
    const { requests } = deskIn(tempFolder(), scriptedProvider({ steps: [failures.transient], says: 7 }));
    await run(requests.embed(texts, how));
    const names = { provider: "scripted", model: "m1", operation: "embedBatch", texts: 2, tookMs: expect.any(Number) };
    expect(provider).toEqual([
      { ...names, attempt: 1, outcome: "failed", errorCode: "transient" },
      { ...names, attempt: 2, outcome: "ok", tokens: 7 },
    ]);
    expect(embedding).toEqual([{ ...names, reason: "sync", outcome: "ok", dimensions: 4 }]);
    expect(JSON.stringify([embedding, provider])).not.toContain("WORDOF");
  });

  test("are told with the kind of their failure, also where none is sent", async () => {
    const [embedding, provider] = [listen("embedding"), listen("provider")];
    const { requests, usage } = deskIn(tempFolder(), scriptedProvider({ steps: [failures.auth] }));
    await run(requests.embed(texts, how));
    await run(requests.embed(texts, { ...how, asked: false }));
    const other = deskIn(tempFolder());
    await run(other.requests.embed(texts, { ...how, budget: createBudget(usage, 1) }));
    expect(embedding.map(({ errorCode }) => errorCode)).toEqual(["auth", "auth", "OVER_BUDGET"]);
    expect(provider.map(({ errorCode }) => errorCode)).toEqual(["auth"]);
  });

  test("of questions are told too, and one that is kept is asked for and not sent", async () => {
    const [embedding, provider] = [listen("embedding"), listen("provider")];
    const { requests } = deskIn(tempFolder());
    for (let time = 0; time < 2; time++)
      await run(requests.embedQuery("WORDOFQUERY", { signal: never, reason: "search" }));
    const names = { provider: "scripted", model: "m1", operation: "embedQuery", texts: 1, outcome: "ok" };
    expect(embedding).toMatchObject([names, names].map((name) => ({ ...name, reason: "search", dimensions: 4 })));
    expect(provider).toMatchObject([{ ...names, attempt: 1 }]);
    expect(JSON.stringify([embedding, provider])).not.toContain("WORDOF");
  });

  test("that are called off are told as aborted, and those that hang by their time limit", async () => {
    const [embedding, provider] = [listen("embedding"), listen("provider")];
    const { requests } = deskIn(tempFolder(), scriptedProvider({ always: "hang" }));
    const controller = new AbortController();
    const called = requests.embed(texts, { ...how, signal: controller.signal });
    const ended = called.catch(() => undefined);
    await pass(0);
    controller.abort();
    await run(ended);
    await run(requests.embed(texts, how));
    expect(provider.map(({ outcome, errorCode }) => errorCode ?? outcome)).toEqual(["aborted", "UNAVAILABLE"]);
    expect(embedding.map(({ outcome, errorCode }) => errorCode ?? outcome)).toEqual(["aborted", "transient"]);
  });
});
