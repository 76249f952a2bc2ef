import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { never } from "../../../test/support/context.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";
import {
  type Desk,
  type Outcome,
  deskIn,
  failures,
  pass,
  rateLimit,
  run,
  scriptedProvider,
  stopClock,
} from "./test/scripted-provider.ts";

const minute = 60_000;

beforeEach(() => stopClock("2026-03-05T12:00:00"));
afterEach(() => void vi.useRealTimers());

function fill({ requests }: Desk, signal = never): Promise<Outcome<Float32Array[]>> {
  return run(requests.embed(["one", "two"], { signal, reason: "watch", asked: false }));
}

function query({ requests }: Desk, text = "q"): Promise<Outcome<Float32Array>> {
  return run(requests.embedQuery(text, { signal: never, reason: "search" }));
}

/** A circuit that a failure for good has opened, at the time of its probe. */
async function deskAtProbe(): Promise<Desk> {
  const desk = deskIn(folder(), undefined, 120_000);
  desk.circuit.fail(failures.quota);
  await pass(15 * minute);
  return desk;
}

describe("the first request", () => {
  test("goes alone, and the others follow together when it was answered", async () => {
    const desk = deskIn(folder(), scriptedProvider({ always: 500 }));
    const calls = [fill(desk), fill(desk), query(desk), fill(desk)];
    await pass(400);
    expect(desk.provider.sent).toHaveLength(1);
    await pass(200);
    expect(desk.provider.sent).toHaveLength(4);
    for (const call of calls) expect((await call).error).toBeUndefined();
  });

  test("is waited for no longer than two seconds", async () => {
    const desk = deskIn(folder(), scriptedProvider({ steps: [15_000] }));
    const first = fill(desk);
    await pass(1000);
    expect(await query(desk)).toMatchObject({ error: undefined, tookMs: 1000 });
    expect(await query(desk, "next"), "now it is known to answer").toMatchObject({ error: undefined, tookMs: 0 });
    expect((await first).tookMs).toBe(15_000);
  });

  test("is waited for no longer when it is aborted", async () => {
    const desk = deskIn(folder(), scriptedProvider({ steps: ["hang"] }));
    const controller = new AbortController();
    const first = fill(desk, controller.signal);
    const second = fill(desk);
    await pass(100);
    controller.abort();
    const { error, tookMs } = await second;
    expect(error).toBeUndefined();
    expect(tookMs).toBeLessThanOrEqual(200);
    await first;
  });

  test("is not waited for by who may not ask at all", async () => {
    const stateDir = folder();
    const provider = scriptedProvider({ always: "hang" });
    const [desk, other] = [deskIn(stateDir, provider), deskIn(stateDir, provider)];
    const first = fill(desk);
    await pass(100);
    other.circuit.fail(failures.auth);
    expect(await query(desk)).toMatchObject({ error: { kind: "auth" }, tookMs: 0 });
    expect(provider.sent).toHaveLength(1);
    await first;
  });
});

describe("a probe", () => {
  test("is made again after a transient failure, by the same call", async () => {
    const desk = await deskAtProbe();
    desk.provider.steps = [failures.transient, failures.transient];
    expect((await fill(desk)).value).toHaveLength(2);
    expect(desk.provider.sent).toHaveLength(3);
    expect(desk.circuit.state()).toBeUndefined();
  });

  test("that found out nothing leaves the circuit as it was, for a minute", async () => {
    const desk = await deskAtProbe();
    desk.provider.always = failures.transient;
    const [probe, beside] = await Promise.all([fill(desk), fill(desk)]);
    expect(probe.error).toBe(failures.transient);
    expect(beside.error).toMatchObject({ kind: "quota" });
    expect(desk.provider.sent).toHaveLength(4);
    desk.provider.always = "ok";
    expect((await query(desk)).error).toMatchObject({
      kind: "quota",
      message: `${failures.quota.message}; it is being tried again just now`,
      retryAfterMs: 0,
    });
    await pass(minute);
    expect((await query(desk)).value).toBeDefined();
  });

  test("that takes more than a minute is followed by another, which the next ones wait for", async () => {
    const desk = await deskAtProbe();
    desk.provider.steps = ["hang", 30_000];
    const controller = new AbortController();
    const first = fill(desk, controller.signal);
    await pass(1000);
    const second = fill(desk);
    await pass(minute - 2000);
    expect(desk.provider.sent).toHaveLength(1);
    await pass(1100);
    expect(desk.provider.sent).toHaveLength(2);
    controller.abort();
    await first;
    expect((await fill(desk)).value).toHaveLength(2);
    expect((await second).value).toHaveLength(2);
  });

  test("that is aborted is waited for no longer", async () => {
    const desk = await deskAtProbe();
    desk.provider.steps = ["hang"];
    const controller = new AbortController();
    const first = fill(desk, controller.signal);
    const second = fill(desk);
    await pass(100);
    controller.abort();
    const { error, tookMs } = await second;
    expect(error).toMatchObject({ kind: "quota" });
    expect(tookMs).toBeLessThanOrEqual(200);
    await first;
  });
});

test("an attempt is not repeated when another process has meanwhile learnt that nothing is left", async () => {
  const stateDir = folder();
  const [desk, other] = [deskIn(stateDir), deskIn(stateDir)];
  desk.provider.steps = [failures.transient];
  const call = fill(desk);
  await pass(100);
  other.circuit.fail(failures.quota);
  expect((await call).error).toMatchObject({ kind: "quota" });
  expect(desk.provider.sent).toHaveLength(1);
});

test("a call waits for a rate limit with others, but not when they have gone on", async () => {
  const desk = deskIn(folder());
  desk.provider.steps = [rateLimit(5000)];
  expect((await fill(desk)).value).toHaveLength(2);
  desk.provider.steps = [rateLimit(5000)];
  expect((await query(desk)).error).toMatchObject({ kind: "rate" });
  expect(await fill(desk)).toMatchObject({ error: { kind: "rate" }, tookMs: 0 });
});
