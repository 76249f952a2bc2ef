import { readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ProviderError, type EmbeddingFailure } from "@memslot/core";
import { tempFolder } from "@memslot/test-tools/files";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Circuit, type Pass } from "./circuit-breaker.ts";
import { SharedState } from "./shared-state.ts";
import { pass as advance, startClock, stopClock } from "./test/scripted-provider.ts";
import cases from "./test/transitions.json" with { type: "json" };

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

beforeEach(() => stopClock("2026-03-05T12:00:00Z"));
afterEach(startClock);

interface Bench {
  circuit: Circuit;
  /** A request that was sent while the circuit was closed fails. */
  fail(kind: EmbeddingFailure, retryAfterSeconds?: number): void;
  /** A request that was sent while the circuit was closed is answered. */
  answer(): void;
}

function benchIn(stateDir: string = tempFolder(), fingerprint = "f"): Bench {
  const circuit = new Circuit(new SharedState(stateDir), fingerprint);
  const earlier = Array.from({ length: 12 }, () => circuit.enter(false)).filter((pass) => pass !== undefined);
  return {
    circuit,
    fail: (kind, retryAfterSeconds) => earlier.pop()?.end(failure(kind, retryAfterSeconds)),
    answer: () => earlier.pop()?.end("answered"),
  };
}

function failure(kind: EmbeddingFailure, retryAfterSeconds?: number): ProviderError {
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * second;
  return new ProviderError(kind, `it was\n ${kind} `, { retryAfterMs });
}

/** `quota 1 in 900 s`: its kind, failed probes, and the time until the next probe. */
function stateOf(circuit: Circuit): string {
  const state = circuit.state();
  if (!state) return "closed";
  return `${state.kind} ${state.failures} in ${(Date.parse(state.nextProbeAt) - Date.now()) / second} s`;
}

function probeOf({ circuit }: Bench): Pass {
  const pass = circuit.enter(false);
  expect(pass?.isProbing()).toBe(true);
  return pass as Pass;
}

/** Each event is a list of words: what happens, and the seconds that the provider asks for. */
function happen(bench: Bench, event: string, probe: Pass | undefined): string {
  const [what, retryAfter] = event.split(" ");
  const seconds = retryAfter === undefined ? undefined : Number(retryAfter);
  if (what === "request" || what === "asked") return bench.circuit.enter(what === "asked") ? "sent, " : "denied, ";
  if (what === "answered") bench.answer();
  else if (what === "probe-answered") probe?.end("answered");
  else if (what === "probe-aborted") probe?.end();
  else if (what?.startsWith("probe-")) probe?.end(failure(what.slice(6) as EmbeddingFailure, seconds));
  else bench.fail(what as EmbeddingFailure, seconds);
  return "";
}

describe.each(Object.entries(cases))("%s", (phase, events) => {
  test.each(events as [string, string][])("%s: %s", async (event, expected) => {
    const bench = benchIn();
    if (phase === "limited") bench.fail("rate", 10);
    else if (phase !== "closed") bench.fail("quota");
    if (phase === "due" || phase === "probing") await advance(15 * minute);
    const probe = phase === "probing" ? probeOf(bench) : undefined;
    const entered = happen(bench, event, probe);
    expect(entered + stateOf(bench.circuit)).toBe(expected);
  });
});

describe("the time between probes", () => {
  test.each<[EmbeddingFailure, number | undefined, number[]]>([
    ["quota", undefined, [900, 1800, 3600, 7200, 14_400, 21_600, 21_600]],
    ["auth", undefined, [900, 1800]],
    ["rate", undefined, [5, 10, 20, 40, 60, 60]],
    ["rate", 61, [61, 61, 61]],
    ["rate", 1, [1, 5, 10, 20]],
    ["rate", 90 * 3600, [24 * 3600]],
    ["rate", Number.POSITIVE_INFINITY, [24 * 3600]],
    ["rate", Number.NaN, [5]],
  ])("%s with Retry-After %s: %j", async (kind, retryAfter, expected) => {
    const bench = benchIn();
    bench.fail(kind, retryAfter);
    for (const [index, seconds] of expected.entries()) {
      expect(stateOf(bench.circuit)).toBe(`${kind} ${index + 1} in ${seconds} s`);
      await advance(seconds * second - 1);
      expect(bench.circuit.enter(false)).toBeUndefined();
      await advance(1);
      probeOf(bench).end(failure(kind, retryAfter));
    }
  });

  test("is reported with the reason on one line and the first failure", () => {
    const { circuit, fail } = benchIn();
    fail("quota");
    expect(circuit.state()).toMatchObject({
      kind: "quota",
      reason: "it was quota",
      since: "2026-03-05T12:00:00.000Z",
      nextProbeAt: "2026-03-05T12:15:00.000Z",
      failures: 1,
    });
  });
});

test("a probe is admitted once for a minute, by all circuits of a folder, and closes it for all", async () => {
  const stateDir = tempFolder();
  const [here, there, other] = [benchIn(stateDir), benchIn(stateDir), benchIn(stateDir, "other")];
  here.fail("auth");
  expect(stateOf(other.circuit)).toBe("closed");
  await advance(15 * minute);
  probeOf(here);
  expect([here.circuit.enter(false), there.circuit.enter(false)]).toEqual([undefined, undefined]);
  await advance(minute);
  const second = probeOf(there);
  expect(here.circuit.enter(false)).toBeUndefined();
  second.end("answered");
  expect(stateOf(here.circuit)).toBe("closed");
});

describe("its file", () => {
  test("is created at the first failure, private to the owner, and remembers it for the next process", () => {
    const stateDir = tempFolder();
    const { circuit, fail } = benchIn(stateDir);
    expect([circuit.state(), readdirSync(stateDir)]).toEqual([undefined, []]);
    fail("auth");
    const folder = path.join(stateDir, "embeddings");
    expect(readdirSync(folder)).toContain("state.sqlite");
    for (const name of readdirSync(folder)) expect(statSync(path.join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(stateOf(benchIn(stateDir).circuit)).toBe("auth 1 in 900 s");
  });

  test.each<[string, (stateDir: string) => void]>([
    ["cannot be created", (stateDir) => writeFileSync(path.join(stateDir, "embeddings"), "a file")],
    ["is damaged", (stateDir) => writeFileSync(benchFile(stateDir), "no database ".repeat(100))],
  ])("that %s leaves the circuit to this process", async (_, spoil) => {
    const stateDir = tempFolder();
    spoil(stateDir);
    const bench = benchIn(stateDir);
    bench.fail("quota");
    expect(bench.circuit.enter(false)).toBeUndefined();
    await advance(15 * minute);
    probeOf(bench).end("answered");
    expect(stateOf(bench.circuit)).toBe("closed");
  });

  test("with a time that no failure can set counts as closed: the clock was wrong", async () => {
    const bench = benchIn();
    await advance(48 * hour);
    bench.fail("quota");
    stopClock("2026-03-05T12:00:00Z");
    expect(stateOf(bench.circuit)).toBe("closed");
    bench.fail("quota");
    expect(stateOf(bench.circuit)).toBe("quota 1 in 900 s");
  });
});

function benchFile(stateDir: string): string {
  const { file } = new SharedState(stateDir);
  const created = new SharedState(stateDir);
  created.fault();
  created.close();
  return file;
}
