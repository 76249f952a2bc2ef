import { MemoryError, isAbort, messageOf, withDeadline } from "@memslot/core";
import data from "../data/fault-signs.json" with { type: "json" };
import type { Redact } from "./shared/storage-options.ts";

/** What to say when a place is at fault. */
export interface PlaceErrors {
  /** The place, for people. Holds no key. */
  name: string;
  /** What a person can do where a deadline has passed. */
  patience: string;
  /** The error to throw for one that LanceDB threw. */
  of(error: unknown, what: string): unknown;
}

type Fault = "region" | "bucket" | "keys" | "reach";

/**
 * What LanceDB and the storages below it say of each fault, in the order in which they are looked for. A table or a file
 * that is not there, or is shorter than it was written, is no fault of the place, in whatever answer it was found.
 */
const signs = (data as [Fault | null, string][]).map(([fault, words]) => [fault, new RegExp(words, "i")] as const);

/** Which fault of the place an error of LanceDB stands for; undefined for one that is not about the place. */
export function faultOf(message: string): Fault | undefined {
  return signs.find(([, sign]) => sign.test(message))?.[0] ?? undefined;
}

/** Errors of a folder: what is wrong with it is told by who uses it. */
export function folderErrors(folder: string): PlaceErrors {
  return {
    name: folder,
    patience: "look whether the disk answers, and try again",
    of: (error) => error,
  };
}

export interface RemoteErrorsInput {
  name: string;
  /** What is there, in a person's words: "the bucket", "the LanceDB Cloud project". */
  noun: string;
  /** The option that names it. */
  place: string;
  /** The option that holds its keys. */
  keys: string;
  redact: Redact;
}

export function remoteErrors({ name, noun, place, keys, redact }: RemoteErrorsInput): PlaceErrors {
  const option = (key: string): string => `plugins.entries.memory-lancedb.config.${key}`;
  const texts: Record<Fault, string> = {
    region: `${name} lies in another region than was said; set ${option("storageOptions.region")} to the region of ${noun}`,
    bucket: `${noun} of ${name} does not exist; make it, or correct ${option(place)}`,
    keys: `${name} refuses access with these keys, or there are none; check ${option(keys)}, and that they may read, write, list and delete there`,
    reach: `${name} cannot be reached; check the network and ${option(place)}, and try again`,
  };
  return {
    name,
    patience: `check the network, and whether ${noun} answers; then try again`,
    of(error, what) {
      const message = messageOf(error);
      const fault = faultOf(message);
      const safe = redact(message);
      if (fault !== undefined)
        return new MemoryError("UNAVAILABLE", `${what}: ${texts[fault]}`, { cause: new Error(shortened(safe)) });
      return safe === message ? error : new Error(safe);
    },
  };
}

/** LanceDB repeats the same error for each of its layers. */
function shortened(text: string): string {
  return text.length <= 600 ? text : `${text.slice(0, 600)}…`;
}

/** For a call of some requests that follow each other, on a slow line. */
export const callMs = 20_000;

/**
 * Runs a call to LanceDB, which listens to no signal. No answer after `ms` milliseconds is `UNAVAILABLE`, an abort is
 * an `AbortError` at once; what LanceDB does then comes to its end in the background. Where the place is at fault (it
 * cannot be reached, or refuses the keys) the error is `UNAVAILABLE` with the next step. Other errors stay what they
 * are, without keys. `what` begins the message of a deadline, as in "searching the index".
 */
export type Within = <T>(
  what: string,
  ms: number,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
) => Promise<T>;

export function createWithin(errors: PlaceErrors): Within {
  return async (what, ms, signal, call) => {
    const limits = { what: `${what} in ${errors.name}`, deadlineMs: ms, signals: [signal], action: errors.patience };
    try {
      return await withDeadline(limits, () => call());
    } catch (error) {
      if (isAbort(error) || MemoryError.is(error)) throw error;
      throw errors.of(error, what);
    }
  };
}
