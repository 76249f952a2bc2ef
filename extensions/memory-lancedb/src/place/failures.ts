import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import data from "../data/fault-signs.json" with { type: "json" };
import { type LanceOptions, optionKey } from "./address.ts";

export interface PlaceErrors {
  name: string;
  patience: string;
  /** The error to throw in place of an error of LanceDB. Absent: the same. */
  of?(error: unknown, what: string): unknown;
}

type Fault = "region" | "bucket" | "keys" | "reach";

/** LanceDB and storage messages by fault, in order. A missing table or file (`null`) is no fault of the place. */
const signs = (data as [Fault | null, string][]).map(([fault, words]) => [fault, new RegExp(words, "i")] as const);

export function faultOf(message: string): Fault | undefined {
  return signs.find(([, sign]) => sign.test(message))?.[0] ?? undefined;
}

/** The remote place in messages: its name, what it is (`the bucket`), and the options that name it and hold its keys. */
interface RemoteErrorsInput {
  name: string;
  noun: string;
  place: string;
  keys: string;
  lance: LanceOptions;
}

export function remoteErrors({ name, noun, place, keys, lance }: RemoteErrorsInput): PlaceErrors {
  const texts: Record<Fault, string> = {
    region: `${name} is in another region; set ${optionKey("storageOptions.region")} to the region of ${noun}`,
    bucket: `${noun} of ${name} does not exist; create it, or correct ${optionKey(place)}`,
    keys: `${name} refuses access with these keys, or there are none; check ${optionKey(keys)}, and that they may read, write, list and delete there`,
    reach: `${name} cannot be reached; check the network and ${optionKey(place)}, and try again`,
  };
  return {
    name,
    patience: `check the network, and whether ${noun} answers; then try again`,
    of(error, what) {
      const message = messageOf(error);
      const fault = faultOf(message);
      const safe = redacted(message, lance);
      if (fault === undefined) return safe === message ? error : new Error(safe);
      // LanceDB repeats the same error for each of its layers.
      const cause = new Error(safe.length <= 600 ? safe : `${safe.slice(0, 600)}…`);
      return new MemoryError("UNAVAILABLE", `${what}: ${texts[fault]}`, { cause });
    },
  };
}

const secretName = /key|secret|token|sas|signature|password|credential|account|auth|bearer/i;
const awsKeyId = /\b(?:AKIA|ASIA)[A-Z\d]{12,}\b/g;

/** Replaces the secrets of the options in a text, and user names and queries of addresses. */
function redacted(text: string, { storageOptions = {}, apiKey = "" }: LanceOptions): string {
  const secrets = Object.entries(storageOptions)
    .filter(([name, value]) => secretName.test(name) && typeof value === "string" && value.length > 3)
    .map(([, value]) => value);
  let result = text;
  for (const secret of [...secrets, apiKey].toSorted((a, b) => b.length - a.length))
    if (secret !== "") result = result.replaceAll(secret, "(set)").replaceAll(encodeURIComponent(secret), "(set)");
  return result
    .replaceAll(awsKeyId, "(set)")
    .replaceAll(/([a-z][a-z\d+.-]*:\/\/)[^\s/?#@]*@/gi, "$1(set)@")
    .replaceAll(/([a-z][a-z\d+.-]*:\/\/[^\s?#"'<>]*)\?[^\s"'<>]*/gi, "$1");
}

/**
 * Runs a call to LanceDB, which takes no signal: an abort or a deadline ends only the wait. Faults of the place become
 * `UNAVAILABLE`; other errors are rethrown without keys. `what`: "searching the index".
 */
export type Within = <T>(
  what: string,
  deadlineMs: number,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
) => Promise<T>;

export function createWithin(errors: PlaceErrors): Within {
  return async (what, deadlineMs, signal, call) => {
    const limits = { what: `${what} in ${errors.name}`, deadlineMs, signals: [signal], action: errors.patience };
    try {
      return await withDeadline(limits, () => call());
    } catch (error) {
      if (isAbort(error) || MemoryError.is(error)) throw error;
      throw errors.of?.(error, what) ?? error;
    }
  };
}

interface Task<Result> {
  what: string;
  deadlineMs: number;
  signal?: AbortSignal | undefined;
  /** The answer reports what is lost, so the call may be answered by an index that was just emptied. */
  isListing?: boolean;
  forget(): void;
  call(): Promise<Result>;
}

/** Runs a call in time, once more if another process has deleted what it reads. Throws a `MemoryError` or `AbortError`. */
export type Run = <Result>(task: Task<Result>) => Promise<Result>;

export function createRun({ within, location }: { within: Within; location: string }): Run {
  return async ({ what, deadlineMs, signal, forget, call }) => {
    try {
      return await within(what, deadlineMs, signal, () =>
        call().catch((error: unknown) => {
          if (MemoryError.is(error) || !isGone(error)) throw error;
          forget();
          return call();
        }),
      );
    } catch (error) {
      throw toStoreError(error, location);
    }
  };
}

export function isConflict(error: unknown): boolean {
  // Of two processes that create a table at once, the later one replaces the table of the other.
  return /commit conflict|conflicted with|concurrent|preempted|too many attempts|does not match existing table schema/i.test(
    messageOf(error),
  );
}

export function isGone(error: unknown): boolean {
  return /not found|no such file/i.test(messageOf(error));
}

function toStoreError(error: unknown, location: string): Error {
  if (MemoryError.is(error) || isAbort(error)) return error as Error;
  const reason = reasonOf(error);
  if (isConflict(error)) {
    const message = `other processes write to the index ${location} all the time (${reason}); try again in a moment`;
    return new MemoryError("BUSY", message, { cause: error });
  }
  return new MemoryError("UNAVAILABLE", `the index ${location} ${adviceFor(reason)}`, { cause: error });
}

function adviceFor(reason: string): string {
  if (/no space left|StorageFull/i.test(reason))
    return `has no space left on its disk; free some, or set ${optionKey("dbPath")} to a folder on another one`;
  if (/permission denied|read-only|access denied|forbidden|unauthorized/i.test(reason))
    return `must not be read or written (${reason}); check its permissions or credentials`;
  const what = isGone(reason) ? "lacks a part of its files" : "cannot be read or written";
  return `${what} (${reason}); try again, and if that does not help, rebuild it with \`memslot memory index --force\``;
}

const layers =
  /lance error: |LanceError\([^)]*\): |Failed to get next batch from stream: |Generic (?:memory|N\/A|S3) error: |Wrapped error: |External error: /g;
const placeInSource = /,?\s*(?:at )?[^\s,()]*\.rs:\d+(?::\d+)?/g;

export function reasonOf(error: unknown): string {
  const [first = ""] = messageOf(error).split(/\s*Caused by:/);
  const reason = first.replaceAll(layers, "").replaceAll(placeInSource, "").replaceAll(/\s+/g, " ").trim();
  return reason === "" ? "no reason given" : reason;
}
