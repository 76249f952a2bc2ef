import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import type { EmbeddingError } from "@memslot/core";
import { replaceFileSync } from "@memslot/core/files";

/** Why a provider is left alone, and until when. */
export interface CircuitState {
  kind: "rate" | "quota" | "auth";
  /** The message of the failure, on one line. */
  reason: string;
  /** ISO 8601: when it began to fail in this way. */
  since: string;
  /** ISO 8601: one request may be made from then on. */
  nextProbeAt: string;
  /** Probes that failed one after the other, the first failure included. */
  failures: number;
}

/**
 * What is remembered of a provider's failures, by every process that shares the state folder. Open means that no request
 * is made; when its time has come one request is let through, and how that goes closes it or keeps it open for longer.
 */
export interface Circuit {
  /** Undefined while it is closed. Reads one small file. */
  state(): CircuitState | undefined;
  /**
   * True when a request may be made now: it is closed, or its probe is due and this caller has got it, for a minute.
   * One that a person has `asked` for is let through at any time, but not before the end of a rate limit.
   */
  enter(asked: boolean): boolean;
  /** Opens it, or holds it open for longer. Failures other than `rate`, `quota` and `auth` change nothing. */
  fail(error: EmbeddingError): void;
  /** Closes it. */
  succeed(): void;
}

interface StoredState extends CircuitState {
  /** ISO 8601: until then the probe is somebody's. */
  probeUntil?: string | undefined;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const firstRateHold = 5 * second;
const longestRateHold = minute;
const firstHold = 15 * minute;
const longestHold = 6 * hour;
/** A provider that wants to be left alone for longer is asked once a day. */
const longestHonoured = 24 * hour;
const probeTakes = minute;

export function openCircuit(options: {
  stateDir: string;
  fingerprint: string;
  now?: (() => Date) | undefined;
}): Circuit {
  const { stateDir, fingerprint, now = () => new Date() } = options;
  const file = path.join(stateDir, "embeddings", "circuits", `${safeName(fingerprint)}.json`);
  /** What could not be written. It counts for as long as the file is what it was then. */
  let unwritten: { instead: string | undefined; state: StoredState | undefined } | undefined;

  function read(): StoredState | undefined {
    const text = readText(file);
    if (unwritten && unwritten.instead === text) return unwritten.state;
    return text === undefined ? undefined : parse(text, now().getTime());
  }

  function keep(state: StoredState | undefined): void {
    try {
      if (state) replaceFileSync(file, `${JSON.stringify(state)}\n`);
      else rmSync(file, { force: true });
      unwritten = undefined;
    } catch {
      unwritten = { instead: readText(file), state };
    }
  }

  return {
    state() {
      const stored = read();
      if (!stored) return undefined;
      const { kind, reason, since, nextProbeAt, failures } = stored;
      return { kind, reason, since, nextProbeAt, failures };
    },

    enter(asked) {
      const state = read();
      if (!state) return true;
      const time = now().getTime();
      const isTaken = state.probeUntil !== undefined && Date.parse(state.probeUntil) > time;
      const isDue = Date.parse(state.nextProbeAt) <= time && !isTaken;
      if (!isDue && !(asked && state.kind !== "rate")) return false;
      keep({ ...state, probeUntil: new Date(time + probeTakes).toISOString() });
      return true;
    },

    fail({ kind, message, retryAfterMs }) {
      if (kind !== "rate" && kind !== "quota" && kind !== "auth") return;
      const time = now().getTime();
      const before = read();
      const heldUntil = before ? Date.parse(before.nextProbeAt) : 0;
      const told =
        retryAfterMs !== undefined && retryAfterMs >= 0 ? Math.min(retryAfterMs, longestHonoured) : undefined;
      const reason = message.replaceAll(/\s+/g, " ").trim().slice(0, 500);
      if (before && heldUntil > time && (before.kind === "rate") === (kind === "rate")) {
        // Sent before it opened, or asked for by a person: no probe, so it holds nobody off for longer than was said.
        const nextProbeAt = new Date(Math.max(heldUntil, time + (told ?? 0))).toISOString();
        return keep({ ...before, kind, reason, nextProbeAt, probeUntil: undefined });
      }
      // Too many requests are the smaller trouble of an account with nothing left.
      if (before && heldUntil > time && kind === "rate") return;
      const failures = before?.kind === kind ? before.failures + 1 : 1;
      keep({
        kind,
        reason,
        since: before?.kind === kind ? before.since : new Date(time).toISOString(),
        nextProbeAt: new Date(time + hold(kind, failures, told)).toISOString(),
        failures,
      });
    },

    succeed() {
      if (read()) keep(undefined);
    },
  };
}

/** Milliseconds until the next probe. `told` is what the other side asks for. */
function hold(kind: CircuitState["kind"], failures: number, told: number | undefined): number {
  if (kind !== "rate") return Math.max(Math.min(firstHold * 2 ** (failures - 1), longestHold), told ?? 0);
  const backoff = (steps: number): number =>
    steps < 1 ? 0 : Math.min(firstRateHold * 2 ** (steps - 1), longestRateHold);
  // The first time it is believed; one that goes on refusing after the time it named is asked ever more rarely.
  return told === undefined ? backoff(failures) : Math.max(told, backoff(failures - 1));
}

function parse(text: string, time: number): StoredState | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const state = value as StoredState;
    const isWhole =
      ["rate", "quota", "auth"].includes(state.kind) &&
      typeof state.reason === "string" &&
      Number.isFinite(Date.parse(state.since)) &&
      Number.isInteger(state.failures) &&
      // Later than any failure can hold it: the clock was wrong when it was written.
      Date.parse(state.nextProbeAt) <= time + longestHonoured;
    return isWhole ? state : undefined;
  } catch {
    return undefined;
  }
}

/** A fingerprint that is a hash stays readable; any other text becomes one. */
function safeName(fingerprint: string): string {
  if (/^[0-9a-f]{8,64}$/.test(fingerprint)) return fingerprint;
  return createHash("sha256").update(fingerprint).digest("hex").slice(0, 32);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
