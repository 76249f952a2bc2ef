import fs, { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { EmbeddingError, type EmbeddingFailure } from "@memslot/core";
import { describe, expect, test } from "vitest";
import { stubBuiltin } from "../../../test/support/stub-builtin.ts";
import { Circuit } from "./circuit.ts";
import { tempFolder as folder } from "@memslot/test-tools/files";
import tables from "./test/vectors.json" with { type: "json" };

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const noon = Date.parse("2026-03-05T12:00:00Z");

/** A circuit on a clock of its own, in milliseconds since noon. */
function circuitIn(
  stateDir: string,
  fingerprint = "abcdef0123456789",
): { circuit: Circuit; at: (ms: number) => Circuit } {
  let time = noon;
  const circuit = new Circuit({ stateDir, fingerprint, now: () => new Date(time) });
  return {
    circuit,
    at(ms) {
      time = noon + ms;
      return circuit;
    },
  };
}

function failure(kind: EmbeddingFailure, retryAfterMs?: number): EmbeddingError {
  return new EmbeddingError(kind, `it was ${kind}`, { retryAfterMs });
}

/** When the next probe is, in milliseconds since noon. */
function probeAt(circuit: Circuit): number {
  return Date.parse(circuit.state()?.nextProbeAt ?? "") - noon;
}

/** Takes the probe as soon as it is due and lets it fail; gives how long it was held, each time. */
function holdsOf({ circuit, at }: ReturnType<typeof circuitIn>, error: EmbeddingError, times: number): number[] {
  const holds: number[] = [];
  let time = 0;
  for (let probe = 0; probe < times; probe++) {
    expect(at(time).enter(false)).toBe(true);
    circuit.fail(error);
    holds.push(probeAt(circuit) - time);
    expect(at(probeAt(circuit) - 1).enter(false), "before its time").toBe(false);
    time = probeAt(circuit);
  }
  return holds;
}

describe("what opens it", () => {
  test("it is closed at first, and a failure of the network or of a text leaves it so", () => {
    const stateDir = folder();
    const { circuit } = circuitIn(stateDir);
    expect(circuit.enter(false)).toBe(true);
    circuit.fail(failure("transient", 5000));
    circuit.fail(failure("input"));
    expect(readdirSync(stateDir)).toEqual([]);
    expect(circuit.state()).toBeUndefined();
    expect(circuit.enter(false)).toBe(true);
  });

  test("a failure for good opens it, with reason and times, and success closes it", () => {
    const { circuit, at } = circuitIn(folder());
    circuit.fail(new EmbeddingError("quota", "nothing\n left "));
    expect(circuit.state()).toEqual(tables.openCircuit);
    expect(at(15 * minute - 1).enter(false)).toBe(false);
    expect(at(15 * minute).enter(false)).toBe(true);
    circuit.succeed();
    expect(circuit.state()).toBeUndefined();
    expect(circuit.enter(false)).toBe(true);
  });
});

describe("how long it holds", () => {
  test.each(["quota", "auth"] as const)("%s: a quarter of an hour, doubled up to six hours", (kind) => {
    const holds = holdsOf(circuitIn(folder()), failure(kind), 7);
    expect(holds.map((hold) => hold / minute)).toEqual([15, 30, 60, 120, 240, 360, 360]);
  });

  test("rate: 5 seconds, doubled up to a minute", () => {
    expect(holdsOf(circuitIn(folder()), failure("rate"), 6).map((hold) => hold / second)).toEqual([
      5, 10, 20, 40, 60, 60,
    ]);
  });

  test("rate: the time that it was told, and never less; for more than a day, a day", () => {
    expect(holdsOf(circuitIn(folder()), failure("rate", 61_000), 3)).toEqual([61_000, 61_000, 61_000]);
    expect(holdsOf(circuitIn(folder()), failure("rate", 1000), 4)).toEqual([1000, 5000, 10_000, 20_000]);
    expect(holdsOf(circuitIn(folder()), failure("rate", 90 * hour), 1)).toEqual([24 * hour]);
    expect(holdsOf(circuitIn(folder()), failure("rate", Number.POSITIVE_INFINITY), 1)).toEqual([24 * hour]);
    expect(holdsOf(circuitIn(folder()), failure("rate", Number.NaN), 1)).toEqual([5000]);
  });

  test("requests that were under way when it opened do not hold it for longer, unless they were told so", () => {
    const { circuit, at } = circuitIn(folder());
    for (let request = 0; request < 4; request++) circuit.fail(failure("quota"));
    expect(circuit.state()).toMatchObject({ failures: 1, nextProbeAt: "2026-03-05T12:15:00.000Z" });
    at(second).fail(failure("auth"));
    expect(circuit.state()).toMatchObject({ kind: "auth", failures: 1, nextProbeAt: "2026-03-05T12:15:00.000Z" });

    const limited = circuitIn(folder());
    limited.circuit.fail(failure("rate", 10_000));
    limited.circuit.fail(failure("rate", 30_000));
    limited.circuit.fail(failure("rate"));
    expect(probeAt(limited.circuit)).toBe(30_000);
  });

  test("an empty account counts for more than too many requests, until it is probed", () => {
    const { circuit, at } = circuitIn(folder());
    circuit.fail(failure("rate", 10_000));
    circuit.fail(failure("quota"));
    circuit.fail(failure("rate", 10_000));
    expect(circuit.state()).toMatchObject({ kind: "quota", failures: 1 });
    expect(at(15 * minute).enter(false)).toBe(true);
    circuit.fail(failure("rate"));
    expect(circuit.state()).toMatchObject({ kind: "rate", failures: 1, since: "2026-03-05T12:15:00.000Z" });
  });
});

describe("the probe", () => {
  test("is one caller's, for a minute, over all circuits on this folder", () => {
    const stateDir = folder();
    const [here, there] = [circuitIn(stateDir), circuitIn(stateDir)];
    here.circuit.fail(failure("auth"));
    const due = 15 * minute;
    expect(here.at(due).enter(false)).toBe(true);
    expect([here.circuit.enter(false), there.at(due).enter(false)]).toEqual([false, false]);
    expect(there.at(due + minute - 1).enter(false)).toBe(false);
    expect(there.at(due + minute).enter(false)).toBe(true);
    expect(here.at(due + minute).enter(false)).toBe(false);
    there.circuit.succeed();
    expect(here.circuit.enter(false)).toBe(true);
  });

  test("a person's is made at any time, and its failure holds nobody off for longer", () => {
    const { circuit, at } = circuitIn(folder());
    circuit.fail(failure("quota"));
    for (const time of [1, 2, 15 * minute - 1]) {
      expect(at(time).enter(true)).toBe(true);
      circuit.fail(failure("quota"));
    }
    expect(circuit.state()).toMatchObject({ failures: 1, nextProbeAt: "2026-03-05T12:15:00.000Z" });
    expect(at(15 * minute).enter(false)).toBe(true);
    expect(circuit.enter(true), "also while another probe is out").toBe(true);
  });
});

describe("its file", () => {
  const fileIn = (stateDir: string): string => {
    const circuits = path.join(stateDir, "embeddings", "circuits");
    const [name = ""] = existsSync(circuits) ? readdirSync(circuits) : [];
    return path.join(circuits, name);
  };

  test("is there only while it is open, for its owner alone, and with nothing beside it", () => {
    const stateDir = folder();
    const { circuit } = circuitIn(stateDir);
    circuit.succeed();
    expect(existsSync(path.join(stateDir, "embeddings"))).toBe(false);
    circuit.fail(failure("auth"));
    expect(path.basename(fileIn(stateDir))).toBe("abcdef0123456789.json");
    expect(statSync(fileIn(stateDir)).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(fileIn(stateDir))).mode & 0o777).toBe(0o700);
    circuit.succeed();
    expect(readdirSync(path.join(stateDir, "embeddings", "circuits"))).toEqual([]);
  });

  test("is in its folder whatever the fingerprint holds, and another fingerprint is another circuit", () => {
    const stateDir = folder();
    for (const fingerprint of ["../../evil", "a/b", "scripted m1", "", "CON", "x".repeat(500)]) {
      const { circuit } = circuitIn(stateDir, fingerprint);
      expect(circuit.state()).toBeUndefined();
      circuit.fail(failure("auth"));
      expect(circuitIn(stateDir, fingerprint).circuit.state()).toMatchObject({ kind: "auth" });
    }
    expect(readdirSync(stateDir)).toEqual(["embeddings"]);
    expect(readdirSync(path.join(stateDir, "embeddings"))).toEqual(["circuits"]);
    expect(readdirSync(path.join(stateDir, "embeddings", "circuits"))).toHaveLength(6);
  });

  test.each([
    ["half of it", (text: string) => text.slice(0, text.length / 2)],
    ["nothing", () => ""],
    ["something else", () => "[1, 2]"],
    ["another kind", (text: string) => text.replace("quota", "weather")],
    ["no time", (text: string) => text.replace(/"nextProbeAt":"[^"]*"/, '"nextProbeAt":"soon"')],
    ["no reason", (text: string) => text.replace('"reason":"it was quota"', '"reason":7')],
    ["a time that a wrong clock wrote", (text: string) => text.replace("2026-03-05T12:15", "2031-03-05T12:15")],
  ])("counts as closed when it holds %s, and is replaced", (_, damage) => {
    const stateDir = folder();
    const { circuit } = circuitIn(stateDir);
    circuit.fail(failure("quota"));
    const text = readFileSync(fileIn(stateDir), "utf8");
    expect(damage(text)).not.toBe(text);
    writeFileSync(fileIn(stateDir), damage(text));
    expect(circuit.state()).toBeUndefined();
    expect(circuit.enter(false)).toBe(true);
    circuit.fail(failure("quota"));
    expect(circuit.state()).toMatchObject({ kind: "quota", failures: 1 });
  });

  test("where it cannot be written the circuit is remembered by this process", () => {
    const stateDir = folder({ embeddings: "a file where a folder should be" });
    const { circuit, at } = circuitIn(stateDir);
    circuit.fail(failure("quota"));
    expect(circuit.state()).toMatchObject({ kind: "quota" });
    expect(at(minute).enter(false)).toBe(false);
    expect(at(15 * minute).enter(false)).toBe(true);
    expect(circuit.enter(false)).toBe(false);
    circuit.succeed();
    expect(circuit.enter(false)).toBe(true);
  });

  test("where it cannot be deleted success is remembered by this process", () => {
    const stateDir = folder();
    const { circuit } = circuitIn(stateDir);
    circuit.fail(failure("quota"));
    const restore = stubBuiltin(fs, {
      rmSync() {
        throw Object.assign(new Error("EPERM: of the test"), { code: "EPERM" });
      },
    });
    expect(circuit.state()).toMatchObject({ kind: "quota" });
    expect(circuit.enter(true)).toBe(true);
    circuit.succeed();
    expect(circuit.state()).toBeUndefined();
    expect(circuit.enter(false)).toBe(true);
    expect(existsSync(fileIn(stateDir))).toBe(true);
    restore();
    // Another process has written it anew: that counts again.
    circuitIn(stateDir).at(hour).fail(failure("auth"));
    expect(circuit.state()).toMatchObject({ kind: "auth" });
  });
});
