import type { BigIntStats } from "node:fs";
import { isLasting, stampOf } from "../files/file-stamp.ts";

/**
 * The stamp of a state of a file that is compared with nothing but stamps. One that a change within the same tick of the
 * clock would leave as it is is never the same again.
 */
export function lastingStamp(stats: BigIntStats): string {
  const stamp = stampOf(stats);
  return isLasting(stats, Date.now(), false) ? stamp : `${stamp}:${performance.now()}`;
}
