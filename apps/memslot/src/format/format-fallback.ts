import type { MemoryFallback, MemoryProviderStatus } from "@memslot/core";
import { localTime } from "./local-time.ts";

export function describeFallback(fallback: MemoryFallback): string {
  const { from, to } = fallback;
  return `${from}${to === undefined ? "" : ` → ${to}`}: ${describeOutage(fallback)}`;
}

export function describeOutage({ reason, since, retryAt }: MemoryFallback): string {
  const times = [
    since === undefined ? undefined : `since ${localTime(since)}`,
    retryAt === undefined ? undefined : `retry at ${localTime(retryAt)}`,
  ].filter((time) => time !== undefined);
  return times.length === 0 ? reason : `${reason} (${times.join(", ")})`;
}

/** The standby of the backend; undefined if there is none, or if it is the active one. */
export function describeStandby({ backend, spare }: MemoryProviderStatus): string | undefined {
  if (spare === undefined || spare.backend === backend) return undefined;
  return spare.open ? `${spare.backend}, open` : `${spare.backend}, opened on demand`;
}
