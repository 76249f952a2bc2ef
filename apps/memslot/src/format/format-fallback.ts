import type { MemoryFallback, MemoryProviderStatus } from "@memslot/core";
import { localTime } from "./local-time.ts";

/** Who answers in place of whom, and all that is known of it. */
export function describeFallback(fallback: MemoryFallback): string {
  const { from, to } = fallback;
  return `${from}${to === undefined ? "" : ` → ${to}`}: ${describeOutage(fallback)}`;
}

/** Why, since when, and when the first one is tried again. */
export function describeOutage({ reason, since, retryAt }: MemoryFallback): string {
  const times = [
    since === undefined ? undefined : `since ${localTime(since)}`,
    retryAt === undefined ? undefined : `tried again after ${localTime(retryAt)}`,
  ].filter((time) => time !== undefined);
  return times.length === 0 ? reason : `${reason} (${times.join(", ")})`;
}

/** What stands behind the backend; undefined where nothing does, or where it answers already. */
export function describeSpare({ backend, spare }: MemoryProviderStatus): string | undefined {
  if (spare === undefined || spare.backend === backend) return undefined;
  return spare.open ? `${spare.backend}, open` : `${spare.backend}, opened when it is needed`;
}
