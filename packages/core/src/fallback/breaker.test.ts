import { describe, expect, test } from "vitest";
import { type Admission, type Breaker, type BreakerCall, createBreaker } from "./breaker.ts";

/** A breaker whose clock stands still until it is moved; the wall shows noon plus that time. */
function breakerAt(start = 0): { breaker: Breaker; pass: (ms: number) => void } {
  let nowMs = start;
  const clock = { monotonicMs: () => nowMs, wallMs: () => Date.parse("2026-01-01T12:00:00Z") + nowMs };
  const breaker = createBreaker({ holdOffMs: 30_000, maxHoldOffMs: 600_000, clock });
  return { breaker, pass: (ms) => void (nowMs += ms) };
}

const search = { what: "search", isMain: true };
const read = { what: "readFile", isMain: false };
const sync = { what: "sync", isMain: false };

function admitted(breaker: Breaker, call: BreakerCall = search): Admission {
  const { admission } = breaker.admit(call);
  if (admission === undefined) throw new Error("the call was not admitted");
  return admission;
}

const failure = { reason: "gone", error: new Error("gone") };

describe("a breaker", () => {
  test("lets every call through while all is well, and is moved by no success", () => {
    const { breaker } = breakerAt();
    for (let call = 0; call < 3; call += 1) {
      expect(admitted(breaker).isTrial).toBe(false);
      admitted(breaker).succeeded();
    }
    expect(breaker.outage()).toBeUndefined();
  });

  test("after a failure sends calls elsewhere until the hold-off is over, and says since when and until when", () => {
    const { breaker, pass } = breakerAt();
    const outage = admitted(breaker).failed(failure);
    expect(outage).toEqual({ ...failure, since: "2026-01-01T12:00:00.000Z", retryAt: "2026-01-01T12:00:30.000Z" });
    pass(29_999);
    expect(breaker.admit(search)).toEqual({ admission: undefined, outage });
    pass(1);
    expect(admitted(breaker).isTrial).toBe(true);
  });

  test("lets one trial through at a time, and the next after that was withdrawn", () => {
    const { breaker, pass } = breakerAt();
    admitted(breaker).failed(failure);
    pass(30_000);
    const trial = admitted(breaker);
    expect(breaker.admit(search).admission).toBeUndefined();
    trial.withdrawn();
    expect(admitted(breaker).isTrial).toBe(true);
    expect(breaker.admit(search).admission).toBeUndefined();
  });

  test("doubles the hold-off with every trial that fails, up to the longest, and keeps the beginning", () => {
    const { breaker, pass } = breakerAt();
    const first = admitted(breaker).failed(failure);
    const waits: number[] = [];
    let waitMs = 30_000;
    for (let trial = 0; trial < 7; trial += 1) {
      pass(waitMs - 1);
      expect(breaker.admit(search).admission).toBeUndefined();
      pass(1);
      const before = Date.parse(breaker.outage()?.retryAt ?? "");
      const outage = admitted(breaker).failed({ reason: `try ${trial}`, error: undefined });
      expect(outage).toMatchObject({ reason: `try ${trial}`, since: first.since });
      waitMs = Date.parse(outage.retryAt) - before;
      waits.push(waitMs);
    }
    expect(waits).toEqual([60_000, 120_000, 240_000, 480_000, 600_000, 600_000, 600_000]);
  });

  test("begins with the first hold-off again after a success", () => {
    const { breaker, pass } = breakerAt();
    admitted(breaker).failed(failure);
    pass(30_000);
    admitted(breaker).failed(failure);
    pass(60_000);
    admitted(breaker).succeeded();
    expect(breaker.outage()).toBeUndefined();
    const { since, retryAt } = admitted(breaker).failed(failure);
    expect(Date.parse(retryAt) - Date.parse(since)).toBe(30_000);
  });

  test("counts calls that fail together as one failure", () => {
    const { breaker } = breakerAt();
    const calls = [admitted(breaker), admitted(breaker), admitted(breaker)];
    const outages = calls.map((call, index) => call.failed({ ...failure, reason: `call ${index}` }));
    expect(new Set(outages).size).toBe(1);
    expect(breaker.outage()?.reason).toBe("call 0");
  });

  test("is not moved by what comes late from before: neither by a success nor by a failure", () => {
    const { breaker, pass } = breakerAt();
    const [slow, slower] = [admitted(breaker), admitted(breaker)];
    admitted(breaker).failed(failure);
    slow.succeeded();
    expect(breaker.outage()).toBeDefined();
    pass(30_000);
    admitted(breaker).succeeded();
    expect(slower.failed(failure).reason).toBe("gone");
    expect(breaker.outage()).toBeUndefined();
  });

  test("is tried again by the kind of call that failed and by the main kind, and by no other", () => {
    const { breaker, pass } = breakerAt();
    admitted(breaker).failed(failure);
    pass(30_000);
    for (const call of [read, sync]) expect(breaker.admit(call).admission).toBeUndefined();
    admitted(breaker).succeeded();
    admitted(breaker, sync).failed(failure);
    pass(30_000);
    expect(breaker.admit(read).admission).toBeUndefined();
    admitted(breaker, sync).withdrawn();
    // From now on it is the search that has failed.
    admitted(breaker).failed(failure);
    pass(60_000);
    expect(breaker.admit(sync).admission).toBeUndefined();
    expect(admitted(breaker).isTrial).toBe(true);
  });

  test("can be told of an outage that no call has found", () => {
    const { breaker, pass } = breakerAt();
    breaker.trip(failure);
    expect(breaker.admit(search).admission).toBeUndefined();
    pass(30_000);
    expect(admitted(breaker, read).isTrial).toBe(true);
  });
});
