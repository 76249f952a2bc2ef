import { onTestFinished } from "vitest";
import type { LanceOptions } from "../options.ts";
import { openPlace } from "../place/place.ts";
import type { LancePlace, OpenPlaceOptions } from "../place/place.ts";

/** Opens a place that is closed after the test. */
export async function open(lance: LanceOptions, more: Partial<OpenPlaceOptions> = {}): Promise<LancePlace> {
  const { signal } = new AbortController();
  const place = await openPlace({ lance, agentId: "main", stateDir: "/nowhere", mayCreate: true, signal, ...more });
  onTestFinished(() => place.close());
  // As a store does that finds no index.
  if (more.mayCreate !== false) await place.toWrite?.();
  return place;
}

/** The error of a call that must fail. */
export async function errorOf(call: Promise<unknown>): Promise<Error & { code?: string }> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error(`no error: ${String(error)}`);
}

/** Everything that a log could show of an error. */
export function allTextOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.message, error.stack, error.cause === undefined ? "" : allTextOf(error.cause)].join("\n");
}
